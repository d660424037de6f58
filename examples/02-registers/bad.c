/* SPDX-License-Identifier: BSD-2-Clause */
/* Values kept where a call, or a jump, loses them. */
#include "../lesson.h"

static const struct asm_insn kept_in_r1_lines[] = {
	CALL(ktime_get_ns),
	MOV_REG(R1, R0), /* the first time */
	CALL(ktime_get_ns),
	SUB_REG(R0, R1),
	EXIT(),
};
static const struct asm_program kept_in_r1 = {
	.name = "kept_in_r1",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	ASM_LINES(kept_in_r1_lines),
};

static const struct asm_insn on_one_path_lines[] = {
	CALL(get_prandom_u32),
	JGT(R0, 1000, skip),
	MOV(R6, 1), /* only if the number is small */
	LABEL(skip),
	MOV_REG(R0, R6),
	EXIT(),
};
static const struct asm_program on_one_path = {
	.name = "on_one_path",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	ASM_LINES(on_one_path_lines),
};

/* INSN() builds any instruction; the DSL itself has no way to write R10. */
static const struct asm_insn moves_r10_lines[] = {
	INSN(BPF_ALU64 | BPF_SUB | BPF_K, R10, 0, 0, 64),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program moves_r10 = {
	.name = "moves_r10",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	ASM_LINES(moves_r10_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &kept_in_r1, NULL, 0, "a value in R1, and then a call" },
	{ &on_one_path, NULL, 0, "a value in R6, on one path of two" },
	{ &moves_r10, NULL, 0, "room for variables, as other machines make it" },
	{ 0 },
};
