/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 2. What does the verifier say? */
#include "quiz.h"

static const struct asm_insn last_words_lines[] = {
	MOV(R6, 3),
	MOV(R2, 4),
	CALL(get_prandom_u32),
	MOV_REG(R7, R6),
	ADD_REG(R7, R2),
	MOV_REG(R0, R7),
	EXIT(),
};

static const struct asm_program last_words = {
	.name = "last_words",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(last_words_lines),
};

const struct quiz_exercise quiz = {
	.program = &last_words,
	.choices = {
		/* a */ "R6 !read_ok",
		/* b */ "it loads",
		/* c */ "R0 !read_ok",
		/* d */ "R2 !read_ok",
	},
	.answer = "?", /* a, b, c or d */
};
