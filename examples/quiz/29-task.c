/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 20. A task is acquired, and given back. What does the verifier say? */
#include "quiz.h"

static const struct asm_insn task_lines[] = {
	MOV(R1, 1),
	CALL_KFUNC(bpf_task_from_pid),
	MOV_REG(R1, R0),
	CALL_KFUNC(bpf_task_release),
	MOV(R0, 0),
	EXIT(),
};

static const struct asm_program task = {
	.name = "task",
	.type = BPF_PROG_TYPE_SYSCALL,
	.flags = BPF_F_SLEEPABLE,
	.license = "GPL",
	ASM_LINES(task_lines),
};

const struct quiz_exercise quiz = {
	.program = &task,
	.choices = {
		/* a */ "Unreleased reference",
		/* b */ "Possibly NULL pointer passed",
		/* c */ "is not allowed",
		/* d */ "it loads",
	},
	.answer = "?", /* a, b, c or d */
};
