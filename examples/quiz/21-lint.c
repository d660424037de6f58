/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lesson 14. The fault C11 of the tutorial: a key of 16 bytes of which 12 are written.
 * What does the lint say (`rawprof explain --lint`)?
 */
#include "quiz.h"

static const struct asm_map maps[] = {
	{ "samples", BPF_MAP_TYPE_HASH, 16, 8, 64 },
};

static const struct asm_insn lint_lines[] = {
	ST(DW, R10, -16, 1),
	ST(W, R10, -8, 2),
	MAP_LOOKUP(samples, -16),
	MOV(R0, 0),
	EXIT(),
};

static const struct asm_program lint = {
	.name = "lint",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(lint_lines),
};

const struct quiz_exercise quiz = {
	.program = &lint,
	.maps = maps,
	.nmaps = sizeof(maps) / sizeof(*maps),
	.choices = {
		/* a */ "nothing",
		/* b */ "bytes 4-7 of the key",
		/* c */ "bytes 8-11 of the key",
		/* d */ "bytes 12-15 of the key",
	},
	.answer = "?", /* a, b, c or d */
};
