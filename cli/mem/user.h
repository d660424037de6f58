/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of `rawprof mem` for allocations in user space, and its parts. */
#ifndef CLI_MEM_USER_H
#define CLI_MEM_USER_H

#include "base/hash.h"
#include "programs/mem/user.h"
#include <rawprof/uprobe.h>

#include "mem.h"
#include "processes.h"
#include "cli/run.h"

/* ---- the allocator's functions (user_places.c) */

struct mem_probes;

/*
 * Makes ready to probe: programs are loaded as needed. config is copied, and adapted to each.
 * pid: the only process to be probed; -1: every process that maps the files.
 */
int mem_probes_open(struct recording *rec, const struct mem_user_config *config,
		    struct mem_probes **out);
/*
 * Probes the allocators in the files that a process executes from; each file once. 0, also if there
 * is none; or a negative errno after a message.
 */
int mem_probes_process(struct mem_probes *m, uint32_t pid);
/* Probes this file, of --obj, and from then on no other. */
int mem_probes_object(struct mem_probes *m, const char *path);
/* A process of the target mapped a file: probes it if it is new. */
int mem_probes_mapped(struct mem_probes *m, const struct rp_side_event *e);
/* Of the number in a cookie: "malloc". */
const char *mem_function_name(uint16_t function);
/* How many places are probed. */
size_t mem_probes_count(const struct mem_probes *m);
/* Detaches the probes. */
void mem_probes_detach(struct mem_probes *m);
void mem_probes_close(struct mem_probes *m);

/* Sets largest_new and most_mappings: what operator new may be asked for and have a probe. */
void mem_new_limits(const struct recording *rec, struct mem_user_config *config);

/* ---- the recording (user.c) */

struct mem_trace;
struct mem_overhead;
struct mem_mmap;
struct mem_peak;
struct mem_pinned;

/* A stack and its blocks that are old enough, with --older. */
struct mem_old {
	uint64_t hash, objects, bytes;
};

struct mem_user {
	const struct mem_options *mem;
	struct record_profiler profiler;
	struct asm_map maps[MEM_USER_MAPS];
	struct mem_user_config config;
	struct mem_probes *probes;
	struct mem_trace *trace;
	struct mem_overhead *overhead;
	struct mem_mmap *mmap; /* NULL: the allocator's calls alone */
	struct mem_peak *peak;
	struct mem_pinned *pinned;
	bool can_sample, mmap_too;
	uint64_t mean;		      /* bytes from sample to sample */
	uint64_t in_flight;	      /* calls that had not returned at the end */
	uint64_t sizes_kept;	      /* calls whose sizes were counted */
	struct hash_map old;	      /* of struct mem_old */
	char note[320], counted[160]; /* of struct report_info */
	bool collected;		      /* stacks have all of their weights */
	struct mem_series series;     /* with --interval */
};

/* What is shown where the programs count what is gone. */
enum { MEM_INUSE_OBJECTS = MEM_GONE_OBJECTS, MEM_INUSE_SPACE = MEM_GONE_SPACE };

/* A stack's values as they are shown. */
void mem_user_values(const struct mem_user *m, const struct stack *stack,
		     uint64_t value[MEM_WEIGHTS]);

/* ---- views: the whole output, as record_report() (user_view.c) */

int mem_user_empty_grid(struct recording *rec, struct report_grid **out);
int mem_user_processes(struct recording *rec);
int mem_user_interval(struct recording *rec); /* a part of it */
int mem_user_sizes(struct recording *rec);
int mem_user_ages(struct recording *rec);
int mem_user_lifetimes(struct recording *rec);

/* ---- what stands beside the stacks (user_notes.c) */

/* As record_profiler.describe. */
void mem_user_describe(struct recording *rec, struct report_info *info);

/* ---- --peak (user_peak.c); errors after a message, but for -ENOMEM */

/* Attaches the programs that see processes end. */
int mem_peak_open(struct recording *rec, const struct mem_user_config *config,
		  struct mem_peak **out);
