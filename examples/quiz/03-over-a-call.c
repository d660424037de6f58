/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 2. Make this load: it returns its first argument plus the caller's process id. */
#include "quiz.h"

static const struct asm_insn over_a_call_lines[] = {
	CALL(get_current_pid_tgid),
	RSH(R0, 32),	    /* the process id */
	LDX(DW, R2, R1, 0), /* the first argument */
	ADD_REG(R0, R2),
	EXIT(),
};

static const struct asm_program over_a_call = {
	.name = "over_a_call",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(over_a_call_lines),
};

const struct quiz_exercise quiz = {
	.program = &over_a_call,
};
