/* SPDX-License-Identifier: BSD-2-Clause */
/* What may not be left behind, and what may not be handed over to. */
#include "../lesson.h"

static const struct asm_map maps[] = {
	{ "next", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 4 },
	{ "runs", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
	{ "events", BPF_MAP_TYPE_RINGBUF, 0, 0, 4096 },
};

/* The array of programs is a kind of map of its own. */
static const struct asm_insn other_map_lines[] = {
	LD_MAP(R2, runs),
	MOV(R3, 0),
	CALL(tail_call),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program other_map = {
	.name = "other_map",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(other_map_lines),
};

/* A record is held. */
static const struct asm_insn still_held_lines[] = {
	MOV_REG(R6, R1),
	RING_RESERVE(events, 16),
	JEQ(R0, 0, out),
	MOV_REG(R7, R0),
	MOV_REG(R1, R6),
	LD_MAP(R2, next),
	MOV(R3, 1),
	CALL(tail_call), /* who would submit the record? */
	RING_DISCARD(R7),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program still_held = {
	.name = "still_held",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(still_held_lines),
};

/* From within a function: the frames of its callers stay, for each of the 33 times. */
static const struct asm_insn deep_frame_lines[] = {
	ST(DW, R10, -264, 0),
	CALL_FUNC(hands_over),
	EXIT(),

	FUNC(hands_over),
	LD_MAP(R2, next),
	MOV(R3, 1),
	CALL(tail_call),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program deep_frame = {
	.name = "deep_frame",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(deep_frame_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &other_map, maps, 3, "hands over into an array of numbers" },
	{ &still_held, maps, 3, "hands over while it holds a record" },
	{ &deep_frame, maps, 3, "hands over from a function, with 264 bytes below it" },
	{ 0 },
};
