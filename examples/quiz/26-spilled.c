/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 17. Make this load: it returns the number in the map plus the caller's process id. */
#include "quiz.h"

static const struct asm_map maps[] = {
	{ "number", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
};

static const struct asm_insn spilled_lines[] = {
	LD_MAP_VALUE(R1, number, 0),
	STX(DW, R10, -8, R1),
	CALL(get_current_pid_tgid),
	RSH(R0, 32),
	STX(W, R10, -4, R0), /* the process id */
	CALL(ktime_get_ns),
	LDX(DW, R1, R10, -8),
	LDX(DW, R1, R1, 0),
	LDX(W, R0, R10, -4),
	ADD_REG(R0, R1),
	EXIT(),
};

static const struct asm_program spilled = {
	.name = "spilled",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(spilled_lines),
};

const struct quiz_exercise quiz = {
	.program = &spilled,
	.maps = maps,
	.nmaps = sizeof(maps) / sizeof(*maps),
};
