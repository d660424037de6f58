/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_user: how a walk begins. Whose stack is it, where are its registers, what does it map?
 * Then it goes on frame by frame (unwind.c).
 */
#include "unwind_step.h"

/* clang-format off */
static const struct asm_insn begin_lines[] = {
	/*
	 * unwind_user(scratch, max, pid, context, base): walks the user stack of the current task
	 * into the record, behind the base frames that it has already. Returns the number of
	 * frames; walk.end says how the walk ended. 0 when there is nothing to walk by:
	 * UNWIND_NO_MAPPING if the process's mappings are not known yet, UNWIND_OTHER_CODE for a
	 * thread of the kernel or a 32-bit program, UNWIND_IN_KERNEL if its registers cannot be
	 * had, UNWIND_GONE when it has ended and given its memory back.
	 */
FUNC(unwind_user),
	MOV_REG(R6, R1),
	STX(DW, R10, STATE_SLOT, R6),
	STX(W, R10, TGID, R3),
	JGT(R2, UNWIND_FRAMES, other_code), /* never */
	ADD_REG(R2, R5),
	STX(W, R6, MAX, R2),
	STX(W, R6, BASE, R5),
	STX(W, R6, N, R5),
	STX(W, R6, BEGAN, R5),
	ST(W, R6, LACKED, 0),
	WHEN(struct program_config, deep_bytes),
		ST(W, R6, DEEP_AT, 0),
	END,
	WHEN(struct program_config, outermost),
		LD_PARAM(R1, struct program_config, outermost),
		SUB_REG(R2, R1),
		STX(W, R6, INNERMOST, R2),
		ST(W, R6, SKIP, UNWIND_PASSED), /* the first time those behind are counted alone */
	END,
	WHEN(struct program_config, jvm),
		ST(DW, R6, offsetof(struct unwind_state, jvm.words), 0), /* and fresh */
	END,

	UNLESS(struct program_config, own_regs),
		/* A sample that hit the program itself brings its registers along. */
		WHEN(struct program_config, user_code),
			READ_CONTEXT(entered),
			JA(registers_known),
LABEL(entered),
		END,

		/* Where the kernel was entered, all registers of the user were saved. */
		UNLESS(struct program_config, of_task),
			CALL(get_current_task_btf),
		END,
		WHEN(struct program_config, of_task),
			STX(DW, R10, TASK_SLOT, R4),
			MOV_REG(R0, R4),
		END,
		MOV_REG(R7, R0),
		LD_FIELD(R8, R0, "task_struct", "flags"),
		JSET(R8, PF_KTHREAD | PF_EXITING, look_for_memory),
LABEL(has_memory),
		MOV_REG(R1, R7),
		CALL(task_pt_regs),
		MOV_REG(R3, R0),
		MOV_REG(R1, R6),
		ADD(R1, REGS),
		MOV(R2, UNWIND_REGS_BYTES),
		CALL(probe_read_kernel),
		JNE(R0, 0, other_code),
		LDX(DW, R1, R6, REGS + UNWIND_MODE_REG),
		AND(R1, UNWIND_MODE_MASK),
		JNE(R1, UNWIND_MODE_USER64, other_code),
		WHEN(struct program_config, user_code),
LABEL(registers_known),
		END,
	END,

	/*
	 * Before Linux 5.15 they are known only of a sample in user code: then they are the
	 * context.
	 */
	WHEN(struct program_config, own_regs),
		READ_CONTEXT(in_kernel),
	END,

	/* The mappings of its process: those of the last walk here, if nothing has changed. */
	LD_MAP_VALUE(R7, unwind_mappings, CHANGES),
	LDX(W, R7, R7, 0),
	LDX(W, R1, R6, KNOWN_CHANGES),
	JNE_REG(R1, R7, look_up),
	LDX(W, R1, R6, KNOWN_PID),
	LDX(W, R2, R10, TGID),
	JEQ_REG(R1, R2, ranges_known),
LABEL(look_up),
	MAP_LOOKUP(unwind_procs, TGID),
	JEQ(R0, 0, unknown),
	LDX(W, R2, R0, offsetof(struct unwind_proc, first)),
	STX(W, R6, FIRST, R2),
	LDX(W, R1, R0, offsetof(struct unwind_proc, count)),
	JEQ(R1, 0, unknown),
	STX(W, R6, NRANGES, R1),
	LDX(W, R3, R0, offsetof(struct unwind_proc, generation)),
	STX(DW, R6, GENERATION, R3),
	COPY_GENERATED,
	WHEN(struct program_config, managed_bytes),
		COPY_PYTHON(0),
		COPY_PYTHON(8),
		COPY_PYTHON(16),
		COPY_PYTHON(24),
		COPY_PYTHON(32),
		COPY_V8,
	END,
	WHEN(struct program_config, scripts),
		COPY_SCRIPT(0),
		COPY_SCRIPT(8),
		COPY_SCRIPT(16),
		COPY_SCRIPT(24),
		COPY_SCRIPT(32),
		COPY_SCRIPT(40),
		COPY_SCRIPT(48),
	END,
	WHEN(struct program_config, published),
		COPY_PUBLISHED(0),
		COPY_PUBLISHED(8),
	END,
	WHEN(struct program_config, jvm),
		LDX(W, R3, R0, offsetof(struct unwind_proc, jvm)),
		STX(W, R6, offsetof(struct unwind_state, jvm_number), R3),
	END,
	LDX(W, R1, R10, TGID),
	STX(W, R6, KNOWN_PID, R1),
	STX(W, R6, KNOWN_CHANGES, R7),
LABEL(no_range_yet),
	ST(DW, R6, RANGE_START, -1), /* no mapping of that process was looked for yet */
LABEL(ranges_known),
	WHEN(struct program_config, vma),
		ST(DW, R6, VMA_CALLS, 0),
	END,

	/*
	 * Most frames are where they were in the last walk. Their rules come from memory, and frame
	 * by frame each would be waited for, as only the one before tells where it is; looked at
	 * here, all are on their way at once.
	 */
	MOV(R2, 0),
	LD_MAP_VALUE(R5, unwind_cache, 0),
LABEL(next_prefetch),
	MOV_REG(R4, R6),
	ADD_REG(R4, R2),
	FETCH_RULE(0),
	FETCH_RULE(1),
	FETCH_RULE(2),
	FETCH_RULE(3),
	ADD(R2, 4 * 8),
	JLT(R2, 8 * UNWIND_PREFETCH, next_prefetch),

	WHEN(struct program_config, outermost),
		MOV(R8, 0),
LABEL(again),
	END,
	MOV_REG(R7, R6),
	ADD(R7, REGS),
	LD_IP(R1, R7),
	STX(DW, R6, PC, R1),
	LD_SP(R1, R7),
	STX(DW, R6, SP, R1),
	LD_FP(R1, R7),
	STX(DW, R6, FP, R1),
	ST(DW, R6, FP_AT, 0),
	ST(DW, R6, RBX_AT, 1),
	ST(DW, R6, MARK, 0),
	ST(DW, R6, IS_RETURN, 0),
	ST(DW, R6, WINDOW_AT, UNWIND_NO_WINDOW),
	WHEN(struct program_config, return_probes),
		ST(DW, R6, RETURN_INSTANCE, 0),
	END,
	ST(W, R6, WINDOWLESS, 0),
	ST(W, R6, WHY, UNWIND_DEEP), /* unless a step says otherwise */

	UNLESS(struct program_config, bounded),
		UNLESS(struct program_config, outermost),
			MOV(R1, UNWIND_FRAMES),
			WHEN(struct program_config, deep_bytes),
				MOV(R1, STACK_DEEPEST),
			END,
		END,
		WHEN(struct program_config, outermost),
			MOV(R1, UNWIND_PASSED),
		END,
		LD_FUNC(R2, unwind_step),
		FRAME_PTR(R3, STATE_SLOT),
		MOV(R4, 0),
		CALL(loop),
	END,
	/*
	 * A stack that is deeper is walked a second time, now that it is known how many frames are
	 * between the innermost and the outermost ones.
	 */
	WHEN(struct program_config, outermost),
		JNE(R8, 0, second_time),
		MOV(R8, 1),
		LDX(W, R1, R6, WHY),
		JEQ(R1, UNWIND_DEEP, in_one), /* too deep by far: it is cut */
		LDX(W, R1, R6, SKIP),
		MOV(R2, UNWIND_PASSED),
		SUB_REG(R2, R1),
		JEQ(R2, 0, in_one),
		MOV(R1, 0),
		LD_PARAM(R3, struct program_config, outermost),
		JLE_REG(R2, R3, skip_known),
		MOV_REG(R1, R2),
		SUB_REG(R1, R3),
LABEL(skip_known),
		STX(W, R6, SKIP, R1),
		STX(W, R6, LEFT_OUT, R1),
		LDX(W, R1, R6, BASE),
		STX(W, R6, N, R1),
		WHEN(struct program_config, jvm),
			ST(W, R6, offsetof(struct unwind_state, jvm.words), 0),
		END,
		JA(again),
LABEL(second_time),
		LDX(W, R1, R6, LEFT_OUT),
		JEQ(R1, 0, in_one),
		ST(W, R6, WHY, UNWIND_ELIDED),
LABEL(in_one),
	END,

	/*
	 * Before Linux 5.17 the verifier walks every round of the loop, and its steps are limited.
	 */
	WHEN(struct program_config, bounded),
		MOV(R7, 0),
LABEL(next_frame),
		MOV_REG(R1, R7),
		FRAME_PTR(R2, STATE_SLOT),
		CALL_FUNC(unwind_step),
		JNE(R0, 0, walked),
		ADD(R7, 1),
		JLT(R7, UNWIND_BOUNDED_FRAMES, next_frame),
LABEL(walked),
	END,
	LDX(W, R0, R6, N),
	LDX(W, R1, R6, BASE),
	SUB_REG(R0, R1),
	EXIT(),
LABEL(unknown),
	ST(W, R6, KNOWN_PID, 0),
	/*
	 * It began, or executed a program, a moment ago. What is found of it holds for this walk
	 * only, as nobody says what it maps meanwhile.
	 */
	WHEN(struct program_config, vma),
		ST(W, R6, NRANGES, 0),
		FORGET_LANGUAGES,
		LD_MAP_VALUE(R1, unwind_mappings, FRESH_WALKS),
		MOV(R2, 1),
		ATOMIC_FETCH_ADD(DW, R1, 0, R2),
		LSH(R2, 33),
		RSH(R2, 33),
		LD_IMM64(R1, UNWIND_FRESH),
		OR_REG(R2, R1),
		STX(DW, R6, GENERATION, R2),
		JA(no_range_yet),
	END,
	UNLESS(struct program_config, vma),
		ST(W, R6, WHY, UNWIND_NO_MAPPING),
		MOV(R0, 0),
		EXIT(),
	END,
	UNLESS(struct program_config, own_regs),
		/*
		 * Every other task has memory. A copy of the pointer, as in stack_begin: one that
		 * is loaded would cost the verifier milliseconds.
		 */
LABEL(look_for_memory),
		MOV_REG(R3, R7),
		ADD_FIELD_OFFSET(R3, "task_struct", "mm"),
		FRAME_PTR(R1, MEMORY_SLOT),
		MOV(R2, 8),
		CALL(probe_read_kernel),
		LDX(DW, R1, R10, MEMORY_SLOT),
		JEQ(R1, 0, gone),
		JSET(R8, PF_KTHREAD, other_code),
		JA(has_memory),
LABEL(gone),
		ST(W, R6, WHY, UNWIND_GONE),
		MOV(R0, 0),
		EXIT(),
	END,
	WHEN(struct program_config, own_regs),
LABEL(in_kernel),
		ST(W, R6, WHY, UNWIND_IN_KERNEL),
		MOV(R0, 0),
		EXIT(),
	END,
LABEL(other_code),
	ST(W, R6, WHY, UNWIND_OTHER_CODE),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

const struct asm_part rp_unwind_begin_part = { ASM_LINES(begin_lines) };
