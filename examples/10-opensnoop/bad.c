/* SPDX-License-Identifier: BSD-2-Clause */
/* What is reserved in a ring buffer is borrowed: it has to be checked, and given back once. */
#include "../lesson.h"

static const struct asm_map ring[] = {
	{ "started", BPF_MAP_TYPE_LRU_HASH, 8, 8, 4096 },
	{ "events", BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 18 },
};

static const struct asm_insn kept_lines[] = {
	RING_RESERVE(events, 16),
	JEQ(R0, 0, out),
	ST(DW, R0, 0, 1),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program kept = {
	.name = "kept",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	ASM_LINES(kept_lines),
};

static const struct asm_insn given_twice_lines[] = {
	RING_RESERVE(events, 16),
	JEQ(R0, 0, out),
	MOV_REG(R6, R0),
	RING_SUBMIT(R6, 0),
	RING_SUBMIT(R6, 0),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program given_twice = {
	.name = "given_twice",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	ASM_LINES(given_twice_lines),
};

static const struct asm_insn not_asked_lines[] = {
	RING_RESERVE(events, 16),
	ST(DW, R0, 0, 1),
	RING_SUBMIT(R0, 0),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program not_asked = {
	.name = "not_asked",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	ASM_LINES(not_asked_lines),
};

static const struct asm_insn any_size_lines[] = {
	LDX(DW, R2, R1, 16),
	LD_MAP(R1, events),
	MOV(R3, 0),
	CALL(ringbuf_reserve),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program any_size = {
	.name = "any_size",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	ASM_LINES(any_size_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &kept, ring, 2, "a record is filled, and kept" },
	{ &given_twice, ring, 2, "a record is given back twice" },
	{ &not_asked, ring, 2, "the ring may be full, and nobody asks" },
	{ &any_size, ring, 2, "a record as large as a number says" },
	{ 0 },
};
