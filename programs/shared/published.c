/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * published: the labels of the goroutine that the current thread runs.
 *
 * Their texts are copied, each time, and hashed: they lie in memory that the collector of the
 * program may use anew at any time, so that their address says nothing.
 */
#include "published_step.h"
#include "thread_value.h"

/* The stack frame of published; what the loop needs is behind scratch, in this order. */
ASM_FRAME(published_frame,
	(uint64_t, scratch, LOOP),
	(uint64_t, labels, LOOP_LABELS),
	(uint64_t, keys, LOOP_KEYS),
	(uint64_t, texts, LOOP_TEXTS),
	(uint64_t, step, LOOP_STEP),
	(uint64_t, task, TASK),
	(uint64_t, word, WORD),
	(uint64_t, word2, WORD2),
	(uint32_t, first, FIRST));
/* The stack frame of published_label. */
ASM_FRAME(label_frame,
	(uint64_t, task, LABEL_TASK),
	(uint64_t, at, AT),
	(uint64_t, bytes, AT_BYTES),
	(uint64_t, texts, TEXTS));
/* The stack frame of published_send. */
ASM_FRAME(send_frame,
	(uint64_t, hash, SEND_HASH),
	(uint32_t, one, SEND_ONE));

enum {
	KNOWN_PID = offsetof(struct stack_scratch, walk.pid),
	M_OF_G = 48, /* struct g: of which thread it is; of all versions */

	/* runtime/map.go up to 1.23: hmap, and a bucket of eight */
	MAP_BUCKETS = 16,
	BUCKET_KEYS = 8,
	BUCKET_TEXTS = 8 + 8 * 16,

	LABEL_BYTES = sizeof(struct published_label),
	KEY_BYTES = sizeof(((struct published_label *)0)->key),
	TEXT_BYTES = sizeof(((struct published_label *)0)->text),
	FOURS_OF_LABEL = LABEL_BYTES / 32,
};
_Static_assert(LABEL_BYTES % 32 == 0, "labels are hashed by four words");
#define OF_LABELS(member) ((int)offsetof(struct published_labels, member))
_Static_assert(OF_LABELS(label) - OF_LABELS(pid) == 32, "and so is what is before them");
#define OF_LABEL(member) ((int)offsetof(struct published_label, member))

