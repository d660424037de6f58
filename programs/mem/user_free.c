/* SPDX-License-Identifier: BSD-2-Clause */
/* mem_user_free: a block is given back. */
#include <linux/bpf_perf_event.h>

#include "user.h"

ASM_FRAME(free_frame,
	(struct mem_block_key, key, KEY),
	(key.space, KEY_SPACE),
	(key.address, KEY_ADDRESS),
	(uint64_t, hash, HASH),
	(uint64_t, time, TIME),
	(uint32_t, tid, TID));

enum {
	SP = offsetof(struct mem_thread, sp),
	LATEST = offsetof(struct mem_thread, latest),
	NEWEST = offsetof(struct mem_thread, newest),
	BLOCK_SIZE = offsetof(struct mem_block, size),
	BLOCK_HASH = offsetof(struct mem_block, hash),
	BLOCK_TIME = offsetof(struct mem_block, time)
};

/* The return address at a function's entry: on the stack, or in the link register. */
#ifdef UNWIND_LINK_REG
#define RETURN_ADDRESS(to, ctx) LDX(DW, R1, ctx, UNWIND_LINK_REG), STX(DW, R10, to, R1)
#else
#define RETURN_ADDRESS(to, ctx) LD_SP(R1, ctx), READ_USER(to, 8, R1)
#endif

/*
 * A block on the map is freed by any call: the allocator's own calls are about blocks that are not
 * there, for realloc has taken its off and what it allocates in a call is never put on.
 */
/* clang-format off */
static const struct asm_insn free_lines[] = {
	MOV_REG(R6, R1),
	COUNT(stats, struct mem_user_stats, common.fired),
	LD_ARG(R7, R6, 1),
	JEQ(R7, 0, nothing),
	CALL_FUNC(mem_space),
	STX(DW, R10, KEY_SPACE, R0),
	STX(DW, R10, KEY_ADDRESS, R7),
	MAP_LOOKUP(blocks, KEY),
	JEQ(R0, 0, unknown),
	LDX(DW, R8, R0, BLOCK_SIZE),
	LDX(DW, R9, R0, BLOCK_HASH),
	LDX(DW, R1, R0, BLOCK_TIME),
	STX(DW, R10, TIME, R1),
	MAP_DELETE(blocks, KEY),
	JNE(R0, 0, unknown),
	MOV_REG(R1, R8),
	MOV_REG(R2, R9),
	LDX(DW, R3, R10, TIME),
	CALL_FUNC(mem_subtract),
	COUNT(stats, struct mem_user_stats, freed),

	/* Temporary is what is freed before its thread allocates again. */
	WHEN(struct mem_user_config, temporary),
		READ_TID(TID),
		MAP_LOOKUP(threads, TID),
		JEQ(R0, 0, remember),
		LDX(DW, R1, R0, NEWEST),
		JNE_REG(R1, R7, remember),
		ST(DW, R0, NEWEST, 0),
		STX(DW, R10, HASH, R9),
		MAP_LOOKUP(counts, HASH),
		JEQ(R0, 0, remember),
		MOV(R1, 1),
		ATOMIC_ADD(DW, R0, 8 * MEM_GONE_OBJECTS, R1),
		ATOMIC_ADD(DW, R0, 8 * MEM_GONE_SPACE, R8),
	END,
	JA(remember),

	/*
	 * Another program's, a part of another call, or older than we are: of samples the usual
	 * case.
	 */
LABEL(unknown),
		WHEN(struct mem_user_config, sample),
		WHEN(struct mem_user_config, common.filtering),
			CALL_FUNC(target_ids),
			JEQ(R0, -1, filtered),
		END,
		COUNT(stats, struct mem_user_stats, passed),
		MOV(R0, 0),
		EXIT(),
	END,
	UNLESS(struct mem_user_config, sample),
		CALL_FUNC(target_ids),
		JEQ(R0, -1, filtered),
		READ_TID(TID),
		MAP_LOOKUP(threads, TID),
		JEQ(R0, 0, not_known),
		LDX(DW, R1, R0, LATEST),
		JEQ_REG(R1, R7, inside), /* operator delete has been here with it */
		LDX(DW, R1, R0, SP),
		JEQ(R1, 0, not_known),
		LD_SP(R2, R6),
		JLE_REG(R2, R1, inside),
LABEL(not_known),
		COUNT(stats, struct mem_user_stats, unknown),
	END,

	/* R7 = the block. operator delete may call free with it. */
LABEL(remember),
	LD_COOKIE(R8, R6),
	AND(R8, 0xffff),
	JNE(R8, MEM_DELETE, out),
	READ_TID(TID),
	MAP_LOOKUP(threads, TID),
	JEQ(R0, 0, out),
	STX(DW, R0, LATEST, R7),
	JA(out),

	UNLESS(struct mem_user_config, sample),
LABEL(inside),
		COUNT(stats, struct mem_user_stats, inside),
		JA(out),
	END,
LABEL(nothing),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, filtered),
	COUNT(stats, struct mem_user_stats, nothing),
	JA(out),
