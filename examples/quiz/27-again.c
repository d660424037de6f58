/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 18. The program is number 0 of the array. What does it return? */
#include "quiz.h"

static const struct asm_map maps[] = {
	{ "next", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1 },
	{ "runs", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
};

static const struct asm_insn again_lines[] = {
	LD_MAP_VALUE(R6, runs, 0),
	MOV(R2, 2),
	ATOMIC_ADD(DW, R6, 0, R2),
	LD_MAP(R2, next),
	MOV(R3, 0),
	CALL(tail_call),
	LDX(DW, R0, R6, 0),
	EXIT(),
};

static const struct asm_program again = {
	.name = "again",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	.license = "GPL",
	ASM_LINES(again_lines),
};

const struct quiz_exercise quiz = {
	.program = &again,
	.maps = maps,
	.nmaps = sizeof(maps) / sizeof(*maps),
	.choices = {
		/* a */ "2",
		/* b */ "33",
		/* c */ "66",
		/* d */ "68",
	},
	.answer = "?", /* a, b, c or d */
};
