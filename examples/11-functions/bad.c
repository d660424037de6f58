/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions have registers and a frame of their own; the 512 bytes they share. */
#include "../lesson.h"

static const struct asm_insn callers_register_lines[] = {
	MOV(R6, 42),
	CALL_FUNC(callee),
	EXIT(),

	FUNC(callee),
	MOV_REG(R0, R6),
	EXIT(),
};
static const struct asm_program callers_register = {
	.name = "callers_r6",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(callers_register_lines),
};

static const struct asm_insn two_frames_lines[] = {
	ST(DW, R10, -384, 0),
	CALL_FUNC(callee),
	EXIT(),

	FUNC(callee),
	ST(DW, R10, -384, 0),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program two_frames = {
	.name = "two_frames",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(two_frames_lines),
};

static const struct asm_insn itself_lines[] = {
	CALL_FUNC(again),
	EXIT(),

	FUNC(again),
	CALL_FUNC(again),
	EXIT(),
};
static const struct asm_program itself = {
	.name = "itself",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(itself_lines),
};

/* A callback of bpf_loop says 0 for "go on" and 1 for "stop". */
static const struct asm_insn says_2_lines[] = {
	MOV(R1, 1000),
	LD_FUNC(R2, step),
	MOV(R3, 0),
	MOV(R4, 0),
	CALL(loop),
	MOV(R0, 0),
	EXIT(),

	FUNC(step),
	MOV(R0, 2),
	EXIT(),
};
static const struct asm_program says_2 = {
	.name = "says_2",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(says_2_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &callers_register, NULL, 0, "a function reads what its caller has in R6" },
	{ &two_frames, NULL, 0, "two frames of 384 bytes" },
	{ &itself, NULL, 0, "a function calls itself" },
	{ &says_2, NULL, 0, "a callback answers 2" },
	{ 0 },
};