LABEL(filtered),
	COUNT(stats, struct mem_user_stats, common.filtered),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	INCLUDE(&rp_target_part),
	INCLUDE(&rp_mem_space_part),
	INCLUDE(&rp_mem_subtract_part),
};
/* clang-format on */

/* ---- as they come */

ASM_FRAME(trace_frame,
	(struct mem_event, event, EVENT),
	(event.ids, EVENT_IDS),
	(event.pointer, EVENT_POINTER),
	(event.caller, EVENT_CALLER),
	(event.call, EVENT_CALL),
	(uint32_t, tid, TRACE_TID));

/* clang-format off */
static const struct asm_insn trace_lines[] = {
	MOV_REG(R6, R1),
	COUNT(stats, struct mem_user_stats, common.fired),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, filtered),
	ZERO(EVENT, sizeof(struct mem_event)),
	STX(DW, R10, EVENT_IDS, R0),
	LD_ARG(R7, R6, 1),
	STX(DW, R10, EVENT_POINTER, R7),

	/* A part of another call? */
	READ_TID(TRACE_TID),
	MAP_LOOKUP(threads, TRACE_TID),
	JEQ(R0, 0, outermost),
	LDX(DW, R1, R0, SP),
	JEQ(R1, 0, outermost),
	LD_SP(R2, R6),
	JLE_REG(R2, R1, inside),
LABEL(outermost),
	LD_COOKIE(R8, R6),
	STX(W, R10, EVENT_CALL, R8), /* and its function */
	RETURN_ADDRESS(EVENT_CALLER, R6),
	FRAME_PTR(R1, EVENT),
	CALL_FUNC(mem_emit),
	JA(out),

LABEL(inside),
	COUNT(stats, struct mem_user_stats, inside),
	JA(out),
LABEL(filtered),
	COUNT(stats, struct mem_user_stats, common.filtered),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	INCLUDE(&rp_target_part),
	INCLUDE(&rp_mem_emit_part),
};
/* clang-format on */

static const struct mem_user_config trace_config = { .common = PROGRAM_USUAL_CONFIG, .trace = 1 };
static const struct mem_user_config lifetimes_config = {
	.common = PROGRAM_USUAL_CONFIG, .follow = 1, .times = 1, .lifetimes = 1
};

const struct rp_program rp_mem_free_programs[] = {
	{ RP_CODE("mem_free", free_lines), RP_ON_UPROBE, RP_MAPS(rp_mem_user_maps, MEM_USER_MAPS),
	  RP_CONFIG(rp_mem_user_usual_config), .code.frame = &free_frame_layout, .role = MEM_FREES,
	  .summary = "counts what is freed" },
	{ RP_CODE("mem_trace_free", trace_lines), RP_ON_UPROBE,
	  RP_MAPS(rp_mem_user_maps, MEM_USER_MAPS), RP_CONFIG(trace_config),
	  .code.frame = &trace_frame_layout, .role = MEM_TRACES_FREES,
	  .summary = "tells of each free as it comes" },
	{ RP_CODE("mem_peak_free", free_lines), RP_ON_UPROBE,
	  RP_MAPS(rp_mem_user_maps, MEM_USER_MAPS), RP_CONFIG(rp_mem_peak_config),
	  RP_NEEDS(RP_NEED_FEATURE(RP_HAS_PERF_LINK)), .code.frame = &free_frame_layout,
	  .role = MEM_PEAK_FREES,
	  .summary = "counts what is freed, after the moment of highest use or before" },
	{ RP_CODE("mem_life_free", free_lines), RP_ON_UPROBE,
	  RP_MAPS(rp_mem_user_maps, MEM_USER_MAPS), RP_CONFIG(lifetimes_config),
	  .code.frame = &free_frame_layout, .role = MEM_LIFE_FREES,
	  .summary = "counts what is freed by how long it has lived" },
	RP_LIST_END,
};
