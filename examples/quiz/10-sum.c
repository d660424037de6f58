/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lesson 6. Make this load: it returns 1 + 2 + ... + n for its first argument n.
 * It returns 0 if n is above 100.
 */
#include "quiz.h"

static const struct asm_insn sum_lines[] = {
	LDX(DW, R1, R1, 0), /* n */
	MOV(R0, 0),
	LABEL(next),
	JEQ(R1, 0, out),
	ADD_REG(R0, R1),
	SUB(R1, 1),
	JA(next),
	LABEL(out),
	EXIT(),
};

static const struct asm_program sum = {
	.name = "sum",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(sum_lines),
};

const struct quiz_exercise quiz = {
	.program = &sum,
};
