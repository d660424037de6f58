/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 6. How many instructions does the verifier go through? */
#include "quiz.h"

static const struct asm_insn rounds_lines[] = {
	MOV(R0, 0),
	LABEL(next),
	ADD(R0, 1),
	JLT(R0, 100, next),
	EXIT(),
};

static const struct asm_program rounds = {
	.name = "rounds",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(rounds_lines),
};

const struct quiz_exercise quiz = {
	.program = &rounds,
	.choices = {
		/* a */ "4",
		/* b */ "102",
		/* c */ "202",
		/* d */ "1000001",
	},
	.answer = "?", /* a, b, c or d */
};
