/* SPDX-License-Identifier: BSD-2-Clause */
/* What a kernel function asks of its arguments, and of whoever calls it. */
#include "../lesson.h"

static const struct asm_map seen = { "seen", BPF_MAP_TYPE_ARRAY, 4, 32, 1 };

/* The task is never given back. */
static const struct asm_insn kept_lines[] = {
	LD_MAP_VALUE(R9, seen, 0),
	LDX(W, R1, R9, 0), /* a pid, from user space */
	CALL_KFUNC(bpf_task_from_pid),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program kept = {
	.name = "kept",
	.type = BPF_PROG_TYPE_SYSCALL,
	.flags = BPF_F_SLEEPABLE,
	.license = "GPL",
	ASM_LINES(kept_lines),
};

static const struct asm_insn not_asked_lines[] = {
	LD_MAP_VALUE(R9, seen, 0),
	LDX(W, R1, R9, 0), /* a pid, from user space */
	CALL_KFUNC(bpf_task_from_pid),
	MOV_REG(R1, R0), /* there may be no such process */
	CALL_KFUNC(bpf_task_release),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program not_asked = {
	.name = "not_asked",
	.type = BPF_PROG_TYPE_SYSCALL,
	.flags = BPF_F_SLEEPABLE,
	.license = "GPL",
	ASM_LINES(not_asked_lines),
};

/* It wants a task, and gets a number. */
static const struct asm_insn a_number_lines[] = {
	LD_MAP_VALUE(R9, seen, 0),
	LDX(W, R1, R9, 0), /* a pid, from user space */
	CALL_KFUNC(bpf_task_release),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program a_number = {
	.name = "a_number",
	.type = BPF_PROG_TYPE_SYSCALL,
	.flags = BPF_F_SLEEPABLE,
	.license = "GPL",
	ASM_LINES(a_number_lines),
};

/* A function of the kernel like any other: it was not made for this. */
static const struct asm_insn no_kfunc_lines[] = {
	CALL_KFUNC(find_task_by_vpid),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program no_kfunc = {
	.name = "no_kfunc",
	.type = BPF_PROG_TYPE_SYSCALL,
	.flags = BPF_F_SLEEPABLE,
	.license = "GPL",
	ASM_LINES(no_kfunc_lines),
};

/* This one the kernel never gets to see. */
static const struct asm_insn misspelt_lines[] = {
	CALL_KFUNC(bpf_task_from_pit),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program misspelt = {
	.name = "misspelt",
	.type = BPF_PROG_TYPE_SYSCALL,
	.flags = BPF_F_SLEEPABLE,
	.license = "GPL",
	ASM_LINES(misspelt_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &kept, &seen, 1, "a task is acquired and kept" },
	{ &not_asked, &seen, 1, "a task that may be none is given back" },
	{ &a_number, &seen, 1, "a number, where a task belongs" },
	{ &no_kfunc, &seen, 1, "a function that is not for programs" },
	{ &misspelt, &seen, 1, "a function that no kernel has" },
	{ 0 },
};
