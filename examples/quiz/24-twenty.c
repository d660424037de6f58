/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lesson 16. Make this load: it puts the lowest 20 bits of its first argument in the opposite
 * order. It returns that number plus the byte that its lowest six bits name.
 */
#include "quiz.h"

static const struct asm_map maps[] = {
	{ "places", BPF_MAP_TYPE_ARRAY, 4, 64, 1 },
};

/* If the bit is set in R1, its counterpart from the other end is added to R0. */
#define ASK(bit)                                                                            \
	SCOPE("ASK(" #bit ")"), MOV_REG(R2, R1), RSH(R2, bit), AND(R2, 1), JEQ(R2, 0, .no), \
		ADD(R0, 0x80000 >> bit), LABEL(.no), END
#define TEN ASK(0), ASK(1), ASK(2), ASK(3), ASK(4), ASK(5), ASK(6), ASK(7), ASK(8), ASK(9)
#define TEN_MORE \
	ASK(10), ASK(11), ASK(12), ASK(13), ASK(14), ASK(15), ASK(16), ASK(17), ASK(18), ASK(19)

static const struct asm_insn twenty_lines[] = {
	LDX(DW, R1, R1, 0), /* the first argument */
	MOV(R0, 0),
	TEN,
	TEN_MORE,
	MOV_REG(R3, R0),
	AND(R3, 63),
	LD_MAP_VALUE(R2, places, 0),
	ADD_REG(R2, R3),
	LDX(B, R2, R2, 0),
	ADD_REG(R0, R2),
	EXIT(),
};

static const struct asm_program twenty = {
	.name = "twenty",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(twenty_lines),
};

const struct quiz_exercise quiz = {
	.program = &twenty,
	.maps = maps,
	.nmaps = sizeof(maps) / sizeof(*maps),
};
