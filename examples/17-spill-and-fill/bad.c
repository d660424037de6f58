/* SPDX-License-Identifier: BSD-2-Clause */
/* What was on the stack is there no more, or not all of it. */
#include "../lesson.h"

static const struct asm_map maps[] = {
	{ "places", BPF_MAP_TYPE_ARRAY, 4, 64, 1 },
};

/* One byte of the eight is stored to. What comes back is no pointer. */
static const struct asm_insn one_byte_lines[] = {
	LD_MAP_VALUE(R1, places, 0),
	STX(DW, R10, -8, R1),
	ST(B, R10, -3, 0),
	LDX(DW, R2, R10, -8),
	LDX(B, R0, R2, 0),
	EXIT(),
};
static const struct asm_program one_byte = {
	.name = "one_byte",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(one_byte_lines),
};

/* Half a pointer. */
static const struct asm_insn half_stored_lines[] = {
	LD_MAP_VALUE(R1, places, 0),
	STX(W, R10, -8, R1),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program half_stored = {
	.name = "half_stored",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(half_stored_lines),
};

/* A pointer, and half of it back. */
static const struct asm_insn half_loaded_lines[] = {
	LD_MAP_VALUE(R1, places, 0),
	STX(DW, R10, -8, R1),
	LDX(W, R2, R10, -8),
	LDX(B, R0, R2, 0),
	EXIT(),
};
static const struct asm_program half_loaded = {
	.name = "half_loaded",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(half_loaded_lines),
};

/* A map is not the stack: nobody remembers what lies in it. */
static const struct asm_insn through_map_lines[] = {
	LD_MAP_VALUE(R1, places, 0),
	STX(DW, R1, 0, R1), /* its own address, into the map */
	LDX(DW, R2, R1, 0),
	LDX(B, R0, R2, 0),
	EXIT(),
};
static const struct asm_program through_map = {
	.name = "through_map",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(through_map_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &one_byte, maps, 1, "a byte is stored into a spilled pointer" },
	{ &half_stored, maps, 1, "half a pointer is spilled" },
	{ &half_loaded, maps, 1, "half a pointer is filled" },
	{ &through_map, maps, 1, "a pointer goes through a map" },
	{ 0 },
};
