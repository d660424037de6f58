/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace_usdt: a USDT probe, with its arguments, into the ring, or counted.
 *
 * How arguments are read is known when the probe is: those lines take the place of
 * rp_trace_usdt_part, which leaves them on the stack, as a task that passes a probe may be
 * preempted by another one that does; and of rp_trace_usdt_texts_part, which adds strings.
 */
#include "programs/shared/event_filter.h"
#include "task.h"

/* The stack frame of trace_usdt. */
ASM_FRAME(usdt_frame,
	(uint64_t, stack, STACK), /* hash of the stack */
	(uint64_t, ids, IDS), /* process << 32 | thread */
	(uint32_t, cpu, CPU),
	(uint32_t, first, FIRST), /* 0: key of the only element of filter_texts */
	(struct trace_usdt_data, usdt, USDT),
	(usdt.head.failed, FAILED),
	(usdt.head.args, ARGS),
	(usdt.value, VALUES));
_Static_assert(USDT == TRACE_USDT_AT, "where the parts write to");

/* clang-format off */
/* R6: pt_regs. As it is for one argument, "8@%rdi". */
static const struct asm_insn part_lines[] = {
	ST(W, R10, FAILED, 0),
	LD_ARG(R1, R6, 1),
	STX(DW, R10, VALUES, R1),
};
const struct asm_part rp_trace_usdt_part = { ASM_LINES(part_lines) };

/* R8: the record. As it is without strings. */
static const struct asm_insn texts_lines[] = {
	LDX(W, R1, R8, sizeof(struct trace_record)),
};
const struct asm_part rp_trace_usdt_texts_part = { ASM_LINES(texts_lines) };

static const struct asm_insn usdt_lines[] = {
	MOV_REG(R6, R1),
	COUNT(stats, struct trace_stats, common.fired),
	ASKED_FOR(filtered, own),

	/* Which arguments this place has: above the number of the probe. */
	WHEN(struct trace_config, usdt_by_cookie),
		MOV_REG(R1, R6),
		CALL(get_attach_cookie),
		RSH(R0, 32),
	END,
	UNLESS(struct trace_config, usdt_by_cookie),
		LD_PARAM(R0, struct trace_config, usdt_args),
	END,
	STX(W, R10, ARGS, R0),
	INCLUDE(&rp_trace_usdt_part),
	MOV_REG(R7, R10),
	ADD(R7, USDT),
	EVENT_FILTER(R7, left_out),
	TAKE_STACK,

	WHEN(struct trace_config, tally.on),
		MOV_REG(R1, R7),
		LDX(DW, R2, R10, IDS),
		LD_PARAM(R3, struct trace_config, event),
		CALL_FUNC(trace_tally),
	END,
	UNLESS(struct trace_config, tally.on),
		LD_MAP(R1, ring),
		LD_PARAM(R2, struct trace_config, reserve),
		MOV(R3, 0),
		CALL(ringbuf_reserve),
		JEQ(R0, 0, ring_full),
		MOV_REG(R8, R0),
		RECORD_HEAD(R8),
		LD_PARAM(R1, struct trace_config, bytes),
		STX(W, R8, MEMBER(bytes), R1),
		MOV_REG(R1, R8),
		ADD(R1, MEMBER(data)),
		LD_PARAM(R2, struct trace_config, usdt_bytes),
		MOV_REG(R3, R7),
		CALL(probe_read_kernel),
		INCLUDE(&rp_trace_usdt_texts_part),
		RECORD_SUBMIT(R8),
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	EVENT_TAIL,
};
/* clang-format on */

#define BYTES (sizeof(struct trace_usdt) + sizeof(uint64_t))
static const struct trace_config usual_config = { .common = PROGRAM_USUAL_CONFIG,
						  .own = { 1, 1 },
						  .wake_bytes = 1 << 22,
						  .bytes = BYTES,
						  .usdt_bytes = BYTES,
						  .reserve = sizeof(struct trace_record) + BYTES };

const struct rp_program rp_trace_usdt_programs[] = {
	{ RP_CODE("trace_usdt", usdt_lines), RP_ON_UPROBE, RP_MAPS(rp_trace_maps, TRACE_MAPS),
	  RP_CONFIG(usual_config), .code.frame = &usdt_frame_layout,
	  .summary = "sends the arguments of a USDT probe" },
	RP_LIST_END,
};
