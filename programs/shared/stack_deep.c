/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_deep: a record that is full while its stack goes on.
 *
 * Few stacks have more than a thousand frames, and per-CPU memory has no room for more. So what
 * such a stack needs lies in a map of its own, and who has none pays for it with a comparison.
 */
#include "unwind_step.h"
#include "stack_frame.h"

enum {
	DEEP_TAG = offsetof(struct stack_deep, tag),
	DEEP_OF = offsetof(struct stack_deep, of),
	DEEP_HASH = offsetof(struct stack_deep, hash),
	DEEP_BUSY = offsetof(struct stack_deep, busy),
	DEEP_BYTES = offsetof(struct stack_deep, bytes),
	DEEP_FRAMES = offsetof(struct stack_deep, frames),
	PIECE_BYTES = 8 * UNWIND_FRAMES
};

ASM_FRAME(deep_frame, (uint32_t, number, DEEP_KEY));
ASM_FRAME(hash_frame,
	(uint64_t, element, ELEMENT),
	(uint32_t, number, HASH_KEY));

/* clang-format off */
/* R0 = the element that the record at R1 has taken, or to the label: never. */
#define ELEMENT_OF_RECORD(key, none)                                                               \
	LDX(W, R2, R1, WALK_DEEP_AT),                                                              \
	SUB(R2, 1),                                                                                \
	STX(W, R10, key, R2),                                                                      \
	MAP_LOOKUP(deep, key),                                                                     \
	JEQ(R0, 0, none)
/* In languages frames are found by where they are in the record: those stay as deep as it. */
#define HAS_LANGUAGE(yes)                                                                          \
	WHEN(struct program_config, managed_bytes),                                                \
		LDX(W, R1, R6, PYTHON),                                                            \
		JNE(R1, 0, yes),                                                                   \
		LDX(H, R1, R6, V8_PROCESS + (int)offsetof(struct v8_process, shared)),             \
		JNE(R1, 0, yes),                                                                   \
	END,                                                                                       \
	WHEN(struct program_config, jvm),                                                          \
		LDX(W, R1, R6, offsetof(struct unwind_state, jvm_number)),                         \
		JNE(R1, 0, yes),                                                                   \
	END,                                                                                       \
	WHEN(struct program_config, scripts),                                                      \
		LDX(H, R1, R6, SCRIPT_PROCESS + (int)offsetof(struct script_process, language)),   \
		JNE(R1, SCRIPT_NONE, yes),                                                         \
	END
/* Four words at R1, from the n-th on, as in stack_hash: R0 = hash, R3 = the golden ratio. */
#define DEEP_WORDS(n)                                                                              \
	HASH_WORD(R0, R1, n, R3, R4),                                                              \
	HASH_WORD(R0, R1, (n) + 1, R3, R4),                                                        \
	HASH_WORD(R0, R1, (n) + 2, R3, R4),                                                        \
	HASH_WORD(R0, R1, (n) + 3, R3, R4)