/* At the end: what the kernel kept of the highest moment. */
int mem_peak_collect(struct mem_peak *p);
/* What a stack had in use at the highest moment: of the allocator's blocks, of mappings. */
void mem_peak_of(const struct mem_peak *p, uint64_t hash, uint64_t *objects, uint64_t *bytes);
/* Of the allocator's blocks, over all stacks. */
struct mem_peak_sum {
	uint64_t bytes;	    /* in use then, */
	uint64_t objects;   /*   in so many blocks, */
	uint64_t of_stacks; /*   as the stacks add up to: see programs/mem/user_peak.c */
	uint64_t time;	    /* CLOCK_MONOTONIC, ns; 0: nothing was ever in use */
	uint32_t processes; /* that had some of it, */
	uint32_t pid;	    /*   the one that had the most, */
	uint64_t of_pid;    /*   and how much */
};
void mem_peak_sum(const struct mem_peak *p, struct mem_peak_sum *out);
void mem_peak_close(struct mem_peak *p);

/* ---- --pinned (user_pinned.c); errors after a message, but for -ENOMEM */

int mem_pinned_open(struct recording *rec, struct mem_pinned **out);
/* After a drain: looks at the pages of all blocks, unless it has just done so. */
int mem_pinned_tick(struct mem_pinned *p);
/* The same at once, for the last time: before the probes are detached. */
int mem_pinned_last(struct mem_pinned *p);
enum { MEM_PINNED_PAGES, MEM_PINNED_BLOCKS, MEM_PINNED_LIVE, MEM_PINNED_WASTED };
/* A stack's pages, blocks in them and their bytes, and bytes that are wasted. */
void mem_pinned_of(const struct mem_pinned *p, uint64_t hash, uint64_t value[MEM_WEIGHTS]);
struct mem_pinned_sum {
	uint64_t
		resident; /* pages with live blocks in them, whole or in part, that are resident; */
	uint64_t pinned;  /*   few live bytes in them */
	uint64_t time;	  /* of the look, CLOCK_MONOTONIC, ns; 0: there was none */
};
void mem_pinned_sum(const struct mem_pinned *p, struct mem_pinned_sum *out);
void mem_pinned_close(struct mem_pinned *p);

/* ---- samples (user_sample.c) */

/* Fills the maps left and draws for one sample in mean bytes. 0 or an errno after a message. */
int mem_sample_fill(struct stacks *stacks, uint64_t mean);
/* What the samples of a stack stand for; those with tag 0 are none, but all that there was. */
void mem_sample_weigh(const struct stack_record *record, uint64_t mean,
		      uint64_t value[MEM_WEIGHTS]);

/* ---- what is mapped (user_mmap.c); errors after a message, but for -ENOMEM */

/* Why these calls cannot be seen: a missing right, an old kernel; NULL: they can. */
const char *mem_mmap_missing(void);
int mem_mmap_open(struct recording *rec, const struct mem_user_config *config,
		  struct mem_mmap **out);
int mem_mmap_start(struct mem_mmap *m);
int mem_mmap_drain(struct mem_mmap *m);
/* Detaches the probes. */
void mem_mmap_detach(struct mem_mmap *m);
/* After that: the rest, and the weights of its stacks. Once. */
int mem_mmap_finish(struct mem_mmap *m);
const struct mem_ranges *mem_mmap_ranges(const struct mem_mmap *m);
void mem_mmap_close(struct mem_mmap *m);

/* ---- --max-overhead (user_overhead.c) */

int mem_overhead_open(struct recording *rec, struct mem_overhead **out);
/* Has a look once a second; 0 or a negative errno after a message. */
int mem_overhead_tick(struct mem_overhead *o);
void mem_overhead_close(struct mem_overhead *o);

/* ---- --trace (user_trace.c); errors after a message */

int mem_trace_open(struct recording *rec, struct mem_trace **out);
/* Prints what came by the last drain, and takes what is there now. */
int mem_trace_drain(struct mem_trace *t);
/* The last of it, printed too. */
int mem_trace_finish(struct mem_trace *t);
void mem_trace_close(struct mem_trace *t);

#endif
