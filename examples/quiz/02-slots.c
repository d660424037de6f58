/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 1. How many bytes has this program? */
#include "quiz.h"

static const struct asm_insn slots_lines[] = {
	LD_IMM64(R0, 0x123456789abcdef0),
	EXIT(),
};

static const struct asm_program slots = {
	.name = "slots",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(slots_lines),
};

const struct quiz_exercise quiz = {
	.program = &slots,
	.choices = {
		/* a */ "8",
		/* b */ "16",
		/* c */ "24",
		/* d */ "32",
	},
	.answer = "?", /* a, b, c or d */
};
