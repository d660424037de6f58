/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of `rawprof mem` share: mem.c chooses, the others record and show. */
#ifndef CLI_MEM_H
#define CLI_MEM_H

#include "cli/options.h"

struct mem_options {
	/* what is watched; without any of these the calls of the allocator */
	bool kernel; /* -k: slab and page allocations of the kernel */
	bool percpu; /* with it: the kernel's per-CPU allocator too */
	bool faults; /* page faults, and what they make resident */
	bool growth; /* mappings made and heaps grown: mmap, brk */

	/* what is shown */
	bool leaks;	   /* only what has not been freed */
	uint64_t older_ns; /*   and is at least so old */
	bool peak;	   /* what was in use at the moment of highest use */
	bool pinned;	   /* resident pages that few blocks hold */
	bool temporary;	   /* what is freed before the thread's next allocation */
	bool sizes;	   /* a histogram of sizes */
	bool lifetimes;	   /* a histogram of how long what was freed has lived */
	bool ages;	   /* a histogram of the ages of what has not been freed */
	bool processes;	   /* totals and rates of processes */
	bool trace;	   /* every call as it comes */

	/* which functions */
	bool no_mmap;	    /* not mmap, mremap and brk, the allocator's alone */
	const char *obj;    /* only in this object */
	const char *prefix; /* of their names, as in je_malloc */

	/* what it may cost */
	uint64_t sample_bytes; /* one sample in so many bytes; 0: every call */
	uint64_t blocks;       /* that are followed at a time; 0: as many as memory lets */
	uint64_t max_overhead; /* per cent; 0: whatever it takes */
};

/* Blocks of so many bytes to follow at a time: they fit in 1 / share of memory, within bounds. */
uint32_t mem_blocks_wanted(uint64_t share, uint64_t bytes);

/* Each is one way to record: the whole command, its exit status. */
int mem_user(const struct options *opt);
int mem_kernel(const struct options *opt);
int mem_faults(const struct options *opt);		 /* --faults and --growth */
extern const struct record_profiler mem_faults_profiler; /* of --faults */

#endif
