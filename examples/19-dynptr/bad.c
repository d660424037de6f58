/* SPDX-License-Identifier: BSD-2-Clause */
/* The 16 bytes are the kernel's, and what they stand for is borrowed. */
#include "../lesson.h"

static const struct asm_map maps[] = {
	{ "events", BPF_MAP_TYPE_RINGBUF, 0, 0, 4096 },
	{ "number", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
	{ "text", BPF_MAP_TYPE_ARRAY, 4, 256, 1 },
};

/* The dynptr: 16 bytes of the stack that belong to the kernel. */
struct frame {
	uint64_t room[2];
	uint64_t dynptr[2];
};
enum { DYNPTR = FRAME(struct frame, dynptr),
       ROOM = FRAME(struct frame, room) };

/* Without a record there is a dynptr too, an empty one. */
static const struct asm_insn given_up_lines[] = {
	LD_MAP(R1, events),
	MOV(R2, 64),
	MOV(R3, 0),
	FRAME_PTR(R4, DYNPTR),
	CALL(ringbuf_reserve_dynptr),
	JNE(R0, 0, out), /* there is no record, so there is nothing to do? */
	FRAME_PTR(R1, DYNPTR),
	MOV(R2, 0),
	CALL(ringbuf_submit_dynptr),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program given_up = {
	.name = "given_up",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(given_up_lines),
};

/* A store into the 16 bytes. */
static const struct asm_insn written_into_lines[] = {
	LD_MAP(R1, events),
	MOV(R2, 64),
	MOV(R3, 0),
	FRAME_PTR(R4, DYNPTR),
	CALL(ringbuf_reserve_dynptr),
	ST(DW, R10, DYNPTR, 0),
	FRAME_PTR(R1, DYNPTR),
	MOV(R2, 0),
	CALL(ringbuf_submit_dynptr),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program written_into = {
	.name = "written_into",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(written_into_lines),
};

/* Written to after it was submitted. */
static const struct asm_insn used_after_lines[] = {
	LD_MAP(R1, events),
	MOV(R2, 64),
	MOV(R3, 0),
	FRAME_PTR(R4, DYNPTR),
	CALL(ringbuf_reserve_dynptr),
	FRAME_PTR(R1, DYNPTR),
	MOV(R2, 0),
	CALL(ringbuf_submit_dynptr),
	FRAME_PTR(R1, DYNPTR),
	MOV(R2, 0),
	FRAME_PTR(R3, ROOM),
	ZERO(ROOM, 16),
	MOV(R4, 16),
	MOV(R5, 0),
	CALL(dynptr_write),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program used_after = {
	.name = "used_after",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(used_after_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &given_up, maps, 3, "no record, and no submit" },
	{ &written_into, maps, 3, "a store into the dynptr" },
	{ &used_after, maps, 3, "a write to a record that was submitted" },
	{ 0 },
};
