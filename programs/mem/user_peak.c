/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_user_peak: what was in use at the moment of highest use, by stack?
 *
 * Whenever more is in use than ever before, the moment is that one. A copy of all stacks at each
 * such moment would cost too much, so none is made: a stack that changes first keeps what it has,
 * once after each highest moment. The name of a moment is its height, for no two have the same. At
 * the end a stack that kept something for the last of them had that; one that did not has not
 * changed since, and had what it has.
 *
 *	moment 100	stack A has 60, stack B 40
 *	A frees 10	A keeps 60 for moment 100, and has 50
 *	the end		A: 60, as it was kept for 100; B: 40, as it has
 *
 * Two threads may allocate at once. Of what one has added to the sum and not yet to its stack, the
 * other's moment has the first and not the second; user space says how much the stacks differ.
 *
 * A process that ends takes its memory with it, unfreed: so each memory (mem_space) is a site too,
 * which says how much to subtract.
 */
#include <linux/bpf_perf_event.h>

#include "user.h"

enum {
	OBJECTS = offsetof(struct mem_site, objects),
	BYTES = offsetof(struct mem_site, bytes),
	PEAK = offsetof(struct mem_site, peak),
	PEAK_OBJECTS = offsetof(struct mem_site, peak_objects),
	PEAK_BYTES = offsetof(struct mem_site, peak_bytes),
	ENDED = offsetof(struct mem_site, ended)
};

/* ---- a site */

/* The stack frame of mem_site. */
ASM_FRAME(site_frame,
	(struct mem_site, site, NEW_SITE),
	(site.peak, NEW_PEAK),
	(site.space, NEW_SPACE),
	(uint64_t, hash, SITE_HASH));

