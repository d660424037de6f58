/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lesson 8. Make this load: its first argument is an address in the memory of the process.
 * It returns the four bytes there, 0 if nothing can be read.
 */
#include "quiz.h"

static const struct asm_insn user_memory_lines[] = {
	LDX(DW, R6, R1, 0), /* the address */
	LDX(W, R0, R6, 0),
	EXIT(),
};

static const struct asm_program user_memory = {
	.name = "user_memory",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(user_memory_lines),
};

const struct quiz_exercise quiz = {
	.program = &user_memory,
};
