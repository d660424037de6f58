/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 19. There may be no room for the record. What does the verifier say? */
#include "quiz.h"

static const struct asm_map maps[] = {
	{ "events", BPF_MAP_TYPE_RINGBUF, 0, 0, 4096 },
};

static const struct asm_insn given_up_lines[] = {
	LD_MAP(R1, events),
	MOV(R2, 32),
	MOV(R3, 0),
	FRAME_PTR(R4, -16),
	CALL(ringbuf_reserve_dynptr),
	JNE(R0, 0, out), /* no room: nothing to give back */
	FRAME_PTR(R1, -16),
	MOV(R2, 0),
	CALL(ringbuf_discard_dynptr),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};

static const struct asm_program given_up = {
	.name = "given_up",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(given_up_lines),
};

const struct quiz_exercise quiz = {
	.program = &given_up,
	.maps = maps,
	.nmaps = sizeof(maps) / sizeof(*maps),
	.choices = {
		/* a */ "Expected an initialized dynptr",
		/* b */ "it loads",
		/* c */ "cannot overwrite referenced dynptr",
		/* d */ "Unreleased reference",
	},
	.answer = "?", /* a, b, c or d */
};
