/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 11. Make this load: it returns three times its first argument plus the second. */
#include "quiz.h"

static const struct asm_insn callers_register_lines[] = {
	LDX(DW, R6, R1, 0), /* the first argument */
	LDX(DW, R7, R1, 8), /* the second */
	CALL_FUNC(three_times),
	ADD_REG(R0, R7),
	EXIT(),

	FUNC(three_times),
	MOV_REG(R0, R6),
	MUL(R0, 3),
	EXIT(),
};

static const struct asm_program callers_register = {
	.name = "callers_registe",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(callers_register_lines),
};

const struct quiz_exercise quiz = {
	.program = &callers_register,
};
