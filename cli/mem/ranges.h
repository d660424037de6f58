/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ledger of what programs have mapped: ranges of addresses, by the events of
 * programs/mem/user_mmap.c.
 *
 * A block is what one call has mapped. It may be given back in parts: then there are pieces of it,
 * and the block goes with the last one.
 */
#ifndef RAWPROF_MEM_RANGES_H
#define RAWPROF_MEM_RANGES_H

#include <stdbool.h>

#include "programs/mem/user.h"

struct mem_ranges;

/* What became of the calls seen, but for those that made a block. */
struct mem_ranges_counts {
	uint64_t failed;    /* after all */
	uint64_t freed;	    /* took away blocks, or parts of some */
	uint64_t unknown;   /* took away nothing known */
	uint64_t files;	    /* mapped a file, or moved a mapping of one */
	uint64_t under_way; /* had not returned */
	uint64_t in_use;    /* bytes, */
	uint64_t peak;	    /*   at most, */
	uint64_t peak_time; /*   and when: CLOCK_MONOTONIC, ns */
};

/* NULL: no memory. */
struct mem_ranges *mem_ranges_new(void);
void mem_ranges_free(struct mem_ranges *r);

/* Events in the order of the ring. 0 or -ENOMEM, after which the ledger is wrong. */
int mem_ranges_event(struct mem_ranges *r, const struct mem_range_event *e);
/* At the end: a thread's call has not returned, so what it was to take away, if seen, is there. */
void mem_ranges_under_way(struct mem_ranges *r, uint32_t thread, bool seen);
void mem_ranges_count(const struct mem_ranges *r, struct mem_ranges_counts *out);

/* Each stack that has mapped, with its weights. Ends early if fn returns not 0, with that. */
typedef int (*mem_ranges_site_fn)(void *ctx, uint64_t hash, const uint64_t value[MEM_WEIGHTS]);
int mem_ranges_sites(const struct mem_ranges *r, mem_ranges_site_fn fn, void *ctx);
/* The weights of one of them; false: it has mapped nothing. */
bool mem_ranges_site(const struct mem_ranges *r, uint64_t hash, uint64_t value[MEM_WEIGHTS]);
/*
 * What a stack had mapped when most was mapped of all: blocks, bytes. Mappings of processes that
 * had ended by then are not in it, if MEM_RANGE_ENDS tells of that.
 */
struct mem_ranges_use {
	uint64_t objects, bytes;
};
struct mem_ranges_use mem_ranges_at_peak(const struct mem_ranges *r, uint64_t hash);
/* Each block of which something is still there. Ends early if fn returns not 0, with that. */
typedef int (*mem_ranges_block_fn)(void *ctx, const struct mem_block *block);
int mem_ranges_blocks(const struct mem_ranges *r, mem_ranges_block_fn fn, void *ctx);

#endif
