/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 4. Make this load: it returns what is stored under its first argument, 7 if nothing is. */
#include "quiz.h"

static const struct asm_map maps[] = {
	{ "stored", BPF_MAP_TYPE_HASH, 8, 8, 16 },
};

static const struct asm_insn no_such_key_lines[] = {
	LDX(DW, R2, R1, 0), /* the first argument */
	STX(DW, R10, -8, R2),
	MAP_LOOKUP(stored, -8),
	LDX(DW, R0, R0, 0),
	EXIT(),
};

static const struct asm_program no_such_key = {
	.name = "no_such_key",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(no_such_key_lines),
};

const struct quiz_exercise quiz = {
	.program = &no_such_key,
	.maps = maps,
	.nmaps = sizeof(maps) / sizeof(*maps),
};
