/* SPDX-License-Identifier: BSD-2-Clause */
/* Where things lie in a record, for the parts that write it. */
#ifndef PROGRAMS_STACK_H
#define PROGRAMS_STACK_H

#include "stack.h"

enum {
	HASH = offsetof(struct stack_record, hash),
	VALUE = offsetof(struct stack_record, value),
	TIME = offsetof(struct stack_record, time),
	CPU = offsetof(struct stack_record, cpu),
	KERNEL_BYTES = offsetof(struct stack_record, kernel_bytes),
	BUSY = offsetof(struct stack_record, busy),
	SENT = offsetof(struct stack_record, sent),
	KERNEL_OF = offsetof(struct stack_record, kernel_of),
	PUBLISHED_HASH = offsetof(struct stack_record, published),
	TAG = offsetof(struct stack_record, tag),
	PID_TGID = offsetof(struct stack_record, pid_tgid),
	USER_BYTES = offsetof(struct stack_record, user_bytes),
	USER_END = offsetof(struct stack_record, user_end),
	START_TIME = offsetof(struct stack_record, start_time),
	EXEC_ID = offsetof(struct stack_record, exec_id),
	COMM = offsetof(struct stack_record, comm),
	MANAGED_BYTES = offsetof(struct stack_record, managed_bytes),
	RECORD_FRESH = offsetof(struct stack_record, fresh),
	FRAMES = offsetof(struct stack_record, frames)
};
enum { HASHED_WORDS = (FRAMES - TAG) / 8 };
/* The record in struct stack_scratch, and from there back to the walk. */
enum {
	RECORD = offsetof(struct stack_scratch, record),
	LAST_SEEN = (int)offsetof(struct stack_scratch, last_seen) - RECORD,
	WALK_VMA_CALLS = (int)offsetof(struct stack_scratch, walk.vma_calls) - RECORD,
	WALK_DEEP_AT = (int)offsetof(struct stack_scratch, walk.deep_at) - RECORD,
	WALK_REGS = (int)offsetof(struct stack_scratch, walk.regs) - RECORD,
	WALK_END = (int)offsetof(struct stack_scratch, walk.end) - RECORD,
	WALK_LACKED = (int)offsetof(struct stack_scratch, walk.lacked) - RECORD,
	V8_FRESH = (int)offsetof(struct stack_scratch, walk.v8.fresh) - RECORD,
	JVM_WORDS = (int)offsetof(struct stack_scratch, walk.jvm.words) - RECORD,
	JVM_FRESH = (int)offsetof(struct stack_scratch, walk.jvm.fresh) - RECORD
};

/* On to the label if the register is more than the bytes that all frames have room for: never. */
#define NOT_ALL_BYTES(reg, label)                                                                  \
	WHEN(struct program_config, managed_bytes),                                                \
		JGT_PARAM(reg, struct program_config, all_bytes, label), END,                      \
		UNLESS(struct program_config, managed_bytes),                                      \
		JGT_PARAM(reg, struct program_config, both_bytes, label), END

/* clang-format off */
/* h = (h ^ word) * golden; h ^= h >> 32 for each of four words, from the address on. */
#define HASH_WORD(hash, at, off, golden, t)                                                        \
	LDX(DW, t, at, off),                                                                       \
	XOR_REG(hash, t),                                                                          \
	MUL_REG(hash, golden),                                                                     \
	MOV_REG(t, hash),                                                                          \
	RSH(t, 32),                                                                                \
	XOR_REG(hash, t)
#define HASH_FOUR(hash, at, off, golden, t)                                                        \
	HASH_WORD(hash, at, off, golden, t),                                                       \
	HASH_WORD(hash, at, (off) + 8, golden, t),                                                 \
	HASH_WORD(hash, at, (off) + 16, golden, t),                                                \
	HASH_WORD(hash, at, (off) + 24, golden, t)
/*
 * hash = hash of so many times four words, at least once, from the address at on. at, i and t are
 * destroyed. Four, as the verifier walks every round of the loop and each is a branch to it.
 */
#define HASH_FOURS(hash, at, fours, golden, i, t)                                                  \
	SCOPE("HASH_FOURS(" #hash ", " #at ", " #fours ", " #golden ", " #i ", " #t ")"),          \
		MOV(i, 0),                                                                         \
		LABEL(.next),                                                                      \
		HASH_FOUR(hash, at, 0, golden, t),                                                 \
		ADD(at, 32),                                                                       \
		ADD(i, 1),                                                                         \
		JLT_REG(i, fours, .next),                                                          \
	END
/* clang-format on */

/* stack_value, programs/shared/stack_value.c. */
extern const struct asm_part rp_stack_value_part;

#endif
