/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 12. Make this load: it returns the process id of the caller's parent. */
#include "quiz.h"

static const struct asm_insn parent_lines[] = {
	CALL(get_current_task),
	LD_FIELD(R0, R0, "task_struct", "real_parent.tgid"),
	EXIT(),
};

static const struct asm_program parent = {
	.name = "parent",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(parent_lines),
};

const struct quiz_exercise quiz = {
	.program = &parent,
};
