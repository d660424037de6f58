/* SPDX-License-Identifier: BSD-2-Clause */
/* A pointer that leads to a task, handed to whom that is not enough. */
#include "../lesson.h"

static const struct asm_map seen = { "seen", BPF_MAP_TYPE_ARRAY, 4, 32, 1 };

/* A task to read from; it may have ended long ago. */
static const struct asm_insn woken_lines[] = {
	LDX(DW, R6, R1, 8),
	LD_FIELD(R1, R6, "task_struct", "last_wakee"),
	CALL_KFUNC(bpf_task_acquire),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program woken = {
	.name = "woken",
	.type = BPF_PROG_TYPE_TRACING,
	.attach_type = BPF_TRACE_RAW_TP,
	.target = "sched_switch",
	.license = "GPL",
	ASM_LINES(woken_lines),
};

/* Credentials are no task. */
static const struct asm_insn other_type_lines[] = {
	LDX(DW, R6, R1, 8),
	LD_FIELD(R1, R6, "task_struct", "real_cred"),
	CALL(task_pt_regs),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program other_type = {
	.name = "other_type",
	.type = BPF_PROG_TYPE_TRACING,
	.attach_type = BPF_TRACE_RAW_TP,
	.target = "sched_switch",
	.license = "GPL",
	ASM_LINES(other_type_lines),
};

/* Eight bytes into a task. */
static const struct asm_insn moved_lines[] = {
	LDX(DW, R1, R1, 8),
	ADD(R1, 8),
	CALL_KFUNC(bpf_task_acquire),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program moved = {
	.name = "moved",
	.type = BPF_PROG_TYPE_TRACING,
	.attach_type = BPF_TRACE_RAW_TP,
	.target = "sched_switch",
	.license = "GPL",
	ASM_LINES(moved_lines),
};

/* The same address, as a number. */
static const struct asm_insn from_number_lines[] = {
	CALL(get_current_task),
	MOV_REG(R1, R0),
	CALL_KFUNC(bpf_task_acquire),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program from_number = {
	.name = "from_number",
	.type = BPF_PROG_TYPE_TRACING,
	.attach_type = BPF_TRACE_RAW_TP,
	.target = "sched_switch",
	.license = "GPL",
	ASM_LINES(from_number_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &woken, &seen, 1, "whom a task woke last" },
	{ &other_type, &seen, 1, "its credentials" },
	{ &moved, &seen, 1, "an address within a task" },
	{ &from_number, &seen, 1, "a number that is a task" },
	{ 0 },
};