/* clang-format off */
static const struct asm_insn site_lines[] = {
	/*
	 * mem_site(hash, space, peak): R0 = where the site is, which has kept what it had at this
	 * peak; 0: there is no room for it.
	 */
FUNC(mem_site),
	STX(DW, R10, SITE_HASH, R1),
	MOV_REG(R6, R3),
	ZERO(NEW_SITE, sizeof(struct mem_site)),
	STX(DW, R10, NEW_SPACE, R2),
	STX(DW, R10, NEW_PEAK, R6), /* at which it had nothing */
	MAP_LOOKUP_OR_INIT(sites, SITE_HASH, NEW_SITE),
	JEQ(R0, 0, no_room),
	MOV_REG(R7, R0),

	/*
	 * What it has is read before it is known who may keep it: the one that may has read it
	 * before any other thread goes on and changes it.
	 */
	LDX(DW, R0, R7, PEAK),
	JGE_REG(R0, R6, kept), /* peaks only grow: a greater one is another thread's, and newer */
	LDX(DW, R8, R7, OBJECTS),
	LDX(DW, R9, R7, BYTES),
	MOV_REG(R1, R0),
	ATOMIC_CMPXCHG(DW, R7, PEAK, R6),
	JNE_REG(R0, R1, kept),
	STX(DW, R7, PEAK_OBJECTS, R8),
	STX(DW, R7, PEAK_BYTES, R9),
LABEL(kept),
	MOV_REG(R0, R7),
	EXIT(),
LABEL(no_room),
	COUNT(stats, struct mem_user_stats, no_site),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

/* ---- more, or less */

/* The stack frame of mem_use. */
ASM_FRAME(use_frame,
	(uint64_t, space, USE_SPACE),
	(uint64_t, peak, USE_PEAK));

/* clang-format off */
static const struct asm_insn use_lines[] = {
	/* mem_use(hash, space, objects, bytes): so much more of a stack is in use. */
FUNC(mem_use),
	MOV_REG(R6, R3),
	MOV_REG(R7, R4),
	STX(DW, R10, USE_SPACE, R2),
	LD_MAP_VALUE(R4, stats, offsetof(struct mem_user_stats, peak)),
	LDX(DW, R3, R4, 0),
	STX(DW, R10, USE_PEAK, R3),
	CALL_FUNC(mem_site),
	MOV_REG(R8, R0),
	LDX(DW, R1, R10, USE_SPACE),
	MOV_REG(R2, R1),
	LDX(DW, R3, R10, USE_PEAK),
	CALL_FUNC(mem_site),
	MOV_REG(R9, R0),

	/* R4 = what is in use of all. */
	LD_MAP_VALUE(R1, stats, offsetof(struct mem_user_stats, in_use)),
	MOV_REG(R4, R7),
	ATOMIC_FETCH_ADD(DW, R1, 0, R4),
	ADD_REG(R4, R7),
	JEQ(R8, 0, no_site),
	ATOMIC_ADD(DW, R8, OBJECTS, R6),
	ATOMIC_ADD(DW, R8, BYTES, R7),
LABEL(no_site),
	JEQ(R9, 0, no_space),
	ATOMIC_ADD(DW, R9, OBJECTS, R6),
	ATOMIC_ADD(DW, R9, BYTES, R7),
LABEL(no_space),

	/* The highest moment? Then R0 is less than R4. */
	JSLE(R7, 0, out),
	RAISE_PEAK(R4),
	JSGE_REG(R0, R4, out),
	CALL(ktime_get_ns),
	LD_MAP_VALUE(R1, stats, offsetof(struct mem_user_stats, peak_time)),
	STX(DW, R1, 0, R0),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
const struct asm_part rp_mem_use_part = { ASM_LINES(use_lines),
					  ASM_FRAMES({ "mem_use", &use_frame_layout }) };
const struct asm_part rp_mem_site_part = { ASM_LINES(site_lines),
					   ASM_FRAMES({ "mem_site", &site_frame_layout }) };

/* ---- the end of a process, or of its program */

/* The stack frame of mem_space_ends. */
ASM_FRAME(ends_frame,
	(struct mem_range_event, event, EVENT),
	(event.time, EVENT_TIME),
	(event.space, EVENT_SPACE),
	(event.what, EVENT_WHAT),
	(uint64_t, space, ENDS_SPACE));

/* clang-format off */
static const struct asm_insn ends_lines[] = {
	/*
	 * mem_space_ends(task, exec id): the memory of this process, when it executed its so manyth
	 * program, is no longer in use. Its number as in mem_space(), but never the owner's: a
	 * child that ends leaves what it has shared.
	 */
FUNC(mem_space_ends),
	LD_FIELD(R3, R1, "task_struct", "tgid"),
	LD_IMM64(R4, GOLDEN_RATIO_64),
	MUL_REG(R3, R4),
	LD_FIELD(R4, R1, "task_struct", "group_leader.start_time"),
	ADD_REG(R4, R2),
	XOR_REG(R3, R4),
	STX(DW, R10, ENDS_SPACE, R3),
	WHEN(struct mem_user_config, mapped_ends),
		ZERO(EVENT, sizeof(struct mem_range_event)),
		STX(DW, R10, EVENT_SPACE, R3),
		ST(H, R10, EVENT_WHAT, MEM_RANGE_ENDS),
		CALL(ktime_get_ns),
		STX(DW, R10, EVENT_TIME, R0),
		LD_MAP(R1, ranges),
		FRAME_PTR(R2, EVENT),
		MOV(R3, sizeof(struct mem_range_event)),
		MOV(R4, 0),
		CALL(ringbuf_output),
	END,
	MAP_LOOKUP(sites, ENDS_SPACE),
	JEQ(R0, 0, out),
	LD_MAP_VALUE(R1, stats, offsetof(struct mem_user_stats, peak)),
	LDX(DW, R2, R1, 0),
	ADD(R2, 1), /* 0 means that it goes on */
	/* Threads that are killed together may all find that they are the last one. */
	MOV_REG(R6, R0),
	MOV(R0, 0),
	ATOMIC_CMPXCHG(DW, R6, ENDED, R2),
	JNE(R0, 0, out),
	LDX(DW, R2, R6, BYTES),
	NEG(R2),
	LD_MAP_VALUE(R1, stats, offsetof(struct mem_user_stats, in_use)),
	ATOMIC_ADD(DW, R1, 0, R2),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_part ends_part = {
	ASM_LINES(ends_lines), ASM_FRAMES({ "mem_space_ends", &ends_frame_layout })
};

/* In the thread that ends: is it the last one of its process? */
static const struct asm_insn exit_lines[] = {
	CALL(get_current_task_btf),
	MOV_REG(R6, R0),
	LD_FIELD(R1, R6, "task_struct", "signal.live.counter"),
	JNE32(R1, 0, out),
	LD_FIELD(R2, R6, "task_struct", "self_exec_id"),
	MOV_REG(R1, R6),
	CALL_FUNC(mem_space_ends),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&ends_part),
};

/* In a process that executes its next program; it has the number of that one already. */
static const struct asm_insn exec_lines[] = {
	CALL(get_current_task_btf),
	MOV_REG(R6, R0),
	LD_FIELD(R2, R6, "task_struct", "self_exec_id"),
	SUB(R2, 1),
	MOV_REG(R1, R6),
	CALL_FUNC(mem_space_ends),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&ends_part),
};
/* clang-format on */

const struct mem_user_config rp_mem_peak_config = {
	.common = PROGRAM_USUAL_CONFIG, .follow = 1, .peak_sites = 1, .mapped_ends = 1
};

#define PEAK_PROGRAM(role_)                                                                        \
	.role = (role_), RP_MAPS(rp_mem_user_maps, MEM_USER_MAPS), RP_CONFIG(rp_mem_peak_config)

const struct rp_program rp_mem_peak_programs[] = {
	{ RP_CODE("mem_peak_exit", exit_lines), RP_ON_TP_BTF("sched_process_exit"),
	  PEAK_PROGRAM(MEM_PEAK_EXIT),
	  .summary = "subtracts what a process had in use when it ends" },
	{ RP_CODE("mem_peak_exec", exec_lines), RP_ON_TP_BTF("sched_process_exec"),
	  PEAK_PROGRAM(MEM_PEAK_EXEC),
	  .summary = "subtracts what a process had in use when it executes another program" },
	RP_LIST_END,
};
