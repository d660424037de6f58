/* SPDX-License-Identifier: BSD-2-Clause */
/* Atomic operations that the machine does not have, or not there. */
#include "../lesson.h"

static const struct asm_map plain = { "plain", BPF_MAP_TYPE_ARRAY, 4, 8, 1 };

/* ATOMIC_ADD takes W and DW only; the C compiler says so. */
static const struct asm_insn one_byte_lines[] = {
	LD_MAP_VALUE(R1, plain, 0),
	MOV(R2, 1),
	INSN(BPF_STX | BPF_ATOMIC | BPF_B, R1, R2, 0, BPF_ADD),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program one_byte = {
	.name = "one_byte",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(one_byte_lines),
};

static const struct asm_insn in_the_context_lines[] = {
	MOV(R2, 1),
	ATOMIC_ADD(W, R1, 0, R2),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program in_the_context = {
	.name = "in_the_context",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(in_the_context_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &one_byte, &plain, 1, "a counter of one byte" },
	{ &in_the_context, NULL, 0, "a counter in what the program was given" },
	{ 0 },
};
