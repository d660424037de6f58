/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 21. What is the parent of a trusted task to the verifier? */
#include "quiz.h"

static const struct asm_insn trust_lines[] = {
	LDX(DW, R6, R1, 8), /* the task that leaves the CPU: trusted */
	LD_FIELD(R7, R6, "task_struct", "real_parent"),
	MOV(R0, 0),
	EXIT(),
};

static const struct asm_program trust = {
	.name = "trust",
	.type = BPF_PROG_TYPE_TRACING,
	.attach_type = BPF_TRACE_RAW_TP,
	.target = "sched_switch",
	.license = "GPL",
	ASM_LINES(trust_lines),
};

const struct quiz_exercise quiz = {
	.program = &trust,
	.choices = {
		/* a */ "R7=trusted_ptr_task_struct",
		/* b */ "R7=ptr_task_struct",
		/* c */ "R7=rcu_ptr_task_struct",
		/* d */ "R7=scalar",
	},
	.answer = "?", /* a, b, c or d */
};