static const struct asm_insn deep_lines[] = {
FUNC(unwind_deep),
	MOV_REG(R6, R1),
	HAS_LANGUAGE(full),
	LDX(W, R1, R6, DEEP_AT),
	JNE(R1, 0, taken),
	CALL(get_smp_processor_id),
	LD_PARAM(R1, struct program_config, deep_mask),
	AND_REG(R0, R1),
	STX(W, R10, DEEP_KEY, R0),
	MAP_LOOKUP(deep, DEEP_KEY),
	JEQ(R0, 0, full),
	MOV_REG(R7, R0),
	MOV(R1, 1),
	ATOMIC_ADD(W, R7, DEEP_BUSY, R1),
	LDX(W, R1, R7, DEEP_BUSY),
	JEQ(R1, 1, ours),
	MOV(R1, -1),
	ATOMIC_ADD(W, R7, DEEP_BUSY, R1),
	JA(full),
LABEL(ours),
	LDX(W, R1, R10, DEEP_KEY),
	ADD(R1, 1),
	STX(W, R6, DEEP_AT, R1),
	ST(W, R6, BEGAN, -1), /* what comes is not the innermost frame, wherever it lies */
	LD_IMM64(R1, STACK_DEEP_TAG),
	STX(DW, R7, DEEP_TAG, R1),
	ST(DW, R7, DEEP_HASH, 0),
	ST(W, R7, DEEP_BYTES, 0),
	JA(empty),

LABEL(taken),
	SUB(R1, 1),
	STX(W, R10, DEEP_KEY, R1),
	MAP_LOOKUP(deep, DEEP_KEY),
	JEQ(R0, 0, full),
	MOV_REG(R7, R0),

LABEL(empty), /* the record, behind what the element has */
	LDX(W, R1, R7, DEEP_BYTES),
	JGT_PARAM(R1, struct program_config, deep_last, full),
	LDX(W, R3, R6, BASE),
	LSH(R3, 3),
	JGT_PARAM(R3, struct program_config, kernel_bytes, full), /* never */
	MOV_REG(R2, R1),
	ADD(R2, PIECE_BYTES),
	STX(W, R7, DEEP_BYTES, R2),
	ADD_REG(R1, R7),
	ADD(R1, DEEP_FRAMES),
	MOV(R2, PIECE_BYTES),
	ADD_REG(R3, R6),
	ADD(R3, PCS),
	CALL(probe_read_kernel),
	LDX(W, R1, R6, BASE),
	STX(W, R6, N, R1),
	MOV(R0, 0),
	EXIT(),
LABEL(full),
	MOV(R0, 1),
	EXIT(),

	/* stack_deep_block(index, slot of the element): hashes that block of its frames. */
FUNC(stack_deep_block),
	LDX(DW, R5, R2, 0),
	JGE_PARAM(R1, struct program_config, deep_blocks, out), /* never */
	LSH(R1, STACK_DEEP_BLOCK_SHIFT),
	ADD_REG(R1, R5),
	ADD(R1, DEEP_FRAMES),
	LD_IMM64(R3, GOLDEN_RATIO_64),
	LDX(DW, R0, R5, DEEP_HASH),
	DEEP_WORDS(0),
	DEEP_WORDS(4),
	DEEP_WORDS(8),
	DEEP_WORDS(12),
	DEEP_WORDS(16),
	DEEP_WORDS(20),
	DEEP_WORDS(24),
	DEEP_WORDS(28),
	STX(DW, R5, DEEP_HASH, R0),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

FUNC(stack_deep_hash),
	ELEMENT_OF_RECORD(HASH_KEY, none),
	STX(DW, R10, ELEMENT, R0),
	MOV_REG(R6, R0),
	LDX(W, R1, R6, DEEP_BYTES),
	RSH(R1, STACK_DEEP_BLOCK_SHIFT),
	LD_FUNC(R2, stack_deep_block),
	FRAME_PTR(R3, ELEMENT),
	MOV(R4, 0),
	CALL(loop),
	LDX(DW, R0, R6, DEEP_HASH),
	EXIT(),
LABEL(none),
	MOV(R0, 0),
	EXIT(),

FUNC(stack_deep_send),
	MOV_REG(R6, R1),
	ELEMENT_OF_RECORD(DEEP_KEY, none),
	LDX(DW, R1, R6, HASH),
	STX(DW, R0, DEEP_OF, R1),
	MOV_REG(R2, R0),
	LDX(W, R3, R2, DEEP_BYTES),
	JGT_PARAM(R3, struct program_config, deep_bytes, none), /* never */
	ADD(R3, DEEP_FRAMES),
	LD_MAP(R1, events),
	MOV(R4, BPF_RB_NO_WAKEUP),
	CALL(ringbuf_output),
	EXIT(),
LABEL(none),
	MOV(R0, 1),
	EXIT(),

FUNC(stack_deep_done),
	ELEMENT_OF_RECORD(DEEP_KEY, none),
	MOV(R1, -1),
	ATOMIC_ADD(W, R0, DEEP_BUSY, R1),
LABEL(none),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
_Static_assert(PIECE_BYTES % (1 << STACK_DEEP_BLOCK_SHIFT) == 0, "pieces are whole blocks");

const struct asm_part rp_stack_deep_part = {
	ASM_LINES(deep_lines),
	ASM_FRAMES({ "unwind_deep", &deep_frame_layout }, { "stack_deep_hash", &hash_frame_layout },
		   { "stack_deep_send", &deep_frame_layout },
		   { "stack_deep_done", &deep_frame_layout })
};
