/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 13. What does the log quote as the source of the call? */
#include "quiz.h"

static const struct asm_map maps[] = {
	{ "calls", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
};

static const struct asm_insn quoted_line_lines[] = {
	ST(W, R10, -4, 0),
	MAP_LOOKUP(calls, -4),
	MOV(R0, 0),
	EXIT(),
};

static const struct asm_program quoted_line = {
	.name = "quoted_line",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(quoted_line_lines),
};

const struct quiz_exercise quiz = {
	.program = &quoted_line,
	.maps = maps,
	.nmaps = sizeof(maps) / sizeof(*maps),
	.choices = {
		/* a */ "; bpf_map_lookup_elem(",
		/* b */ "; CALL(map_lookup_elem) @",
		/* c */ "; MAP_LOOKUP(calls, -4): CALL(map_lookup_elem) @",
		/* d */ "; poem.txt",
	},
	.answer = "?", /* a, b, c or d */
};
