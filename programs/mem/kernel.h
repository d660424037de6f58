/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of the kernel: what `mem -k` loads, and what both sides share (programs/mem/kernel.c).
 *
 * A block is what one allocation gave: an object of a slab cache, kmalloc's memory, pages, per-CPU
 * memory. It stays in the map blocks until it is freed; what is there at the end is outstanding.
 * Its key is its address. Addresses of the four kinds never meet: objects and per-CPU memory lie
 * where they lie, pages are known by their struct page, or, to classic tracepoints, by their frame
 * number, which is no address of the kernel.
 */
#ifndef RAWPROF_MEM_KERNEL_H
#define RAWPROF_MEM_KERNEL_H

#include "programs/shared/stack.h"

/*
 * The tag of a stack says what was allocated. In the upper half of all addresses it is where the
 * name of the slab cache is; else a kind, above 56 bits of detail.
 */
enum mem_kernel_kind {
	MEM_KERNEL_SLAB,    /* detail: bytes of an object, where the cache is not known */
	MEM_KERNEL_KMALLOC, /* detail: bytes of a block, which are the name of its cache */
	MEM_KERNEL_PAGES,   /* detail: 1 if movable: memory of users, and of files */
	MEM_KERNEL_PERCPU,
	MEM_KERNEL_KINDS
};
#define MEM_KERNEL_TAG_SHIFT 56

/* The weights that are counted in the kernel; what is outstanding is known by the map blocks. */
enum {
	MEM_KERNEL_OBJECTS,
	MEM_KERNEL_BYTES,
	MEM_KERNEL_WEIGHTS,
	MEM_KERNEL_LIVE_OBJECTS = MEM_KERNEL_WEIGHTS,
	MEM_KERNEL_LIVE_BYTES
};

struct mem_kernel_config {
	struct program_config common;
	uint32_t page_bytes;
	uint32_t page_stride; /* from the key of a page to that of the next one */
	uint32_t large;	      /* kmalloc takes more bytes than that from the page allocator */
	uint32_t cpus;	      /* that per-CPU memory is made for */
	uint32_t timed;	      /* remember when */
	uint32_t sizes;	      /* count sizes in the map sizes */
	uint32_t most_blocks; /* places of the map blocks */
};

struct mem_kernel_stats {
	struct program_stats common;
	uint64_t failed;     /* allocations that gave nothing */
	uint64_t seen_twice; /* by the kernel, of the same block */
	uint64_t frees;	     /* of blocks in the map */
	uint64_t unknown;    /* of blocks that are not there */
	uint64_t nothing;    /* of NULL */
	uint64_t map_full;   /* lost: no room in blocks */
	uint64_t map_busy;   /* lost: blocks could not be changed at that moment */
	uint64_t reused; /* blocks whose end was not seen: their address has been given out again */
	uint64_t torn;	 /* parts of blocks that were freed in parts, for which there was no room */
};

/* Value of the map blocks, by address. */
struct mem_kernel_block {
	uint64_t size;
	uint64_t hash;	 /* of the stack */
	uint64_t time;	 /* CLOCK_MONOTONIC, ns; 0 unless config->timed */
	uint32_t thread; /* -1 once the kernel has told of the block twice */
	uint32_t payer;	 /* who pays for its place: programs/shared/share.h */
};

/* Value of the map caches, by the address of the name. */
#define MEM_KERNEL_NAME 48
/* Of the map sizes, by kind: a struct asm_hist. */
#define MEM_KERNEL_HIST_BITS 3
#define MEM_KERNEL_HIST_SLOTS 280 /* up to 2^35 */

enum {
	MEM_KERNEL_MAP_BLOCKS = STACK_MAPS,
	MEM_KERNEL_MAP_CACHES,
	MEM_KERNEL_MAP_SIZES,
	MEM_KERNEL_MAP_SHARES, /* of blocks */
	MEM_KERNEL_MAPS
};
extern const struct asm_map rp_mem_kernel_maps[MEM_KERNEL_MAPS];

/*
 * The functions, to be INCLUDEd behind a program that has the maps above:
 *
 *	kernel_alloc(R1 = context, R2 = address or 0, R3 = bytes, R4 = bytes asked for, R5 = tag)
 *		R0 = 1 when the stack was seen for the first time, else 0
 *	kernel_free(R1 = address)
 *	page_free(R1 = key of the first page, R2 = bytes)
 */
extern const struct asm_part rp_mem_kernel_alloc_part, rp_mem_kernel_free_part,
	rp_mem_kernel_page_free_part;

/* ---- the programs (programs/mem/kernel_hooks.c) */

/*
 * For each of them a program where the arguments are those of today, as since 6.1, and one where
 * they are not. Of the two for a node there is only the latter, and only where the kernel has the
 * event.
 */
enum mem_kernel_role {
	MEM_KFREE = 1 << 0,
	MEM_CACHE_FREE = 1 << 1,
	MEM_PAGE_FREE = 1 << 2,
	MEM_KMALLOC = 1 << 3,
	MEM_KMALLOC_NODE = 1 << 4,
	MEM_CACHE_ALLOC = 1 << 5,
	MEM_CACHE_ALLOC_NODE = 1 << 6,
	MEM_PAGE_ALLOC = 1 << 7,
	MEM_PERCPU_FREE = 1 << 8,
	MEM_PERCPU_ALLOC = 1 << 9,
};

#endif
