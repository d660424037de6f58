/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lesson 7. A program for tracepoints loads at an offset that few of them have.
 * What does the verifier say?
 */
#include "quiz.h"

static const struct asm_insn far_field_lines[] = {
	LDX(DW, R0, R1, 4096),
	MOV(R0, 0),
	EXIT(),
};

static const struct asm_program far_field = {
	.name = "far_field",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(far_field_lines),
};

const struct quiz_exercise quiz = {
	.program = &far_field,
	.choices = {
		/* a */ "it loads",
		/* b */ "R1 !read_ok",
		/* c */ "invalid bpf_context access off=4096",
		/* d */ "misaligned context access",
	},
	.answer = "?", /* a, b, c or d */
};
