/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 1. Make this load: it returns its first argument plus 1. */
#include "quiz.h"

static const struct asm_insn result_lines[] = {
	LDX(DW, R2, R1, 0), /* the first argument */
	ADD(R2, 1),
	EXIT(),
};

static const struct asm_program result = {
	.name = "result",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(result_lines),
};

const struct quiz_exercise quiz = {
	.program = &result,
};
