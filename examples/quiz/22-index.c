/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lesson 15. Make this load: it returns the byte whose number is its first argument.
 * It returns 0 if there is no such byte: there are 64.
 */
#include "quiz.h"

static const struct asm_map maps[] = {
	{ "places", BPF_MAP_TYPE_ARRAY, 4, 64, 1 },
};

static const struct asm_insn by_index_lines[] = {
	LDX(DW, R1, R1, 0), /* the first argument */
	LD_MAP_VALUE(R2, places, 0),
	MOV(R0, 0),
	JSGT(R1, 63, out),
	ADD_REG(R2, R1),
	LDX(B, R0, R2, 0),
	LABEL(out),
	EXIT(),
};

static const struct asm_program by_index = {
	.name = "by_index",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(by_index_lines),
};

const struct quiz_exercise quiz = {
	.program = &by_index,
	.maps = maps,
	.nmaps = sizeof(maps) / sizeof(*maps),
};
