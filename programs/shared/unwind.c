/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind: whole user stacks of programs without frame pointers.
 *
 * Compilers leave out frame pointers, but they write down, for every instruction, how to find the
 * caller's frame: .eh_frame. User space has turned that into tables (rawprof/unwind.h says what
 * they look like), and here the walk is made, once for every frame:
 *
 *	pc -> segment (which mapping of the process) -> page -> row -> rule -> caller's pc and sp
 *
 * Both searches are binary: halvings that add a masked half rather than branch, so that the
 * verifier walks one path instead of two to the power of twenty-one; and bpf_loop has it walk that
 * path once instead of once for every frame.
 *
 * Between two samples the program that is looked at has filled the processor's caches with its own
 * data, and a search would wait for memory a dozen times a frame. So a rule that was found is kept
 * in unwind_cache, by the hash of the block of code that it holds in, where a frame that is seen
 * again or has a neighbour that was, as most have, waits once. And the stack itself is read through
 * a window: one call of the kernel serves several frames.
 *
 * The frame pointer is read lazily: a rule that needs it is rare, so what is kept is where it was
 * saved, and a frame costs one word of user memory, its return address.
 */
#include "unwind_step.h"

/* clang-format off */
static const struct asm_insn unwind_lines[] = {
	INCLUDE(&rp_unwind_begin_part),

	/* unwind_fp(state, task): makes state->fp known. Returns 0 or a negative errno. */
FUNC(unwind_fp),
	MOV_REG(R6, R1),
	WHEN(struct program_config, of_task),
		STX(DW, R10, FP_TASK, R2),
	END,
	MOV(R0, 0),
	LDX(DW, R3, R6, FP_AT),
	JEQ(R3, 0, known),
	ST(DW, R6, FP_AT, 0),
	READ_WINDOW(elsewhere),
	STX(DW, R6, FP, R1),
LABEL(known),
	EXIT(),
LABEL(elsewhere),
	MOV_REG(R1, R6),
	ADD(R1, FP),
	MOV(R2, 8),
	READ_MEMORY(FP_TASK),
	EXIT(),

	/* unwind_step(index, slot of the state): keeps the pc, goes to the caller. 1 at the end. */
FUNC(unwind_step),
	LDX(DW, R6, R2, 0),
	WHEN(struct program_config, of_task),
		LDX(DW, R1, R2, TASK_SLOT - STATE_SLOT),
		STX(DW, R10, STEP_TASK, R1),
	END,
	LDX(DW, R7, R6, PC),
	LDX(W, R1, R6, N),
	WHEN(struct program_config, outermost),
		LDX(W, R2, R6, INNERMOST),
		JLT_REG(R1, R2, put_down),
		LDX(W, R2, R6, SKIP),
		JEQ(R2, 0, put_down),
		SUB(R2, 1),
		STX(W, R6, SKIP, R2),
		ST(W, R6, PASSING, 1),
		JA(is_down),
LABEL(put_down),
		ST(W, R6, PASSING, 0),
	END,
	LDX(W, R2, R6, MAX),
	JGE_REG(R1, R2, deep),
	WHEN(struct program_config, deep_bytes),
LABEL(has_room),
	END,
	LDX(DW, R3, R6, MARK),
	OR_REG(R3, R7),
	/*
	 * Never. The verifier takes "less than n bytes" for all but one, so it wants 8 bytes more.
	 */
	MOV_REG(R2, R1),
	LSH(R2, 3),
	JGE_PARAM(R2, struct program_config, both_bytes, too_deep),
	ADD_REG(R2, R6),
	STX(DW, R2, PCS, R3),
	WHEN(struct program_config, managed_bytes),
		LD_PARAM(R3, struct program_config, all_bytes),
		ADD_REG(R2, R3),
		LDX(DW, R3, R6, SP),
		STX(DW, R2, PCS + STACK_SLACK, R3),
	END,
	ADD(R1, 1),
	STX(W, R6, N, R1),
	WHEN(struct program_config, outermost),
LABEL(is_down),
	END,

	/* R7 = the address to look up: that of the call if the pc is a return address. */
	LDX(DW, R1, R6, IS_RETURN),
	SUB_REG(R7, R1),

	/* R1 = where the rules of its block would be kept. */
	LDX(DW, R8, R6, GENERATION),
	LD_IMM64(R5, GOLDEN_RATIO_64),
	MOV_REG(R3, R7),
	AND(R3, -UNWIND_BLOCK),
	MOV_REG(R1, R8),
	XOR_REG(R1, R3),
	MUL_REG(R1, R5),
	RSH(R1, 64 - UNWIND_CACHE_SHIFT),
	LSH(R1, CACHED_PAIR_SHIFT),
	STX(DW, R6, CACHE_AT, R1),
	STX(DW, R6, BLOCK, R3),
	LDX(W, R2, R6, N),
	AND(R2, UNWIND_PREFETCH - 1),
	LSH(R2, 3),
	ADD_REG(R2, R6),
	STX(DW, R2, PREFETCH, R1),

	LD_MAP_VALUE(R9, unwind_cache, 0),
	ADD_REG(R9, R1),
	RULE_OF_FOUND(rule_found),
	ADD(R9, CACHED_BYTES),
	RULE_OF_FOUND(rule_found),

	MOV_REG(R1, R6),
	MOV_REG(R2, R7),
	CALL_FUNC(unwind_find),
	JNE(R0, 0, lost),

LABEL(rule_found),
	MOV_REG(R9, R6),
	ADD(R9, RULE),

	/* R7 = CFA, the caller's stack pointer; most often simply sp and a constant. */
	LD_S32(R7, R9, CFA_OFF),
	LDX(B, R1, R9, KIND),
	JNE(R1, UNWIND_SP, not_sp),
	LDX(DW, R2, R6, SP),
	ADD_REG(R7, R2),

LABEL(caller),
	LDX(DW, R2, R6, SP),
	LDX(B, R1, R9, FLAGS),
	JSET(R1, UNWIND_RA_REG, ra_in_register),
	JLE_REG(R7, R2, not_up),
	LD_S16(R3, R9, RA_OFF),
	ADD_REG(R3, R7),
	READ_WINDOW(beyond_window),
LABEL(return_address),
	STX(DW, R6, PC, R1),

LABEL(callers_fp),
	LDX(B, R1, R9, FLAGS),
#ifdef MACHINE_COMPUTED_RULES
	JSET(R1, UNWIND_COMPUTED, computed),
LABEL(return_checked),
#endif
	JSET(R1, UNWIND_RBX_AT_CFA | UNWIND_RBX_KEPT, rbx_known),
	ST(DW, R6, RBX_AT, 0),
LABEL(rbx_noted),
	LD_S16(R8, R9, FP_OFF),
	JSET(R1, UNWIND_FP_AT_CFA, fp_at_cfa),
	JSET(R1, UNWIND_FP_AT_FP, fp_at_fp),
	JSET(R1, UNWIND_FP_LOST, fp_lost),

LABEL(arrived),
	STX(DW, R6, SP, R7),
	ST(DW, R6, IS_RETURN, 1),
	ST(DW, R6, MARK, 0),
	LDX(DW, R1, R6, PC),
#ifdef UNWIND_RA_MASK
	LD_IMM64(R2, UNWIND_RA_MASK), /* arm64 signs return addresses in their upper bits */
	AND_REG(R1, R2),
	STX(DW, R6, PC, R1),
#endif
	JEQ(R1, 0, ra_zero),
	MOV(R0, 0),
	EXIT(),

#ifdef MACHINE_COMPUTED_RULES
LABEL(computed), /* what it found is a return address, or the frame pointer knows better */
	IS_BEHIND_CALL(return_is_right, by_frame_pointer),
LABEL(return_is_right),
	LDX(B, R1, R9, FLAGS),
	JA(return_checked),
#endif

	/*
	 * A call costs more than the bytes: it fetches those of the next frames too. Near the
	 * stack's end there are fewer.
	 */
LABEL(beyond_window),
	MOV_REG(R8, R3),
	LDX(W, R1, R6, WINDOWLESS),
	JNE(R1, 0, one_word),
	SUB(R3, UNWIND_WINDOW_BELOW),
	STX(DW, R6, WINDOW_AT, R3),
	MOV_REG(R1, R6),
	ADD(R1, WINDOW),
	MOV(R2, UNWIND_WINDOW),
	READ_MEMORY(STEP_TASK),
	JNE(R0, 0, no_window),
	LDX(DW, R1, R6, WINDOW + UNWIND_WINDOW_BELOW),
	JA(return_address),
LABEL(no_window),
	ST(DW, R6, WINDOW_AT, UNWIND_NO_WINDOW),
	ST(W, R6, WINDOWLESS, 1),
LABEL(one_word),
	MOV_REG(R3, R8),
	READ_STACK(PC, 8),
	JA(callers_fp),

LABEL(rbx_known),
	JSET(R1, UNWIND_RBX_KEPT, rbx_noted),
	LD_S16(R8, R9, ARG),
	ADD_REG(R8, R7),
	STX(DW, R6, RBX_AT, R8),
	JA(rbx_noted),
LABEL(fp_at_cfa),
	ADD_REG(R8, R7),
	STX(DW, R6, FP_AT, R8),
	JA(arrived),
LABEL(fp_at_fp),
	KNOW_FP,
	LDX(DW, R1, R6, FP),
	ADD_REG(R8, R1),
	STX(DW, R6, FP_AT, R8),
	JA(arrived),
LABEL(fp_lost),
	ST(DW, R6, FP, 0),
	ST(DW, R6, FP_AT, 0),
	JA(arrived),
LABEL(ra_in_register), /* an arm64 leaf function, which may have no frame */
	JLT_REG(R7, R2, not_up),
	LDX(H, R1, R9, RA_OFF),
#ifdef UNWIND_LINK_REG
	ONLY_INNERMOST(inner),
	JA(leaf),
LABEL(inner),
#ifdef MACHINE_COMPUTED_RULES
	BY_CALLEE(interrupted),
	JNE(R1, UNWIND_LINK_REG, leaf),
LABEL(interrupted),
#endif
	LDX(DW, R2, R6, IS_RETURN),
	JNE(R2, 0, not_leaf),
	JNE(R1, UNWIND_LINK_REG, not_leaf), /* the one that from_signal has read */
LABEL(leaf),
#else
	ONLY_INNERMOST(not_leaf),
#endif
	JGT(R1, UNWIND_REGS_BYTES - 8, no_rule),
	ADD_REG(R1, R6),
	LDX(DW, R1, R1, REGS),
	STX(DW, R6, PC, R1),
	JA(callers_fp),

	/* The rarer ways to the CFA. */
LABEL(not_sp),
	JEQ(R1, UNWIND_NO_ROW, no_row),
	JEQ(R1, UNWIND_STOP, complete),
	JEQ(R1, UNWIND_FP, from_fp),
	JEQ(R1, UNWIND_PLT, from_plt),
	JEQ(R1, UNWIND_SIGNAL, from_signal),
	JEQ(R1, UNWIND_DEREF_SP, from_deref_sp),
	JEQ(R1, UNWIND_DEREF_FP, from_deref_fp),
	JEQ(R1, UNWIND_REG, from_register),
	JEQ(R1, UNWIND_OTHER_STACK, from_other_stack),
	JA(no_rule),

LABEL(no_row), /* the frame pointer may lead past a caller: user space computes a rule */
	WHEN(struct program_config, managed_bytes), /* but all that V8 has made keeps one */
		LDX(DW, R1, R6, V8_PROCESS),
		JNE(R1, 0, by_frame_pointer),
	END,
	LDX(B, R1, R9, FLAGS), /* nor is there anything to compute of JIT code */
	JNE(R1, 0, by_frame_pointer),
	LDX(W, R1, R6, LACKED),
	JNE(R1, 0, by_frame_pointer),
	LDX(W, R1, R6, N),
	LDX(W, R2, R6, BASE),
	SUB_REG(R1, R2),
	STX(W, R6, LACKED, R1),
	JA(by_frame_pointer),

LABEL(from_fp),
	KNOW_FP,
	LDX(DW, R1, R6, FP),
	ADD_REG(R7, R1),
	JA(caller),

LABEL(from_other_stack), /* fp is of that one, and so is where it points */
	KNOW_FP,
	LDX(DW, R7, R6, FP),
	JA(frame_record),

LABEL(from_plt), /* a stub of 16 bytes pushes 8 on its way */
	LDX(DW, R2, R6, SP),
	ADD_REG(R7, R2),
	LDX(DW, R1, R6, PC),
	AND(R1, 15),
	LDX(H, R2, R9, ARG),
	JLT_REG(R1, R2, caller),
	ADD(R7, 8),
	JA(caller),

LABEL(from_deref_fp),
	KNOW_FP,
	LDX(DW, R3, R6, FP),
	JA(dereference),
LABEL(from_deref_sp),
	LDX(DW, R3, R6, SP),
LABEL(dereference),
	ADD_REG(R3, R7),
	READ_STACK(WORDS, 8),
	LDX(DW, R7, R6, WORDS),
	LD_S16(R1, R9, ARG),
	ADD_REG(R7, R1),
	JA(caller),

LABEL(from_register), /* any other is known in the innermost frame only, but rbx */
	LDX(H, R1, R9, ARG),
	ONLY_INNERMOST(by_rbx),
LABEL(in_register),
	JGT(R1, UNWIND_REGS_BYTES - 8, no_rule),
	ADD_REG(R1, R6),
	LDX(DW, R1, R1, REGS),
	ADD_REG(R7, R1),
	JA(caller),

LABEL(by_rbx),
	JNE(R1, UNWIND_RBX_REG, by_helper),
	LDX(DW, R3, R6, RBX_AT),
	JEQ(R3, 1, in_register),
	JEQ(R3, 0, not_leaf),
	READ_STACK(WORDS, 8),
	LDX(DW, R1, R6, WORDS),
	ADD_REG(R7, R1),
	JA(caller),

LABEL(by_helper),
#ifdef MACHINE_COMPUTED_RULES
	BY_CALLEE(not_leaf),
	JA(in_register),
#else
	JA(not_leaf),
#endif

LABEL(from_signal), /* saved by the kernel: cfa_off, fp_off, ra_off from sp */
	LDX(DW, R8, R6, SP),
	LD_S16(R3, R9, RA_OFF),
	ADD_REG(R3, R8),
	READ_STACK(PC, 8),
#ifdef UNWIND_LINK_REG
	LD_S16(R3, R9, ARG),
	ADD_REG(R3, R8),
	READ_STACK(REGS + UNWIND_LINK_REG, 8),
#endif
	LD_S16(R3, R9, FP_OFF),
	ADD_REG(R3, R8),
	READ_STACK(FP, 8),
	MOV_REG(R3, R7),
	ADD_REG(R3, R8),
	READ_STACK(SP, 8),
	ST(DW, R6, FP_AT, 0),
	ST(DW, R6, RBX_AT, 0),
	ST(DW, R6, IS_RETURN, 0),
	LD_IMM64(R1, UNWIND_PC_EXACT),
	STX(DW, R6, MARK, R1),
	MOV(R0, 0),
	EXIT(),

LABEL(by_frame_pointer), /* no rule: JIT code, assembly. fp -> { caller's fp, return address } */
	WHEN(struct program_config, jvm),
		ST(DW, R10, STEP_WHY, 0),
LABEL(by_code_heap),
		LDX(W, R1, R6, offsetof(struct unwind_state, jvm_number)),
		JEQ(R1, 0, no_code_heap),
		MOV_REG(R1, R6),
		WHEN(struct program_config, of_task),
			LDX(DW, R2, R10, STEP_TASK),
		END,
		CALL_FUNC(jvm_step),
		JNE(R0, JVM_IN_STUB, stepped),
		MOV_REG(R1, R6),
		WHEN(struct program_config, of_task),
			LDX(DW, R2, R10, STEP_TASK),
		END,
		CALL_FUNC(jvm_stub),
LABEL(stepped),
		JEQ(R0, JVM_BY_FP, by_fp),
		JEQ(R0, JVM_ELSEWHERE, no_code_heap),
		JEQ(R0, JVM_LOST, fp_bad),
		LDX(DW, R1, R6, PC),
		JEQ(R1, 0, ra_zero),
		MOV(R0, 0),
		EXIT(),
LABEL(no_code_heap),
		LDX(DW, R0, R10, STEP_WHY),
		JNE(R0, 0, no_way),
	END,
LABEL(by_fp),
#ifdef MACHINE_LANGUAGES
	/* Code that the process has generated, where the size of its frame is known. */
	LDX(DW, R7, R6, GENERATED),
	JEQ(R7, 0, not_generated),
	LSH(R7, 32),
	ARSH(R7, 32),
	LDX(DW, R1, R6, SP),
	ADD_REG(R7, R1),
	MOV(R8, 0),
LABEL(next_size),
	WHEN(struct program_config, may_goto),
		MAY_GOTO(not_generated),
	END,
	JSET(R7, 15, other_size), /* so it was when the caller called */
	MOV_REG(R3, R7),
	SUB(R3, 8),
	READ_STACK_OR(PC, 8, not_generated),
	IS_BEHIND_CALL(generated, other_size),
	JA(generated),
LABEL(other_size),
	LDX(H, R1, R6, GENERATED + RA_OFF),
	JGE_REG(R8, R1, not_generated),
	ADD(R8, 1),
	LD_S16(R1, R6, GENERATED + ARG),
	ADD_REG(R7, R1),
	WHEN(struct program_config, may_goto),
		JA(next_size),
	END,
	UNLESS(struct program_config, may_goto),
		JLE(R8, UNWIND_GENERATED_SIZES, next_size),
		JA(not_generated),
	END,
LABEL(generated),
	LDX(DW, R1, R6, SP),
	OR(R1, UNWIND_POINTER_GENERATED),
	KEEP_POINTER,
	ST(DW, R6, RBX_AT, 0),
	LD_S16(R8, R6, GENERATED + FP_OFF),
	LDX(B, R1, R6, GENERATED + FLAGS),
	JSET(R1, UNWIND_FP_AT_CFA, fp_at_cfa),
	JSET(R1, UNWIND_FP_LOST, fp_lost),
	JA(arrived),
LABEL(not_generated),
#endif
	KNOW_FP,
	LDX(DW, R7, R6, FP),
	JEQ(R7, 0, fp_zero),
#ifdef UNWIND_FP_RECORD
	ADD(R7, UNWIND_FP_RECORD),
#endif
	LDX(DW, R1, R6, SP),
	JLT_REG(R7, R1, fp_bad),
LABEL(frame_record),
	MOV_REG(R1, R7), /* for v8_walk */
	OR(R1, UNWIND_POINTER_FP),
	KEEP_POINTER,
	MOV_REG(R3, R7),
	READ_STACK(WORDS, 16),
	LDX(DW, R1, R6, WORDS),
	STX(DW, R6, FP, R1),
	LDX(DW, R1, R6, WORDS + 8),
	STX(DW, R6, PC, R1),
	ST(DW, R6, RBX_AT, 0),
	ADD(R7, 16),
	JA(arrived),

	/* Ends. */
LABEL(complete),
	STOP_WALK(UNWIND_COMPLETE),
LABEL(ra_zero),
	STOP_WALK(UNWIND_RA_ZERO),
LABEL(fp_zero),
	STOP_WALK(UNWIND_FP_ZERO),
LABEL(deep),
	WHEN(struct program_config, deep_bytes),
		MOV_REG(R1, R6),
		CALL_FUNC(unwind_deep),
		LDX(W, R1, R6, N),
		JEQ(R0, 0, has_room),
	END,
LABEL(too_deep),
	STOP_WALK(UNWIND_DEEP),
LABEL(lost),
	WHEN(struct program_config, jvm), /* the heap may have grown just now */
		STX(DW, R10, STEP_WHY, R0),
		JA(by_code_heap),
LABEL(no_way),
	END,
	WHEN(struct program_config, return_probes),
		STX(DW, R10, STEP_WHY, R0),
		RETURN_PROBE(not_probed),
		MOV(R0, 0),
		EXIT(),
LABEL(not_probed),
		LDX(DW, R0, R10, STEP_WHY),
	END,
	STX(W, R6, WHY, R0),
	WHEN(struct program_config, vma),
		ONLY_INNERMOST(is_code),
		PC_READABLE(is_code, replaced),
LABEL(is_code),
	END,
	MOV(R0, 1),
	EXIT(),
LABEL(fp_bad),
	STOP_WALK(UNWIND_FP_BAD),
LABEL(not_up),
	STOP_WALK(UNWIND_NOT_UP),
LABEL(unreadable),
	UNLESS(struct program_config, of_task),
		ONLY_INNERMOST(is_stack),
		PC_READABLE(is_stack, replaced),
LABEL(is_stack),
	END,
	STOP_WALK(UNWIND_READ),
	/* In the middle of execve(): these registers are of the program before, which is gone. */
	UNLESS(struct program_config, of_task),
LABEL(replaced),
		LDX(W, R1, R6, BASE),
		STX(W, R6, N, R1),
		STOP_WALK(UNWIND_GONE),
	END,
LABEL(not_leaf),
	STOP_WALK(UNWIND_NOT_LEAF),
LABEL(no_rule),
	STOP_WALK(UNWIND_NO_RULE),
	INCLUDE(&rp_unwind_find_part),
};
/* clang-format on */

const struct asm_part rp_unwind_part = { ASM_LINES(unwind_lines) };
