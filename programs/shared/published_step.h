/* SPDX-License-Identifier: BSD-2-Clause */
/* What the lines of published.c and published_context.c are made of. */
#ifndef PROGRAMS_PUBLISHED_STEP_H
#define PROGRAMS_PUBLISHED_STEP_H

#include "script_step.h"
#include "stack_frame.h"

#define OF_PUBLISHED(member)                                                                       \
	((int)offsetof(struct stack_scratch, walk.published) +                                     \
	 (int)offsetof(struct published_process, member))

/* clang-format off */
/* R3 = the word at the address R3 of the process, or to the label. */
#define FOLLOW(failed)                                                                             \
	FRAME_PTR(R1, WORD),                                                                       \
	MOV(R2, 8),                                                                                \
	SCRIPT_READ_TASK(TASK),                                                                    \
	JNE(R0, 0, failed),                                                                        \
	LDX(DW, R3, R10, WORD)

/*
 * R7 = the element of the map published, for us alone; else to none if there is none, or to
 * give_back: what we have interrupted is at it. The frame has FIRST.
 */
#define PUBLISHED_TAKE(none, give_back)                                                            \
	ST(W, R10, FIRST, 0),                                                                      \
	MAP_LOOKUP(published, FIRST),                                                              \
	JEQ(R0, 0, none),                                                                          \
	MOV_REG(R7, R0),                                                                           \
	MOV(R1, 1),                                                                                \
	ATOMIC_ADD(W, R7, (int)offsetof(struct published_labels, busy), R1),                       \
	LDX(W, R1, R7, (int)offsetof(struct published_labels, busy)),                              \
	JNE(R1, 1, give_back)

/*
 * What R7 points to, a type, has the hash R8, which is made another than 0: user space knows what
 * it is from here on. To the label if the ring has no room. The frame has SEND_HASH and SEND_ONE.
 */
#define PUBLISHED_SEND(type, its_tag, failed)                                                      \
	SCOPE("PUBLISHED_SEND(" #type ", " #its_tag ", " #failed ")"),                             \
		JNE(R8, 0, .not_none),                                                             \
		MOV(R8, 1),                                                                        \
		LABEL(.not_none),                                                                  \
		STX(DW, R10, SEND_HASH, R8),                                                       \
		STX(DW, R7, (int)offsetof(type, hash), R8),                                        \
		MAP_LOOKUP(published_seen, SEND_HASH),                                             \
		JNE(R0, 0, .known_there),                                                          \
		LD_IMM64(R1, its_tag),                                                             \
		STX(DW, R7, (int)offsetof(type, tag), R1),                                         \
		LD_MAP(R1, events),                                                                \
		MOV_REG(R2, R7),                                                                   \
		MOV(R3, sizeof(type)),                                                             \
		MOV(R4, BPF_RB_NO_WAKEUP),                                                         \
		CALL(ringbuf_output),                                                              \
		JNE(R0, 0, failed),                                                                \
		ST(W, R10, SEND_ONE, 1),                                                           \
		MAP_UPDATE(published_seen, SEND_HASH, SEND_ONE, BPF_ANY),                          \
		LABEL(.known_there),                                                               \
	END
/* clang-format on */

#endif
