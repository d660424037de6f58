/* SPDX-License-Identifier: BSD-2-Clause */
/* Too many ways, all of them different. */
#include "../lesson.h"

static const struct asm_map maps[] = {
	{ "number", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
	{ "places", BPF_MAP_TYPE_ARRAY, 4, 4096, 1 },
};

/* A question: if the bit is set in R1, add it to R0. */
#define ASK(bit) SCOPE("ASK(" #bit ")"), MOV_REG(R2, R1), AND(R2, bit), \
		 JEQ(R2, 0, .no), ADD(R0, bit), LABEL(.no), END
#define TEN_QUESTIONS \
	ASK(1), ASK(2), ASK(4), ASK(8), ASK(16), ASK(32), ASK(64), ASK(128), ASK(256), ASK(512)
#define BEGIN LD_MAP_VALUE(R1, number, 0), LDX(DW, R1, R1, 0), MOV(R0, 0)

/* Twenty questions, a mask, an index. */
static const struct asm_insn twenty_lines[] = {
	BEGIN,
	TEN_QUESTIONS,
	ASK(1024),
	ASK(2048),
	ASK(4096),
	ASK(8192),
	ASK(1 << 14),
	ASK(1 << 15),
	ASK(1 << 16),
	ASK(1 << 17),
	ASK(1 << 18),
	ASK(1 << 19),
	AND(R0, 1023),
	LD_MAP_VALUE(R2, places, 0),
	ADD_REG(R2, R0),
	LDX(B, R0, R2, 0),
	EXIT(),
};
static const struct asm_program twenty = {
	.name = "twenty",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(twenty_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &twenty, maps, 2, "twenty questions, and the sum as an index" },
	{ 0 },
};
