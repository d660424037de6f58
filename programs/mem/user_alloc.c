/* SPDX-License-Identifier: BSD-2-Clause */
/* mem_user_alloc: a call that allocates, from its entry to its return. */
#include <linux/bpf_perf_event.h>

#include "user.h"

/* Offsets in what a thread is doing. */
enum {
	SP = offsetof(struct mem_thread, sp),
	IDS = offsetof(struct mem_thread, ids),
	SIZE = offsetof(struct mem_thread, size),
	POINTER = offsetof(struct mem_thread, pointer),
	OLD_SIZE = offsetof(struct mem_thread, old.size),
	OLD_HASH = offsetof(struct mem_thread, old.hash),
	OLD_TIME = offsetof(struct mem_thread, old.time),
	RESULT = offsetof(struct mem_thread, result),
	THREAD_SPACE = offsetof(struct mem_thread, space),
	THREAD_HASH = offsetof(struct mem_thread, hash),
	LATEST = offsetof(struct mem_thread, latest),
	NEWEST = offsetof(struct mem_thread, newest),
	CALL_KIND = offsetof(struct mem_thread, call),
	HAD_OLD = offsetof(struct mem_thread, had_old),
	PASSED = offsetof(struct mem_thread, passed)
};
enum {
	BLOCK_SIZE = offsetof(struct mem_block, size),
	BLOCK_HASH = offsetof(struct mem_block, hash),
	BLOCK_TIME = offsetof(struct mem_block, time)
};
enum {
	RECORD_HASH = offsetof(struct stack_record, hash),
	RECORD_VALUE = offsetof(struct stack_record, value)
};

/* ---- the entry */

/* The stack frame of mem_enter. */
ASM_FRAME(enter_frame,
	/* what is written down of a thread that was never seen before */
	(struct mem_thread, thread, NEW_THREAD),
	(struct mem_block_key, key, OLD_KEY),
	(key.space, OLD_SPACE),
	(key.address, OLD_ADDRESS),
	(uint32_t, tid, ENTER_TID));

/* clang-format off */
static const struct asm_insn enter_lines[] = {
	/* mem_enter(context): 1 if the return is of no interest. */
FUNC(mem_enter),
	MOV_REG(R6, R1),
	COUNT(stats, struct mem_user_stats, common.fired),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, filtered),
	MOV_REG(R7, R0),

	/* R9 = what this thread is doing. */
	READ_TID(ENTER_TID),
	MAP_LOOKUP(threads, ENTER_TID),
	JNE(R0, 0, known),
	ZERO(NEW_THREAD, sizeof(struct mem_thread)),
	MAP_UPDATE(threads, ENTER_TID, NEW_THREAD, BPF_NOEXIST),
	MAP_LOOKUP(threads, ENTER_TID),
	JEQ(R0, 0, threads_full),
LABEL(known),
	MOV_REG(R9, R0),

	/* R8 = which call it is. */
	LD_COOKIE(R8, R6),
	MOV_REG(R1, R8),
	AND(R1, 0xffff),
	JNE(R1, MEM_NEW, returns),
	LD_ARG(R1, R6, 1),
	LD_PARAM(R2, struct mem_user_config, largest_new),
	JGT_REG(R1, R2, throws),
	WHEN(struct mem_user_config, common.identity),
		CALL(get_current_task_btf),
		LD_FIELD(R1, R0, "task_struct", "signal.rlim[9].rlim_cur"), /* RLIMIT_AS */
		JNE(R1, -1, throws),
		LD_FIELD(R1, R0, "task_struct", "signal.rlim[2].rlim_cur"), /* RLIMIT_DATA */
		JNE(R1, -1, throws),
		LD_FIELD(R1, R0, "task_struct", "mm.map_count"),
		LD_PARAM(R2, struct mem_user_config, most_mappings),
		JGT_REG(R1, R2, throws),
	END,
