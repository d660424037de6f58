/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_user_views: allocations when blocks are not followed: sizes alone, or every call as it comes.
 */
#include <linux/bpf_perf_event.h>

#include "user.h"

enum {
	SIZE = offsetof(struct mem_thread, size),
	POINTER = offsetof(struct mem_thread, pointer),
	RESULT = offsetof(struct mem_thread, result),
	IDS = offsetof(struct mem_thread, ids),
	CALL_KIND = offsetof(struct mem_thread, call)
};

/* ---- sizes */

/* The stack frame of mem_hist. */
ASM_FRAME(hist_frame, (uint32_t, number, HIST_NUMBER));

/* clang-format off */
static const struct asm_insn hist_lines[] = {
	/* mem_hist(number, value): the value goes into this histogram of the map sizes. */
FUNC(mem_hist),
	STX(W, R10, HIST_NUMBER, R1),
	MOV_REG(R8, R2),
	MAP_LOOKUP(sizes, HIST_NUMBER),
	JEQ(R0, 0, out),
	MOV_REG(R9, R0),
	HIST_ADD(R9, R8, MEM_HIST_BITS, MEM_HIST_SLOTS),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};

static const struct asm_insn sizes_lines[] = {
	/* mem_leave(context): the size goes into its histogram. */
FUNC(mem_leave),
	CALL_FUNC(mem_returned),
	JEQ(R0, 0, out),
	LDX(DW, R2, R0, SIZE),
	LDX(DW, R1, R0, RESULT),
	JEQ(R1, 0, failed),
	LDX(H, R1, R0, CALL_KIND),
	CALL_FUNC(mem_hist),
	JA(out),
LABEL(failed),
	COUNT(stats, struct mem_user_stats, failed),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	INCLUDE(&rp_mem_hist_part),
};
/* clang-format on */
const struct asm_part rp_mem_hist_part = { ASM_LINES(hist_lines),
					   ASM_FRAMES({ "mem_hist", &hist_frame_layout }) };
const struct asm_part rp_mem_sizes_part = { ASM_LINES(sizes_lines) };

/* ---- every call */

ASM_FRAME(trace_frame,
	(struct mem_event, event, EVENT),
	(event.ids, EVENT_IDS),
	(event.size, EVENT_SIZE),
	(event.pointer, EVENT_POINTER),
	(event.result, EVENT_RESULT),
	(event.caller, EVENT_CALLER),
	(event.call, EVENT_CALL));

/* clang-format off */
static const struct asm_insn trace_lines[] = {
	/* mem_leave(context): the call goes to user space. */
FUNC(mem_leave),
	MOV_REG(R6, R1),
	CALL_FUNC(mem_returned),
	JEQ(R0, 0, out),
	MOV_REG(R7, R0),
	ZERO(EVENT, sizeof(struct mem_event)),
	LDX(DW, R1, R7, IDS),
	STX(DW, R10, EVENT_IDS, R1),
	LDX(DW, R1, R7, SIZE),
	STX(DW, R10, EVENT_SIZE, R1),
	LDX(DW, R1, R7, POINTER),
	STX(DW, R10, EVENT_POINTER, R1),
	LDX(DW, R1, R7, RESULT),
	STX(DW, R10, EVENT_RESULT, R1),
	LD_IP(R1, R6),
	STX(DW, R10, EVENT_CALLER, R1),
	LDX(W, R1, R7, CALL_KIND), /* and its function */
	STX(W, R10, EVENT_CALL, R1),
	FRAME_PTR(R1, EVENT),
	CALL_FUNC(mem_emit),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};

static const struct asm_insn emit_lines[] = {
	/* mem_emit(event): it goes to user space, with the time and the name of the thread. */
FUNC(mem_emit),
	MOV_REG(R6, R1),
	CALL(ktime_get_ns),
	STX(DW, R6, offsetof(struct mem_event, time), R0),
	MOV_REG(R1, R6),
	ADD(R1, offsetof(struct mem_event, comm)),
	MOV(R2, 16),
	CALL(get_current_comm),
	LD_MAP(R1, trace),
	MOV_REG(R2, R6),
	MOV(R3, sizeof(struct mem_event)),
	MOV(R4, 0),
	CALL(ringbuf_output),
	JNE(R0, 0, full),
	COUNT(stats, struct mem_user_stats, traced),
	MOV(R0, 0),
	EXIT(),
LABEL(full),
	COUNT(stats, struct mem_user_stats, common.ring_full),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
const struct asm_part rp_mem_trace_part = { ASM_LINES(trace_lines),
					    ASM_FRAMES({ "mem_leave", &trace_frame_layout }) };
const struct asm_part rp_mem_emit_part = { ASM_LINES(emit_lines) };
