/* SPDX-License-Identifier: BSD-2-Clause */
/* Three programs that are too short, or too long. */
#include "../lesson.h"

static const struct asm_insn falls_off_lines[] = {
	MOV(R0, 42),
};
static const struct asm_program falls_off = {
	.name = "falls_off",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(falls_off_lines),
};

static const struct asm_insn no_result_lines[] = {
	EXIT(),
};
static const struct asm_program no_result = {
	.name = "no_result",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(no_result_lines),
};

static const struct asm_insn dead_end_lines[] = {
	MOV(R0, 42),
	EXIT(),
	MOV(R0, 43),
	EXIT(),
};
static const struct asm_program dead_end = {
	.name = "dead_end",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(dead_end_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &falls_off, NULL, 0, "nothing says where it ends" },
	{ &no_result, NULL, 0, "it ends without a result" },
	{ &dead_end, NULL, 0, "it goes on after the end" },
	{ 0 },
};