LABEL(returns),

	/*
	 * A call inside another is no allocation. One that was jumped to has the same stack
	 * pointer.
	 */
	LD_SP(R3, R6),
	LDX(DW, R4, R9, SP),
	JEQ(R4, 0, outermost),
	JLE_REG(R3, R4, inside),
	COUNT(stats, struct mem_user_stats, left),
LABEL(outermost),
	STX(DW, R9, SP, R3),
	STX(DW, R9, IDS, R7),
	ST(H, R9, HAD_OLD, 0),

	/* R4 = how much, R5 = the pointer that comes with it. */
	STX(W, R9, CALL_KIND, R8), /* and its function */
	AND(R8, 0xffff),
	LD_ARG(R1, R6, 1),
	LD_ARG(R2, R6, 2),
	LD_ARG(R3, R6, 3),
	MOV(R5, 0),
	MOV_REG(R4, R1),
	JEQ(R8, MEM_MALLOC, known_size),
	JEQ(R8, MEM_NEW, known_size),
	MOV_REG(R4, R2),
	JEQ(R8, MEM_ALIGNED, known_size),
	MUL_REG(R4, R1),
	JEQ(R8, MEM_CALLOC, known_size),
	MOV_REG(R5, R1),
	MOV_REG(R4, R3),
	JEQ(R8, MEM_POSIX_MEMALIGN, known_size),
	MOV_REG(R4, R2),
	JEQ(R8, MEM_REALLOC, reallocation),
	MUL_REG(R4, R3),
LABEL(reallocation),
	STX(DW, R9, SIZE, R4),
	STX(DW, R9, POINTER, R5),
	WHEN(struct mem_user_config, follow),
		STX(DW, R10, OLD_ADDRESS, R5),
		JEQ(R5, 0, to_return), /* which is a malloc */

		/* The old block goes off the map before its address may be given out again. */
		CALL_FUNC(mem_space),
		STX(DW, R10, OLD_SPACE, R0),
		MAP_LOOKUP(blocks, OLD_KEY),
		JEQ(R0, 0, to_return),
		LDX(DW, R1, R0, BLOCK_SIZE),
		STX(DW, R9, OLD_SIZE, R1),
		LDX(DW, R1, R0, BLOCK_HASH),
		STX(DW, R9, OLD_HASH, R1),
		LDX(DW, R1, R0, BLOCK_TIME),
		STX(DW, R9, OLD_TIME, R1),
		MAP_DELETE(blocks, OLD_KEY),
		ST(H, R9, HAD_OLD, 1),
	END,
	JA(to_return),

LABEL(known_size),
	STX(DW, R9, SIZE, R4),
	STX(DW, R9, POINTER, R5),
LABEL(to_return),

	/*
	 * A malloc that is no sample ends here. Other functions may call one that must not be
	 * counted.
	 */
	WHEN(struct mem_user_config, sample),
		LDX(DW, R1, R9, SIZE),
		CALL_FUNC(mem_draw),
		MOV(R1, 1),
		SUB_REG(R1, R0),
		STX(H, R9, PASSED, R1),
		JEQ(R1, 0, to_be_seen),
		JNE(R8, MEM_MALLOC, to_be_seen),
		ST(DW, R9, SP, 0),
		COUNT(stats, struct mem_user_stats, passed),
		MOV(R0, 1),
		EXIT(),
LABEL(to_be_seen),
	END,
	MOV(R0, 0),
	EXIT(),

LABEL(inside),
	COUNT(stats, struct mem_user_stats, inside),
	MOV(R0, 0),
	JEQ_REG(R3, R4, jumped_to), /* its return is that of the call that jumped to it */
	MOV(R0, 1),
LABEL(jumped_to),
	EXIT(),
LABEL(throws),
	COUNT(stats, struct mem_user_stats, throwing),
	MOV(R0, 1),
	EXIT(),
LABEL(threads_full),
	COUNT(stats, struct mem_user_stats, threads_full),
	MOV(R0, 1),
	EXIT(),
LABEL(filtered),
	COUNT(stats, struct mem_user_stats, common.filtered),
	MOV(R0, 1),
	EXIT(),
};
/* clang-format on */
const struct asm_part rp_mem_enter_part = { ASM_LINES(enter_lines),
					    ASM_FRAMES({ "mem_enter", &enter_frame_layout }) };

