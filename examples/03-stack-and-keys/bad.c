/* SPDX-License-Identifier: BSD-2-Clause */
/* Outside the 512 bytes, across their grain, and beyond their end. */
#include "../lesson.h"

static const struct asm_map counts = { "counts", BPF_MAP_TYPE_HASH, 8, 8, 16 };

/* The C compiler refuses these two when they are written as ST(DW, R10, -520, 0). */
static const struct asm_insn too_deep_lines[] = {
	INSN(BPF_ST | BPF_MEM | BPF_DW, R10, 0, -520, 0),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program too_deep = {
	.name = "too_deep",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(too_deep_lines),
};

static const struct asm_insn across_lines[] = {
	INSN(BPF_ST | BPF_MEM | BPF_DW, R10, 0, -12, 0),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program across = {
	.name = "across",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(across_lines),
};

/* The map's keys have 8 bytes, and only 4 lie between R10-4 and the end. */
static const struct asm_insn half_a_key_lines[] = {
	ST(W, R10, -4, 0),
	MAP_LOOKUP(counts, -4),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program half_a_key = {
	.name = "half_a_key",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(half_a_key_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &too_deep, NULL, 0, "520 bytes below R10" },
	{ &across, NULL, 0, "8 bytes at an offset of 4" },
	{ &half_a_key, &counts, 1, "a key that ends beyond the stack" },
	{ 0 },
};
