/* SPDX-License-Identifier: BSD-2-Clause */
/* An address that a program was handed is a number until something copies what is there. */
#include "../lesson.h"

static const struct asm_insn follows_lines[] = {
	LD_TP(R6, R1, "syscalls", "sys_enter_execve", "filename"),
	LDX(B, R0, R6, 0), /* its first letter */
	EXIT(),
};
static const struct asm_program follows = {
	.name = "follows",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	ASM_LINES(follows_lines),
};

static const struct asm_insn any_length_lines[] = {
	LD_TP(R3, R1, "syscalls", "sys_enter_execve", "filename"),
	LD_TP(R2, R1, "syscalls", "sys_enter_execve", "argv"), /* as if it were a length */
	FRAME_PTR(R1, -64),
	CALL(probe_read_user),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program any_length = {
	.name = "any_length",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(any_length_lines),
};

static const struct asm_insn too_long_lines[] = {
	LD_TP(R3, R1, "syscalls", "sys_enter_execve", "filename"),
	FRAME_PTR(R1, -64),
	MOV(R2, 128),
	CALL(probe_read_user_str),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program too_long = {
	.name = "too_long",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(too_long_lines),
};

static const struct asm_insn not_gpl_lines[] = {
	LD_TP(R3, R1, "syscalls", "sys_enter_execve", "filename"),
	FRAME_PTR(R1, -64),
	MOV(R2, 64),
	CALL(probe_read_user_str),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program not_gpl = {
	.name = "not_gpl",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	.license = "BSD",
	ASM_LINES(not_gpl_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &follows, NULL, 0, "a load through the address" },
	{ &any_length, NULL, 0, "a copy of a length that nobody has bounded" },
	{ &too_long, NULL, 0, "128 bytes into 64" },
	{ &not_gpl, NULL, 0, "the right call, under another licence" },
	{ 0 },
};
