/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 11. What does the verifier say? */
#include "quiz.h"

static const struct asm_insn callback_lines[] = {
	MOV(R1, 10),
	LD_FUNC(R2, round),
	MOV(R3, 0),
	MOV(R4, 0),
	CALL(loop),
	EXIT(),

	FUNC(round), /* R1: the number of the round */
	MOV_REG(R0, R1),
	EXIT(),
};

static const struct asm_program callback = {
	.name = "callback",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(callback_lines),
};

const struct quiz_exercise quiz = {
	.program = &callback,
	.choices = {
		/* a */ "At callback return the register R0",
		/* b */ "infinite loop detected",
		/* c */ "R1 !read_ok",
		/* d */ "it loads",
	},
	.answer = "?", /* a, b, c or d */
};
