/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How processes grow, without looking at their allocators: what `mem --faults` (programs/mem/faults.c) and
 * `mem --growth` (programs/mem/faults_growth.c) load, and what both sides share.
 */
#ifndef RAWPROF_MEM_FAULTS_H
#define RAWPROF_MEM_FAULTS_H

#include "programs/shared/profile.h"

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

/* Where a fault begins: x86 has tracepoints of it, elsewhere it is the software event page-faults. */
extern const struct asm_program rp_mem_fault_user_program, rp_mem_fault_kernel_program,
	rp_mem_fault_begin_program;
/* The pages that it takes: mm_page_alloc, by BTF and classic. */
extern const struct asm_program rp_mem_fault_page_program, rp_mem_fault_page_tp_program;
/* And where it ends well: the software events minor-faults and major-faults. */
extern const struct asm_program rp_mem_fault_end_program;
extern const struct mem_faults_config rp_mem_faults_usual_config;

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
	uint64_t
		clamped; /* other threads changed the process at the same time: no more than was asked for counts */
};

/* Value of the map calls, by thread: the call that it is in. In pages. */
struct mem_growth_call {
	uint64_t before;     /* of the process */
	int64_t least, most; /* by how many the call itself can have changed that */
};

enum { MEM_GROWTH_MAP_CALLS = STACK_MAPS, MEM_GROWTH_MAPS };
extern const struct asm_map rp_mem_growth_maps[MEM_GROWTH_MAPS];

/* Both ends of a system call; its classic tracepoints are syscalls:sys_enter_NAME and sys_exit_NAME. */
struct mem_growth_hook {
	const struct asm_program *enter, *leave;
	const char *name;
};
extern const struct mem_growth_hook rp_mem_growth_hooks[]; /* ends with a NULL name */
extern const struct asm_program rp_mem_growth_mmap_program, rp_mem_growth_munmap_program,
	rp_mem_growth_mremap_program, rp_mem_growth_brk_program, rp_mem_growth_mapped_program,
	rp_mem_growth_unmapped_program, rp_mem_growth_remapped_program,
	rp_mem_growth_broken_program;
extern const struct mem_growth_config rp_mem_growth_usual_config;

#endif
