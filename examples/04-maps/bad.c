/* SPDX-License-Identifier: BSD-2-Clause */
/* A look-up gives an address, or none. */
#include "../lesson.h"

static const struct asm_map calls = { "calls", BPF_MAP_TYPE_ARRAY, 4, 8, 512 };

/* The key is data: the verifier cannot know whether there is such an element. */
#define LOOK_UP \
	LD_TP(R6, R1, "raw_syscalls", "sys_enter", "id"), STX(W, R10, -4, R6), MAP_LOOKUP(calls, -4)

static const struct asm_insn unchecked_lines[] = {
	LOOK_UP,
	LDX(DW, R0, R0, 0),
	EXIT(),
};
static const struct asm_program unchecked = {
	.name = "unchecked",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	ASM_LINES(unchecked_lines),
};

static const struct asm_insn next_value_lines[] = {
	LOOK_UP,
	JEQ(R0, 0, out),
	LDX(DW, R0, R0, 8), /* the value behind this one */
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program next_value = {
	.name = "next_value",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	ASM_LINES(next_value_lines),
};

/* A map's descriptor is a small number in this process, and means nothing to the kernel's side. */
static const struct asm_insn plain_descriptor_lines[] = {
	ST(W, R10, -4, 0),
	MOV(R1, 4),
	FRAME_PTR(R2, -4),
	CALL(map_lookup_elem),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program plain_descriptor = {
	.name = "plain_descriptor",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	ASM_LINES(plain_descriptor_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &unchecked, &calls, 1, "the result of a look-up, used as it comes" },
	{ &next_value, &calls, 1, "the next value of the array lies 8 bytes on, does it not?" },
	{ &plain_descriptor, &calls, 1, "the descriptor, where a map belongs" },
	{ 0 },
};
