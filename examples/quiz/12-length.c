/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lesson 7. Make this load: it returns the length of the packet,
 * which is the first member of the context.
 */
#include "quiz.h"

static const struct asm_insn length_lines[] = {
	LDX(DW, R0, R1, 0), /* struct __sk_buff begins with __u32 len */
	EXIT(),
};

static const struct asm_program length = {
	.name = "length",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	.license = "GPL",
	ASM_LINES(length_lines),
};

const struct quiz_exercise quiz = {
	.program = &length,
};
