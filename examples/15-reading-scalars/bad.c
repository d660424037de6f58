/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of which something is known, and not enough. */
#include "../lesson.h"

static const struct asm_map maps[] = {
	{ "number", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
	{ "places", BPF_MAP_TYPE_ARRAY, 4, 64, 1 },
};

#define BEGIN LD_MAP_VALUE(R1, number, 0), LDX(DW, R1, R1, 0), LD_MAP_VALUE(R2, places, 0)

/* As a signed number it is at most 63. And at least? */
static const struct asm_insn signed_bound_lines[] = {
	BEGIN,
	MOV(R0, 0),
	JSGT(R1, 63, out),
	ADD_REG(R2, R1),
	LDX(B, R0, R2, 0),
	LABEL(out),
	EXIT(),
};
static const struct asm_program signed_bound = {
	.name = "signed_bound",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(signed_bound_lines),
};

/* Of the lower half it is known. The address has both. */
static const struct asm_insn half_known_lines[] = {
	BEGIN,
	MOV(R0, 0),
	JGT32(R1, 63, out),
	ADD_REG(R2, R1),
	LDX(B, R0, R2, 0),
	LABEL(out),
	EXIT(),
};
static const struct asm_program half_known = {
	.name = "half_known",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(half_known_lines),
};

/* Three bits are known to be 0: the lowest. */
static const struct asm_insn lowest_known_lines[] = {
	BEGIN,
	AND(R1, -8),
	ADD_REG(R2, R1),
	LDX(B, R0, R2, 0),
	EXIT(),
};
static const struct asm_program lowest_known = {
	.name = "lowest_known",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(lowest_known_lines),
};

/* 0 to 63, and eight bytes from there on. */
static const struct asm_insn too_wide_lines[] = {
	BEGIN,
	AND(R1, 63),
	ADD_REG(R2, R1),
	LDX(DW, R0, R2, 0),
	EXIT(),
};
static const struct asm_program too_wide = {
	.name = "wide_load",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(too_wide_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &signed_bound, maps, 2, "an index that is at most 63, as a signed number" },
	{ &half_known, maps, 2, "an index of which the lower half is known" },
	{ &lowest_known, maps, 2, "an index that is a multiple of 8" },
	{ &too_wide, maps, 2, "an index that is at most 63, and eight bytes" },
	{ 0 },
};
