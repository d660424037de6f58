/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 3. What is known of the eight bytes below R10 behind the second line? */
#include "quiz.h"

static const struct asm_insn bytes_of_a_slot_lines[] = {
	ST(W, R10, -8, 1),
	ST(H, R10, -2, 7),
	MOV(R0, 0),
	EXIT(),
};

static const struct asm_program bytes_of_a_slot = {
	.name = "bytes_of_a_slot",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(bytes_of_a_slot_lines),
};

const struct quiz_exercise quiz = {
	.program = &bytes_of_a_slot,
	.choices = {
		/* a */ "fp-8=mm??mmmm",
		/* b */ "fp-8=mmmmmm??",
		/* c */ "fp-8=??mmmmmm",
		/* d */ "fp-8=mmmm??mm",
	},
	.answer = "?", /* a, b, c or d */
};
