/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 5. What does this return? */
#include "quiz.h"

static const struct asm_map maps[] = {
	{ "cell", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
};

static const struct asm_insn fetch_lines[] = {
	LD_MAP_VALUE(R6, cell, 0),
	ST(DW, R6, 0, 5),
	MOV(R0, 3),
	ATOMIC_FETCH_ADD(DW, R6, 0, R0),
	LDX(DW, R1, R6, 0),
	ADD_REG(R0, R1),
	EXIT(),
};

static const struct asm_program fetch = {
	.name = "fetch",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	.license = "GPL",
	ASM_LINES(fetch_lines),
};

const struct quiz_exercise quiz = {
	.program = &fetch,
	.maps = maps,
	.nmaps = sizeof(maps) / sizeof(*maps),
	.choices = {
		/* a */ "8",
		/* b */ "11",
		/* c */ "13",
		/* d */ "16",
	},
	.answer = "?", /* a, b, c or d */
};
