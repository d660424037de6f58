/* SPDX-License-Identifier: BSD-2-Clause */
/* Loops that end, as you and I can see, and the verifier cannot; and an index without bounds. */
#include "../lesson.h"

static const struct asm_map maps[] = {
	{ "number", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
	{ "slices", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8 + 64 * 8, 1 },
};

/* It waits for another CPU to write 0. R1 is read once, so no round differs from the one before. */
static const struct asm_insn waits_lines[] = {
	LD_MAP_VALUE(R2, number, 0),
	LDX(DW, R1, R2, 0),
	LABEL(again),
	JEQ(R1, 0, out),
	JA(again),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program waits = {
	.name = "waits",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(waits_lines),
};

/* As many rounds as the number says: up to 2^64. */
static const struct asm_insn counts_down_lines[] = {
	LD_MAP_VALUE(R2, number, 0),
	LDX(DW, R1, R2, 0),
	MOV(R0, 0),
	LABEL(next),
	ADD(R0, 1),
	JLT_REG(R0, R1, next),
	EXIT(),
};
static const struct asm_program counts_down = {
	.name = "counts_down",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(counts_down_lines),
};

static const struct asm_insn any_index_lines[] = {
	LD_MAP_VALUE(R2, number, 0),
	LDX(DW, R6, R2, 0),
	ST(W, R10, -4, 0),
	MAP_LOOKUP(slices, -4),
	LSH(R6, 3),
	ADD_REG(R0, R6),
	LDX(DW, R1, R0, 8),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program any_index = {
	.name = "any_index",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(any_index_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &waits, maps, 2, "a loop that waits" },
	{ &counts_down, maps, 2, "a loop of as many rounds as a number says" },
	{ &any_index, maps, 2, "an array indexed by a number" },
	{ 0 },
};
