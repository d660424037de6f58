/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lesson 16. Three questions, and nothing depends on the sum.
 * How many instructions does the verifier go through?
 */
#include "quiz.h"

/* If the bit of R1 is set, add 1 to R0. */
#define ASK(bit)                                                                            \
	SCOPE("ASK(" #bit ")"), MOV_REG(R2, R1), AND(R2, bit), JEQ(R2, 0, .no), ADD(R0, 1), \
		LABEL(.no), END

static const struct asm_insn questions_lines[] = {
	LDX(DW, R1, R1, 0),
	MOV(R0, 0),
	ASK(1),
	ASK(2),
	ASK(4),
	EXIT(),
};

static const struct asm_program questions = {
	.name = "questions",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(questions_lines),
};

const struct quiz_exercise quiz = {
	.program = &questions,
	.choices = {
		/* a */ "15",
		/* b */ "23",
		/* c */ "62",
		/* d */ "120",
	},
	.answer = "?", /* a, b, c or d */
};
