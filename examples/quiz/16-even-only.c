/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lesson 10. Make this load: it delivers its first argument in a record if it is even.
 * If it is odd nothing is delivered.
 */
#include "quiz.h"

static const struct asm_map maps[] = {
	{ "events", BPF_MAP_TYPE_RINGBUF, 0, 0, 4096 },
};

static const struct asm_insn even_only_lines[] = {
	LDX(DW, R7, R1, 0), /* the first argument */
	RING_RESERVE(events, 8),
	JEQ(R0, 0, out),
	STX(DW, R0, 0, R7),
	JSET(R7, 1, out), /* odd */
	RING_SUBMIT(R0, 0),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};

static const struct asm_program even_only = {
	.name = "even_only",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(even_only_lines),
};

const struct quiz_exercise quiz = {
	.program = &even_only,
	.maps = maps,
	.nmaps = sizeof(maps) / sizeof(*maps),
};
