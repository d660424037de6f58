/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How processes grow, without looking at their allocators: what `mem --faults`
 * (programs/mem/faults.c) and `mem --growth` (programs/mem/faults_growth.c) load, and what both
 * sides share.
 */
#ifndef RAWPROF_MEM_FAULTS_H
#define RAWPROF_MEM_FAULTS_H

#include "programs/shared/stack.h"

/* ---- page faults */

enum { MEM_FAULTS, MEM_FAULTS_BYTES, MEM_FAULTS_MAJOR, MEM_FAULTS_WEIGHTS };

struct mem_faults_config {
	struct program_config common;
	uint32_t page_bytes;
	uint32_t major; /* this program is for major faults */
};

/* Value of the map faulting, by thread: the fault that it is in, or was in. */
struct mem_faults_thread {
	uint64_t bytes; /* of the pages that it has got so far */
	uint64_t inside;
};

enum { MEM_FAULTS_MAP_FAULTING = STACK_MAPS, MEM_FAULTS_MAPS };
extern const struct asm_map rp_mem_faults_maps[MEM_FAULTS_MAPS];

enum mem_faults_role {
	MEM_FAULT_BEGIN = 1 << 0,	 /* in user code; where no tracepoint tells, anywhere */
	MEM_FAULT_BEGIN_KERNEL = 1 << 1, /* in the kernel, at a user's address */
	MEM_FAULT_PAGE = 1 << 2,	 /* the pages that it takes */
	MEM_FAULT_END = 1 << 3,		 /* for minor-faults and major-faults: it ends well */
};

/* ---- mappings */

enum { MEM_GROWTH_CALLS, MEM_GROWTH_BYTES, MEM_GROWTH_RETURNED, MEM_GROWTH_WEIGHTS };

struct mem_growth_config {
	struct program_config common;
	uint32_t page_bytes;
	uint32_t page_shift;
};

struct mem_growth_stats {
	struct program_stats common; /* fired: calls that began */
	uint64_t failed;
	uint64_t nothing;    /* they changed nothing */
	uint64_t unfinished; /* calls that never returned */
	uint64_t map_full;   /* lost: no room in calls */
	/* Other threads changed the process at the same time: no more than was asked for counts */
	uint64_t clamped;
};

/* Value of the map calls, by thread: the call that it is in. In pages. */
struct mem_growth_call {
	uint64_t before;     /* of the process */
	int64_t least, most; /* by how many the call itself can have changed that */
};

enum { MEM_GROWTH_MAP_CALLS = STACK_MAPS, MEM_GROWTH_MAPS };
extern const struct asm_map rp_mem_growth_maps[MEM_GROWTH_MAPS];

#endif
