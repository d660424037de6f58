/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs with which nothing is wrong, for lint_cases.h: the verifier takes them, and what makes
 * that clear takes some thinking.
 */
#ifndef TESTS_UNIT_LINT_CLEAN_H
#define TESTS_UNIT_LINT_CLEAN_H

/* clang-format off */
static const struct asm_insn saved_context[] = {
	MOV_REG(R6, R1), CALL(get_current_pid_tgid), RSH(R0, 32), JEQ(R0, 7, out),
	STX(DW, R10, -8, R0), MOV_REG(R1, R6), LD_MAP(R2, stacks), MOV(R3, 0),
	CALL(get_stackid), STX(DW, R10, -16, R0), MAP_ADD(counts, -8, -16), LABEL(out), DONE
};
/* One and the same condition twice: what the first did the second may use. */
static const struct asm_insn same_condition_twice[] = {
	CALL(get_prandom_u32), MOV_REG(R7, R0), JEQ(R7, 5, first), MOV(R6, 1), LABEL(first),
	JEQ(R7, 5, second), ADD(R6, 1), LABEL(second), DONE
};
static const struct asm_insn flag_says_so[] = {
	MOV(R8, 0), CALL(get_prandom_u32), JGT(R0, 9, skip), MOV(R6, 3), MOV(R8, 1),
	LABEL(skip), JEQ(R8, 0, out), ADD(R6, 1), LABEL(out), DONE
};
static const struct asm_insn narrower_and_narrower[] = {
	LDX(DW, R7, R1, 0), JGT(R7, 100, out), JLT(R7, 50, out), JLE(R7, 100, fine),
	MOV_REG(R0, R9), LABEL(fine), JGE(R7, 50, out), MOV_REG(R0, R9), LABEL(out), DONE
};
static const struct asm_insn signed_and_unsigned[] = {
	LDX(DW, R7, R1, 0), JSGT(R7, -1, out), JGT(R7, 0x7fffffff, out), MOV_REG(R0, R9),
	LABEL(out), DONE
};
static const struct asm_insn index_checked[] = {
	LDX(DW, R7, R1, 0), JGT(R7, 15, out), LD_MAP_VALUE(R1, stats, 0), ADD_REG(R1, R7),
	LDX(B, R2, R1, 0), LABEL(out), DONE
};
static const struct asm_insn index_of_a_copy_checked[] = {
	LDX(DW, R7, R1, 0), MOV_REG(R8, R7), JGT(R7, 15, out), LD_MAP_VALUE(R1, stats, 0),
	ADD_REG(R1, R8), LDX(B, R2, R1, 0), LABEL(out), DONE
};
static const struct asm_insn spilled_and_filled[] = {
	STX(DW, R10, -8, R1), CALL(ktime_get_ns), LDX(DW, R1, R10, -8), LDX(DW, R6, R1, 0), DONE
};
static const struct asm_insn spilled_result_checked[] = {
	ST(DW, R10, -8, 1), MAP_LOOKUP(hash, -8), STX(DW, R10, -16, R0), JEQ(R0, 0, out),
	CALL(ktime_get_ns), LDX(DW, R1, R10, -16), STX(DW, R1, 8, R0), LABEL(out), DONE
};
static const struct asm_insn written_by_helper[] = {
	FRAME_PTR(R1, -16), MOV(R2, 16), CALL(get_current_comm), LDX(DW, R6, R10, -16),
	MAP_LOOKUP(hash, -8), JEQ(R0, 0, out), LDX(DW, R7, R0, 8), LABEL(out), DONE
};
static const struct asm_insn written_in_a_loop[] = {
	MOV_REG(R6, R10), ADD(R6, -16), MOV(R7, 0), LABEL(next), ST(B, R6, 0, 1), ADD(R6, 1),
	ADD(R7, 1), JLT(R7, 16, next), MAP_LOOKUP(hash, -16), DONE
};
static const struct asm_insn after_a_loop[] = {
	MOV(R7, 0), MOV(R8, 0), LABEL(next), ADD_REG(R8, R7), ADD(R7, 1), JNE(R7, 64, next),
	JNE(R8, 2016, wrong), DONE, LABEL(wrong), MOV_REG(R0, R9), EXIT()
};
static const struct asm_insn callback_writes_the_stack[] = {
	MOV(R1, 4), LD_FUNC(R2, step), FRAME_PTR(R3, -8), MOV(R4, 0), CALL(loop),
	MAP_LOOKUP(hash, -8), DONE, FUNC(step), STX(DW, R2, 0, R1), DONE
};
static const struct asm_insn function_writes_the_stack[] = {
	FRAME_PTR(R1, -8), CALL_FUNC(step), MAP_LOOKUP(hash, -8), DONE, FUNC(step),
	ST(DW, R1, 0, 7), DONE
};
static const struct asm_insn for_each_element[] = {
	LD_MAP(R1, hash), LD_FUNC(R2, step), MOV(R3, 0), MOV(R4, 0), CALL(for_each_map_elem),
	DONE, FUNC(step), LDX(DW, R6, R3, 8), MOV_REG(R1, R6), DONE
};
static const struct asm_insn record_submitted[] = {
	RING_RESERVE(ring, 16), JEQ(R0, 0, out), MOV_REG(R6, R0), ST(DW, R6, 0, 1),
	CALL(get_prandom_u32), STX(DW, R6, 8, R0), JGT(R0, 7, drop), RING_SUBMIT(R6, 0),
	JA(out), LABEL(drop), RING_DISCARD(R6), LABEL(out), DONE
};
static const struct asm_insn variable_size[] = {
	LDX(DW, R2, R1, 8), AND(R2, 63), LDX(DW, R3, R1, 0), FRAME_PTR(R1, -64),
	CALL(probe_read_kernel), DONE
};
static const struct asm_insn length_of_a_string[] = {
	LDX(DW, R3, R1, 0), FRAME_PTR(R1, -64), MOV(R2, 64), CALL(probe_read_kernel_str),
	JSLE(R0, 0, out), MOV_REG(R3, R0), JGT(R3, 64, out), LD_MAP(R1, ring),
	FRAME_PTR(R2, -64), MOV(R4, 0), CALL(ringbuf_output), LABEL(out), DONE
};
static const struct asm_insn read_and_filters[] = {
	MOV_REG(R6, R1), LDX(DW, R7, R6, 0), READ_KERNEL(-16, 16, R7), READ_USER(-32, 16, R7),
	FILTER_SET(set, -16, out), FILTER_CPU(set, -4, out), LABEL(out), DONE
};
static const struct asm_insn histograms[] = {
	CALL(ktime_get_ns), MOV_REG(R7, R0), LOG_LINEAR(R6, R7, 3, R2, R3, R4), MOV(R8, 0),
	MOV_REG(R7, R6), LOG2(R8, R7, R2, R3), COUNT(stats, struct lint_stats, kept), DONE
};
static const struct asm_insn lookup_or_init[] = {
	ST(DW, R10, -8, 1), ST(DW, R10, -16, 0), ST(DW, R10, -24, 0),
	MAP_LOOKUP_OR_INIT(hash, -8, -24), JEQ(R0, 0, out), LDX(DW, R6, R0, 8), LABEL(out),
	MAP_DELETE(hash, -8), DONE
};
static const struct asm_insn atomics[] = {
	LD_MAP_VALUE(R6, stats, 0), MOV(R7, 1), ATOMIC_FETCH_ADD(DW, R6, 0, R7),
	MOV_REG(R0, R7), ATOMIC_CMPXCHG(DW, R6, 8, R7), ATOMIC_XCHG(DW, R6, 0, R7), DONE
};
static const struct asm_insn task_by_type[] = {
	CALL(get_current_task_btf), LDX(W, R6, R0, 16), MOV_REG(R7, R0), DONE
};
static const struct asm_insn halves[] = {
	LDX(DW, R7, R1, 0), MOV32_REG(R8, R7), JGT(R8, 7, out), JLE32(R8, 7, out),
	MOV_REG(R0, R9), LABEL(out), DONE
};
static const struct asm_insn masks[] = {
	LDX(DW, R7, R1, 0), AND(R7, 7), JLE(R7, 7, fine), MOV_REG(R0, R9), LABEL(fine),
	LDX(B, R7, R1, 8), JLT(R7, 256, out), MOV_REG(R0, R9), LABEL(out), DONE
};

/* clang-format on */

#endif
