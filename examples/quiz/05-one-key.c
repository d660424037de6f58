/* SPDX-License-Identifier: BSD-2-Clause */
/* Lesson 3. This loads, and is wrong: five runs for one pid and CPU shall make one key. */
#include "quiz.h"

static const struct asm_map maps[] = {
	{ "counts", BPF_MAP_TYPE_HASH, 8, 8, 16 },
};

/* sizeof says 8: two bytes behind cpu belong to no member, and to the map's key. */
struct key {
	uint32_t pid;
	uint16_t cpu;
};
struct frame {
	uint64_t one;
	struct key key;
};
enum {
	ONE = FRAME(struct frame, one),
	KEY = FRAME(struct frame, key),
	KEY_PID = FRAME(struct frame, key.pid),
	KEY_CPU = FRAME(struct frame, key.cpu)
};

static const struct asm_insn one_key_lines[] = {
	MOV_REG(R6, R1),
	CALL_FUNC(litter),
	MOV_REG(R1, R6),
	CALL_FUNC(count),
	EXIT(),

	FUNC(count),
	LDX(DW, R2, R1, 0), /* the first argument: its lower half is the pid */
	LDX(DW, R3, R1, 8), /* the second: the CPU */
	ST(DW, R10, ONE, 1),
	STX(DW, R10, KEY_PID, R2),
	STX(H, R10, KEY_CPU, R3),
	MAP_ADD(counts, KEY, ONE),
	MOV(R0, 0),
	EXIT(),

	FUNC(litter), /* leave this one: other functions use the stack too */
	CALL(get_prandom_u32),
	LSH(R0, 32),
	STX(DW, R10, KEY, R0),
	MOV(R0, 0),
	EXIT(),
};

static const struct asm_program one_key = {
	.name = "one_key",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(one_key_lines),
};

const struct quiz_exercise quiz = {
	.program = &one_key,
	.maps = maps,
	.nmaps = sizeof(maps) / sizeof(*maps),
};
