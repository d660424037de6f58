/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Books of what programs have mapped (cli/mem/ranges.c): ranges of addresses, as the programs of
 * programs/mem/user_mmap.c tell of them.
 *
 * A block is what one call has mapped. It may be given back in parts, which makes pieces of it: its bytes become
 * fewer, and when the last one has gone so has the block.
 */
#ifndef RAWPROF_MEM_RANGES_H
#define RAWPROF_MEM_RANGES_H

#include <stdbool.h>

#include "programs/mem/user.h"

struct mem_ranges;

/* What became of the calls that were told, but for those that made a block. */
struct mem_ranges_counts {
	uint64_t failed;    /* after all */
	uint64_t freed;	    /* took away blocks, or parts of some */
	uint64_t unknown;   /* took away nothing that we know */
	uint64_t files;	    /* mapped a file, or moved a mapping of one */
	uint64_t under_way; /* had not returned */
	uint64_t in_use;    /* bytes, */
	uint64_t peak;	    /*   at most */
};

/* NULL: no memory. */
struct mem_ranges *mem_ranges_new(void);
void mem_ranges_free(struct mem_ranges *r);

/* Events in the order of the ring. 0 or -ENOMEM, after which the ledger are wrong. */
int mem_ranges_event(struct mem_ranges *r, const struct mem_range_event *e);
/* At the end: this thread's call has not returned, so what it was to take away, if that has been told, is still there. */
void mem_ranges_under_way(struct mem_ranges *r, uint32_t thread, bool told);
void mem_ranges_count(const struct mem_ranges *r, struct mem_ranges_counts *out);

/* Each stack that has mapped something, with its weights (MEM_ALLOC_OBJECTS and so on). Ends early if fn returns not 0, with that. */
typedef int (*mem_ranges_site_fn)(void *ctx, uint64_t hash, const uint64_t value[MEM_WEIGHTS]);
int mem_ranges_sites(const struct mem_ranges *r, mem_ranges_site_fn fn, void *ctx);
/* The weights of one of them; false: it has mapped nothing. */
bool mem_ranges_site(const struct mem_ranges *r, uint64_t hash, uint64_t value[MEM_WEIGHTS]);
/* Each block of which something is still there: how much of it, of which stack, since when. The same. */
typedef int (*mem_ranges_block_fn)(void *ctx, const struct mem_block *block);
int mem_ranges_blocks(const struct mem_ranges *r, mem_ranges_block_fn fn, void *ctx);

#endif
