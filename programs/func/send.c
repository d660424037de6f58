/* SPDX-License-Identifier: BSD-2-Clause */
/* func_send: a call as it begins or ends goes through the ring; what finds no room is counted. */
#include "func.h"
#include "programs/shared/wake.h"

enum {
	CALL_START = offsetof(struct func_call, start),
	CALL_FUNCTION = offsetof(struct func_call, function),
	CALL_ARGS = offsetof(struct func_call, args),
	PAGE_IDS = offsetof(struct func_page, ids)
};
enum {
	TIME = offsetof(struct func_event, time),
	IDS = offsetof(struct func_event, ids),
	NS = offsetof(struct func_event, ns),
	VALUE = offsetof(struct func_event, value),
	ARGS = offsetof(struct func_event, args),
	FUNCTION = offsetof(struct func_event, function),
	KIND = offsetof(struct func_event, kind),
	EVENT_DEPTH = offsetof(struct func_event, depth),
	EVENT_CPU = offsetof(struct func_event, cpu),
	UNUSED = offsetof(struct func_event, unused),
	COMM = offsetof(struct func_event, comm)
};

ASM_FRAME(send_frame,
	(uint64_t, kind, SEND_KIND),
	(uint64_t, time, SEND_TIME),
	(uint64_t, value, SEND_VALUE));

/* clang-format off */
#define COPY_ARG(n) LDX(DW, R1, R6, CALL_ARGS + 8 * (n)), STX(DW, R8, ARGS + 8 * (n), R1)
#define NO_ARG(n) ST(DW, R8, ARGS + 8 * (n), 0)

static const struct asm_insn send_lines[] = {
	/* func_send(call, kind | depth << 16, time, value, first page): 1 if there is no room. */
FUNC(func_send),
	MOV_REG(R6, R1),
	MOV_REG(R7, R5),
	STX(DW, R10, SEND_KIND, R2),
	STX(DW, R10, SEND_TIME, R3),
	STX(DW, R10, SEND_VALUE, R4),
	RING_RESERVE(calls_ring, sizeof(struct func_event)),
	JEQ(R0, 0, full),
	MOV_REG(R8, R0),
	LDX(DW, R1, R7, PAGE_IDS),
	STX(DW, R8, IDS, R1),
	LDX(DW, R2, R10, SEND_TIME),
	STX(DW, R8, TIME, R2),
	LDX(DW, R1, R6, CALL_START),
	SUB_REG(R2, R1),
	LDX(DW, R1, R10, SEND_KIND),
	STX(H, R8, KIND, R1),
	MOV_REG(R3, R1),
	RSH(R3, 16),
	STX(H, R8, EVENT_DEPTH, R3),
	AND(R1, 0xffff),
	JNE(R1, FUNC_BEGINS, ended),
	MOV(R2, 0),
LABEL(ended),
	STX(DW, R8, NS, R2),
	LDX(DW, R1, R10, SEND_VALUE),
	STX(DW, R8, VALUE, R1),
	LDX(W, R1, R6, CALL_FUNCTION),
	STX(W, R8, FUNCTION, R1),
	ST(W, R8, UNUSED, 0),
	WHEN(struct func_config, args),
		COPY_ARG(0), COPY_ARG(1), COPY_ARG(2), COPY_ARG(3), COPY_ARG(4), COPY_ARG(5),
	END,
	UNLESS(struct func_config, args),
		NO_ARG(0), NO_ARG(1), NO_ARG(2), NO_ARG(3), NO_ARG(4), NO_ARG(5),
	END,
	CALL(get_smp_processor_id),
	STX(W, R8, EVENT_CPU, R0),
	MOV_REG(R1, R8),
	ADD(R1, COMM),
	MOV(R2, 16),
	CALL(get_current_comm),
	LDX(DW, R6, R10, SEND_TIME),
	RING_WAKE(R2, R6, calls_ring, struct func_config, wake_bytes),
	MOV_REG(R1, R8),
	CALL(ringbuf_submit),
	MOV(R0, 0),
	EXIT(),
LABEL(full),
	MOV(R0, 1),
	EXIT(),
};
/* clang-format on */
const struct asm_part rp_func_send_part = { ASM_LINES(send_lines),
					    ASM_FRAMES({ "func_send", &send_frame_layout }) };