/* clang-format off */
/* The string whose head is at the address R3, cut, to two members of the label at R8. */
#define COPY_STRING(bytes, text, most)                                                             \
	SCOPE("COPY_STRING(" #bytes ", " #text ")"),                                               \
		FRAME_PTR(R1, AT),                                                                 \
		MOV(R2, 16),                                                                       \
		SCRIPT_READ_TASK(LABEL_TASK),                                                      \
		JNE(R0, 0, .none),                                                                 \
		LDX(DW, R2, R10, AT_BYTES),                                                        \
		JLE(R2, most, .fits),                                                              \
		MOV(R2, most),                                                                     \
		LABEL(.fits),                                                                      \
		JEQ(R2, 0, .none),                                                                 \
		STX(W, R8, OF_LABEL(bytes), R2),                                                   \
		MOV_REG(R1, R8),                                                                   \
		ADD(R1, OF_LABEL(text)),                                                           \
		LDX(DW, R3, R10, AT),                                                              \
		SCRIPT_READ_TASK(LABEL_TASK),                                                      \
		LABEL(.none),                                                                      \
	END

#define CLEAR_4(at) STACK_CLEAR_4(R8, at)
#define CLEAR_LABEL                                                                                \
	CLEAR_4(0), CLEAR_4(32), CLEAR_4(64), CLEAR_4(96), CLEAR_4(128), CLEAR_4(160)
_Static_assert(LABEL_BYTES == 6 * 32, "CLEAR_LABEL clears all of it");

static const struct asm_insn published_lines[] = {
FUNC(published),
	MOV_REG(R6, R1),
	WHEN(struct program_config, of_task),
		STX(DW, R10, TASK, R2),
	END,
	LDX(H, R1, R6, OF_PUBLISHED(kind)),
	JEQ(R1, PUBLISHED_NONE, none),
	WHEN(struct program_config, context),
		JNE(R1, PUBLISHED_CONTEXT, is_go),
		MOV_REG(R1, R6),
		CALL_FUNC(published_context), /* R2 is the task still, if there is one */
		EXIT(),
LABEL(is_go),
	END,
	LDX(W, R1, R6, KNOWN_PID),
	LDX(W, R2, R6, OF_RECORD(pid_tgid) + 4),
	JNE_REG(R1, R2, none),
	UNLESS(struct program_config, of_task),
		CALL(get_current_task_btf),
	END,
	WHEN(struct program_config, of_task),
		LDX(DW, R0, R10, TASK),
	END,
	THREAD_POINTER(R3, R0),
	LDX(DW, R1, R6, OF_PUBLISHED(tls)),
	ADD_REG(R3, R1),
	FOLLOW(none),
	JEQ(R3, 0, none), /* a thread that Go has not made */
	ADD(R3, M_OF_G),
	FOLLOW(none),
	JEQ(R3, 0, none),
	LDX(H, R1, R6, OF_PUBLISHED(curg)), /* what runs may be the scheduler, or a signal */
	ADD_REG(R3, R1),
	FOLLOW(none),
	JEQ(R3, 0, none),
	MOV_REG(R8, R3),

	PUBLISHED_TAKE(none, give_back),
	LDX(W, R1, R6, KNOWN_PID),
	STX(DW, R7, OF_LABELS(pid), R1),
	LDX(DW, R1, R6, OF_RECORD(start_time)),
	STX(DW, R7, OF_LABELS(start_time), R1),
	ST(DW, R7, OF_LABELS(goid), 0),
	ST(DW, R7, OF_LABELS(n), 0),
	LDX(H, R3, R6, OF_PUBLISHED(goid)),
	JEQ(R3, 0, no_number),
	ADD_REG(R3, R8),
	FOLLOW(give_back),
	STX(DW, R7, OF_LABELS(goid), R3),
LABEL(no_number),
	LDX(H, R3, R6, OF_PUBLISHED(labels)),
	ADD_REG(R3, R8),
	FOLLOW(give_back),
	JEQ(R3, 0, counted),

	/* R8 = how many. Where the heads of their strings lie, and how far from each other. */
	LDX(H, R1, R6, OF_PUBLISHED(kind)),
	JEQ(R1, PUBLISHED_GO_MAP, is_map),
	FRAME_PTR(R1, WORD),
	MOV(R2, 16),
	SCRIPT_READ_TASK(TASK),
	JNE(R0, 0, give_back),
	LDX(DW, R1, R10, WORD),
	STX(DW, R10, LOOP_KEYS, R1),
	ADD(R1, 16),
	STX(DW, R10, LOOP_TEXTS, R1),
	ST(DW, R10, LOOP_STEP, 32),
	LDX(DW, R8, R10, WORD2),
	JLE(R8, PUBLISHED_LABELS, known),
	MOV(R8, PUBLISHED_LABELS),
	JA(known),
LABEL(is_map),
	FOLLOW(give_back),
	JEQ(R3, 0, counted),
	ADD(R3, MAP_BUCKETS),
	FOLLOW(give_back),
	JEQ(R3, 0, counted),
	MOV_REG(R1, R3),
	ADD(R1, BUCKET_KEYS),
	STX(DW, R10, LOOP_KEYS, R1),
	ADD(R3, BUCKET_TEXTS),
	STX(DW, R10, LOOP_TEXTS, R3),
	ST(DW, R10, LOOP_STEP, 16),
	MOV(R8, PUBLISHED_LABELS), /* places that are free are 0, or what was there */
LABEL(known),
	STX(DW, R7, OF_LABELS(n), R8),
	STX(DW, R10, LOOP, R6),
	STX(DW, R10, LOOP_LABELS, R7),
	MOV_REG(R1, R8),
	LD_FUNC(R2, published_label),
	FRAME_PTR(R3, LOOP),
	MOV(R4, 0),
	CALL(loop),
LABEL(counted),
	MOV_REG(R1, R7),
	CALL_FUNC(published_send),
	MOV_REG(R8, R0),
	JA(done),
LABEL(give_back),
	MOV(R8, 0),
LABEL(done),
	MOV(R1, -1),
	ATOMIC_ADD(W, R7, OF_LABELS(busy), R1),
	MOV_REG(R0, R8),
	EXIT(),
LABEL(none),
	MOV(R0, 0),
	EXIT(),

	/* published_label(index, slot of the scratch in the frame above): one more of them. */
FUNC(published_label),
	JGE(R1, PUBLISHED_LABELS, out), /* never */
	MOV_REG(R9, R1),
	LDX(DW, R6, R2, 0),
	LDX(DW, R8, R2, LOOP_LABELS - LOOP),
	WHEN(struct program_config, of_task),
		LDX(DW, R3, R2, TASK - LOOP),
		STX(DW, R10, LABEL_TASK, R3),
	END,
	MUL(R1, LABEL_BYTES),
	ADD_REG(R8, R1),
	ADD(R8, OF_LABELS(label)),
	LDX(DW, R3, R2, LOOP_KEYS - LOOP),
	LDX(DW, R4, R2, LOOP_TEXTS - LOOP),
	LDX(DW, R1, R2, LOOP_STEP - LOOP),
	MUL_REG(R9, R1),
	ADD_REG(R3, R9),
	ADD_REG(R4, R9),
	STX(DW, R10, TEXTS, R4),
	CLEAR_LABEL,
	COPY_STRING(key_bytes, key, KEY_BYTES),
	LDX(DW, R3, R10, TEXTS),
	COPY_STRING(text_bytes, text, TEXT_BYTES),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	/* published_send(labels): their hash, when user space knows what they are; else 0. */
FUNC(published_send),
	MOV_REG(R7, R1),
	LDX(DW, R2, R7, OF_LABELS(n)),
	LDX(DW, R1, R7, OF_LABELS(goid)),
	JNE(R2, 0, some),
	JEQ(R1, 0, unknown),
LABEL(some),
	JGT(R2, PUBLISHED_LABELS, unknown), /* never */
	MUL(R2, FOURS_OF_LABEL),
	ADD(R2, 1), /* a secret and the process first: so nobody has texts with another's hash */
	MOV_REG(R1, R7),
	ADD(R1, OF_LABELS(pid)),
	LD_IMM64(R3, GOLDEN_RATIO_64),
	LD_PARAM(R8, struct program_config, hash_secret),
	HASH_FOURS(R8, R1, R2, R3, R4, R5),
	PUBLISHED_SEND(struct published_labels, PUBLISHED_TAG, unknown),
	MOV_REG(R0, R8),
	EXIT(),
LABEL(unknown),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

const struct asm_part rp_published_part = { ASM_LINES(published_lines),
					    ASM_FRAMES({ "published", &published_frame_layout },
						       { "published_label", &label_frame_layout },
						       { "published_send", &send_frame_layout }) };
