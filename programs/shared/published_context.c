/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * published_context: the record that the current thread has published of what it works on (OTEP
 * 4947): trace, span, attributes.
 *
 * It is copied as it is, for it may be another in a moment, and taken apart by user space. The
 * thread is the one that runs here, or sleeps: it writes nothing meanwhile.
 */
#include "published_step.h"
#include "thread_value.h"

ASM_FRAME(context_frame,
	(uint64_t, task, TASK),
	(uint64_t, word, WORD),
	(uint64_t, hash, SEND_HASH),
	(uint32_t, one, SEND_ONE),
	(uint32_t, first, FIRST));

enum {
	KNOWN_PID = offsetof(struct stack_scratch, walk.pid),
	BLOCKS_BEFORE = 8,

	HEAD_BYTES = sizeof(struct published_head),
	MOST = PUBLISHED_RECORD_BYTES - HEAD_BYTES,
	FOUR = 32, /* bytes that are hashed at once */
};
#define OF_CONTEXT(member) ((int)offsetof(struct published_context, member))
_Static_assert(OF_CONTEXT(record) - OF_CONTEXT(process) == FOUR, "one four before the record");

/* clang-format off */
/* To the element at R7: the first R2 bytes of the record at R8. */
#define COPY_RECORD(failed)                                                                        \
	MOV_REG(R1, R7),                                                                           \
	ADD(R1, OF_CONTEXT(record)),                                                               \
	MOV_REG(R3, R8),                                                                           \
	SCRIPT_READ_TASK(TASK),                                                                    \
	JNE(R0, 0, failed),                                                                        \
	LDX(B, R1, R7, OF_CONTEXT(head.valid)),                                                    \
	JNE(R1, 1, failed)

/* The same member of the stack's record, in the element at R7. */
#define COPY_OF_RECORD(to, from)                                                                   \
	LDX(DW, R1, R6, OF_RECORD(from)),                                                          \
	STX(DW, R7, OF_CONTEXT(to), R1)

static const struct asm_insn context_lines[] = {
FUNC(published_context),
	MOV_REG(R6, R1),
	WHEN(struct program_config, of_task),
		STX(DW, R10, TASK, R2),
		MOV_REG(R0, R2),
	END,
	LDX(W, R1, R6, KNOWN_PID),
	LDX(W, R3, R6, OF_RECORD(pid_tgid) + 4),
	JNE_REG(R1, R3, none),
	UNLESS(struct program_config, of_task),
		CALL(get_current_task_btf),
	END,
	THREAD_POINTER(R3, R0),
	LDX(H, R8, R6, OF_PUBLISHED(block)),
	JEQ(R8, 0, in_static_block),
	LDX(H, R1, R6, OF_PUBLISHED(blocks)),
	ADD_REG(R3, R1),
	SUB(R3, BLOCKS_BEFORE),
	FOLLOW(none),
	ADD_REG(R3, R8),
	FOLLOW(none), /* a block that nobody has used yet is at -1, and nothing there */
LABEL(in_static_block),
	LDX(DW, R1, R6, OF_PUBLISHED(tls)),
	ADD_REG(R3, R1),
	FOLLOW(none),
	JEQ(R3, 0, none), /* it works on nothing */
	MOV_REG(R8, R3),

	PUBLISHED_TAKE(none, give_back),

	/* R9 = bytes of the record, the last four of them filled up with 0. */
	MOV(R2, HEAD_BYTES),
	COPY_RECORD(give_back),
	LDX(H, R9, R7, OF_CONTEXT(head.bytes)),
	JGT(R9, MOST, give_back),
	ADD(R9, HEAD_BYTES),
	ST(W, R7, OF_CONTEXT(record) + HEAD_BYTES, 0),
	JEQ(R9, HEAD_BYTES, copied),
	MOV_REG(R1, R9),
	AND(R1, -FOUR),
	ADD_REG(R1, R7),
	STACK_CLEAR_4(R1, OF_CONTEXT(record)),
	MOV_REG(R2, R9),
	COPY_RECORD(give_back),
LABEL(copied),
	/* A set of labels is not another one for a flag, nor for a trace that nobody asks for. */
	ST(B, R7, OF_CONTEXT(head.flags), 0),
	LDX(H, R1, R6, OF_PUBLISHED(ids)),
	JNE(R1, 0, with_ids),
	JEQ(R9, HEAD_BYTES, give_back),
	ST(DW, R7, OF_CONTEXT(head.trace), 0),
	ST(DW, R7, OF_CONTEXT(head.trace) + 8, 0),
	ST(DW, R7, OF_CONTEXT(head.span), 0),
LABEL(with_ids),
	LDX(W, R1, R6, KNOWN_PID),
	STX(DW, R7, OF_CONTEXT(process), R1),
	COPY_OF_RECORD(start_time, start_time),
	COPY_OF_RECORD(exec_id, exec_id),
	STX(DW, R7, OF_CONTEXT(bytes), R9),

	MOV_REG(R2, R9),
	ADD(R2, FOUR + FOUR - 1),
	RSH(R2, 5),
	MOV_REG(R1, R7),
	ADD(R1, OF_CONTEXT(process)),
	LD_IMM64(R3, GOLDEN_RATIO_64),
	LD_PARAM(R8, struct program_config, hash_secret),
	HASH_FOURS(R8, R1, R2, R3, R4, R5),
	PUBLISHED_SEND(struct published_context, PUBLISHED_CONTEXT_TAG, give_back),
	JA(done),
LABEL(give_back),
	MOV(R8, 0),
LABEL(done),
	MOV(R1, -1),
	ATOMIC_ADD(W, R7, OF_CONTEXT(busy), R1),
	MOV_REG(R0, R8),
	EXIT(),
LABEL(none),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

const struct asm_part rp_published_context_part = {
	ASM_LINES(context_lines), ASM_FRAMES({ "published_context", &context_frame_layout })
};
