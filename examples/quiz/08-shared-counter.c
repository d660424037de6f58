/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 5. Make this load: it counts its runs, and adds up its first argument, for all CPUs. */
#include "quiz.h"

/* The value: how many runs, and the sum. */
static const struct asm_map maps[] = {
	{ "total", BPF_MAP_TYPE_ARRAY, 4, 16, 1 },
};

static const struct asm_insn shared_counter_lines[] = {
	LDX(DW, R3, R1, 0), /* the first argument */
	LD_MAP_VALUE(R6, total, 0),
	MOV(R2, 1),
	ATOMIC_ADD(DW, R6, 0, R2),
	ATOMIC_ADD(DW, R1, 8, R3),
	MOV(R0, 0),
	EXIT(),
};

static const struct asm_program shared_counter = {
	.name = "shared_counter",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(shared_counter_lines),
};

const struct quiz_exercise quiz = {
	.program = &shared_counter,
	.maps = maps,
	.nmaps = sizeof(maps) / sizeof(*maps),
};
