/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 15. What is known of the bits of R0 at the end? */
#include "quiz.h"

static const struct asm_insn bits_lines[] = {
	CALL(get_prandom_u32),
	AND(R0, 0x1c),
	LSH(R0, 1),
	OR(R0, 1),
	EXIT(),
};

static const struct asm_program bits = {
	.name = "bits",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(bits_lines),
};

const struct quiz_exercise quiz = {
	.program = &bits,
	.choices = {
		/* a */ "var_off=(0x1; 0x1c)",
		/* b */ "var_off=(0x1; 0x38)",
		/* c */ "var_off=(0x0; 0x39)",
		/* d */ "var_off=(0x38; 0x1)",
	},
	.answer = "?", /* a, b, c or d */
};