/* ---- the return */

/* The stack frame of mem_returned. */
ASM_FRAME(returned_frame,
	(uint64_t, pointer, WRITTEN), /* that posix_memalign wrote */
	(uint32_t, tid, RETURNED_TID));

/* clang-format off */
static const struct asm_insn returned_lines[] = {
	/* mem_returned(context): the thread's entry; 0 if what returns is not an outermost call. */
FUNC(mem_returned),
	MOV_REG(R6, R1),
	READ_TID(RETURNED_TID),
	MAP_LOOKUP(threads, RETURNED_TID),
	JEQ(R0, 0, out),
	MOV_REG(R7, R0),

	/* Of the call that was written down, or of one from within? */
	LDX(DW, R1, R7, SP),
	JEQ(R1, 0, out),
	LD_SP(R2, R6),
	SUB(R2, RETURN_SLOT),
	JLT_REG(R2, R1, out),
	ST(DW, R7, SP, 0),

	/* R8 = the block, or 0. */
	LDX(H, R1, R7, CALL_KIND),
	LD_RET(R8, R6),
	JNE(R1, MEM_POSIX_MEMALIGN, returned),
	MOV32_REG(R1, R8), /* an int */
	MOV(R8, 0),
	JNE(R1, 0, returned),
	LDX(DW, R1, R7, POINTER),
	READ_USER(WRITTEN, 8, R1),
	LDX(DW, R8, R10, WRITTEN),
LABEL(returned),
	STX(DW, R7, RESULT, R8),
	STX(DW, R7, LATEST, R8),
	STX(DW, R7, NEWEST, R8),
	MOV_REG(R0, R7),
	EXIT(),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
const struct asm_part rp_mem_returned_part = {
	ASM_LINES(returned_lines), ASM_FRAMES({ "mem_returned", &returned_frame_layout })
};

/* The stack frame of mem_leave. */
ASM_FRAME(leave_frame,
	(struct mem_block_key, key, KEY),
	(key.space, KEY_SPACE),
	(key.address, KEY_ADDRESS),
	(struct mem_block, block, BLOCK),
	(block.size, NEW_SIZE),
	(block.hash, NEW_HASH),
	(block.time, NEW_TIME));

/* clang-format off */
static const struct asm_insn leave_lines[] = {
	/* mem_leave(context) */
FUNC(mem_leave),
	MOV_REG(R6, R1),
	CALL_FUNC(mem_returned),
	JEQ(R0, 0, out),
	MOV_REG(R7, R0),
	LDX(DW, R8, R7, RESULT),
	JEQ(R8, 0, no_block),

	/* realloc: of the old block nothing is left. */
	LDX(H, R1, R7, HAD_OLD),
	JEQ(R1, 0, allocated),
	LDX(DW, R1, R7, OLD_SIZE),
	LDX(DW, R2, R7, OLD_HASH),
	LDX(DW, R3, R7, OLD_TIME),
	CALL_FUNC(mem_subtract),
LABEL(allocated),

	WHEN(struct mem_user_config, sample),
		LDX(H, R1, R7, PASSED),
		JNE(R1, 0, passed),
	END,

	CALL_FUNC(mem_space),
	STX(DW, R10, KEY_SPACE, R0),
	STX(DW, R10, KEY_ADDRESS, R8),
	LDX(DW, R1, R7, SIZE),
	STX(DW, R10, NEW_SIZE, R1),
	UNLESS(struct mem_user_config, times),
		ST(DW, R10, NEW_TIME, 0),
	END,
	WHEN(struct mem_user_config, times),
		CALL(ktime_get_ns),
		STX(DW, R10, NEW_TIME, R0),
	END,

	/*
	 * Without stacks a thread's allocations differ in size alone: the first one's record serves
	 * all.
	 */
	WHEN(struct mem_user_config, plain),
		LDX(DW, R1, R10, KEY_SPACE),
		LDX(DW, R2, R7, THREAD_SPACE),
		JNE_REG(R1, R2, first),
		LDX(DW, R1, R7, THREAD_HASH),
		STX(DW, R10, NEW_HASH, R1),
		MAP_LOOKUP(counts, NEW_HASH),
		JEQ(R0, 0, first),
		MOV_REG(R9, R0),
		MAP_UPDATE(blocks, KEY, BLOCK, BPF_NOEXIST),
		JNE(R0, 0, first), /* for whatever reason */
		LDX(DW, R8, R7, SIZE),
		MOV(R1, 1),
		ATOMIC_ADD(DW, R9, 8 * MEM_ALLOC_OBJECTS, R1),
		ATOMIC_ADD(DW, R9, 8 * MEM_ALLOC_SPACE, R8),
		JA(out),
LABEL(first),
	END,

	/*
	 * R9 = a record of the stack that wanted it: at the return the caller is the innermost
	 * frame.
	 */
	MOV_REG(R1, R6),
	LDX(DW, R2, R7, IDS),
	MOV(R3, 0),
	WHEN(struct mem_user_config, sample),
		LDX(DW, R3, R7, SIZE), /* which says what it stands for */
	END,
	CALL_FUNC(stack_take),
	JEQ(R0, 0, out),
	MOV_REG(R9, R0),

	ST(DW, R9, RECORD_VALUE + 8 * MEM_GONE_OBJECTS, 0),
	ST(DW, R9, RECORD_VALUE + 8 * MEM_GONE_SPACE, 0),

	/* The block goes on the map. */
	LDX(DW, R1, R9, RECORD_HASH),
	STX(DW, R10, NEW_HASH, R1),
	WHEN(struct mem_user_config, plain),
		STX(DW, R7, THREAD_HASH, R1),
		LDX(DW, R1, R10, KEY_SPACE),
		STX(DW, R7, THREAD_SPACE, R1),
	END,
	MAP_UPDATE(blocks, KEY, BLOCK, BPF_NOEXIST),
	JEQ(R0, 0, tracked),
	JNE(R0, -EEXIST, no_room),

	/* It is there already: how it was freed has escaped us. */
	COUNT(stats, struct mem_user_stats, replaced),
	MAP_LOOKUP(blocks, KEY),
	JEQ(R0, 0, gone),
	LDX(DW, R1, R0, BLOCK_SIZE),
	LDX(DW, R2, R0, BLOCK_HASH),
	MOV(R3, 0),
	CALL_FUNC(mem_subtract),
LABEL(gone),
	MAP_UPDATE(blocks, KEY, BLOCK, BPF_ANY),
	JEQ(R0, 0, tracked),
LABEL(no_room),
	COUNT(stats, struct mem_user_stats, untracked),
	LDX(DW, R8, R7, SIZE),
	LD_MAP_VALUE(R1, stats, offsetof(struct mem_user_stats, untracked_bytes)),
	ATOMIC_ADD(DW, R1, 0, R8),
	UNLESS(struct mem_user_config, temporary),
		ST(DW, R9, RECORD_VALUE + 8 * MEM_GONE_OBJECTS, 1),
		STX(DW, R9, RECORD_VALUE + 8 * MEM_GONE_SPACE, R8),
	END,
	JA(count),
LABEL(tracked),
	LDX(DW, R8, R7, SIZE),
	WHEN(struct mem_user_config, peak),
		LD_MAP_VALUE(R1, stats, offsetof(struct mem_user_stats, in_use)),
		MOV_REG(R4, R8),
		ATOMIC_FETCH_ADD(DW, R1, 0, R4),
		ADD_REG(R4, R8),
		RAISE_PEAK(R4),
	END,
	WHEN(struct mem_user_config, peak_sites),
		LDX(DW, R1, R10, NEW_HASH),
		LDX(DW, R2, R10, KEY_SPACE),
		MOV(R3, 1),
		MOV_REG(R4, R8),
		CALL_FUNC(mem_use),
	END,

	/* R8 = its size. Its stack weighs more. */
LABEL(count),
	ST(DW, R9, RECORD_VALUE + 8 * MEM_ALLOC_OBJECTS, 1),
	STX(DW, R9, RECORD_VALUE + 8 * MEM_ALLOC_SPACE, R8),
	MOV_REG(R1, R9),
	CALL_FUNC(stack_value),
	JEQ(R0, 0, travelled),
	MOV(R1, 1),
	ATOMIC_ADD(DW, R0, 8 * MEM_ALLOC_OBJECTS, R1),
	ATOMIC_ADD(DW, R0, 8 * MEM_ALLOC_SPACE, R8),
	LDX(DW, R1, R9, RECORD_VALUE + 8 * MEM_GONE_OBJECTS),
	JEQ(R1, 0, done), /* most of the time */
	ATOMIC_ADD(DW, R0, 8 * MEM_GONE_OBJECTS, R1),
	ATOMIC_ADD(DW, R0, 8 * MEM_GONE_SPACE, R8),
LABEL(done),
	STACK_DONE(R9),
	JA(out),

	/* A call that was lost has no block: its free would be subtracted from nothing. */
LABEL(travelled),
	LDX(DW, R1, R9, RECORD_HASH),
	JNE(R1, 0, done),
	MAP_DELETE(blocks, KEY),
	JNE(R0, 0, done),
	WHEN(struct mem_user_config, peak),
		NEG(R8),
		LD_MAP_VALUE(R1, stats, offsetof(struct mem_user_stats, in_use)),
		ATOMIC_ADD(DW, R1, 0, R8),
	END,
	WHEN(struct mem_user_config, peak_sites),
		LDX(DW, R1, R10, NEW_HASH),
		LDX(DW, R2, R10, KEY_SPACE),
		MOV(R3, -1),
		NEG(R8),
		MOV_REG(R4, R8),
		CALL_FUNC(mem_use),
	END,
	JA(done),

	/*
	 * NULL: realloc(block, 0) has freed it; any other call has failed and left the old block.
	 */
LABEL(no_block),
	LDX(H, R1, R7, CALL_KIND),
	JEQ(R1, MEM_REALLOC, perhaps_freed),
	JNE(R1, MEM_REALLOCARRAY, failed),
LABEL(perhaps_freed),
	LDX(DW, R1, R7, POINTER),
	JEQ(R1, 0, failed),
	LDX(DW, R1, R7, SIZE),
	JNE(R1, 0, failed),
	LDX(H, R1, R7, HAD_OLD),
	JEQ(R1, 0, unknown),
	LDX(DW, R1, R7, OLD_SIZE),
	LDX(DW, R2, R7, OLD_HASH),
	LDX(DW, R3, R7, OLD_TIME),
	CALL_FUNC(mem_subtract),
	COUNT(stats, struct mem_user_stats, freed),
	JA(out),
LABEL(unknown),
	COUNT(stats, struct mem_user_stats, unknown),
	JA(out),
	WHEN(struct mem_user_config, sample),
LABEL(passed),
		COUNT(stats, struct mem_user_stats, passed),
		JA(out),
	END,
LABEL(failed),
	COUNT(stats, struct mem_user_stats, failed),
	LDX(H, R1, R7, HAD_OLD),
	JEQ(R1, 0, out),
	CALL_FUNC(mem_space),
	STX(DW, R10, KEY_SPACE, R0),
	LDX(DW, R1, R7, POINTER),
	STX(DW, R10, KEY_ADDRESS, R1),
	LDX(DW, R1, R7, OLD_SIZE),
	STX(DW, R10, NEW_SIZE, R1),
	LDX(DW, R1, R7, OLD_HASH),
	STX(DW, R10, NEW_HASH, R1),
	LDX(DW, R1, R7, OLD_TIME),
	STX(DW, R10, NEW_TIME, R1),
	MAP_UPDATE(blocks, KEY, BLOCK, BPF_ANY),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
const struct asm_part rp_mem_leave_part = { ASM_LINES(leave_lines),
					    ASM_FRAMES({ "mem_leave", &leave_frame_layout }) };
