/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace_usdt: a USDT probe, with its arguments, into the ring.
 *
 * How arguments are read is known when the probe is: those lines take the place of
 * rp_trace_usdt_part.
 */
#include "trace.h"

/* The stack frame of trace_usdt. */
ASM_FRAME(usdt_frame,
	(uint64_t, stack, STACK), /* hash of the stack */
	(uint64_t, ids, IDS), /* process << 32 | thread */
	(uint32_t, cpu, CPU),
	(uint32_t, unused, UNUSED));

#define MEMBER(member) offsetof(struct trace_record, member)
#define USDT(member) (sizeof(struct trace_record) + offsetof(struct trace_usdt, member))

/* clang-format off */
/* R6: pt_regs, R8: the record. As it is for one argument, "8@%rdi". */
static const struct asm_insn part_lines[] = {
	ST(W, R8, USDT(failed), 0),
	LD_ARG(R1, R6, 1),
	STX(DW, R8, USDT(value), R1),
};
const struct asm_part rp_trace_usdt_part = { ASM_LINES(part_lines) };

static const struct asm_insn usdt_lines[] = {
	MOV_REG(R6, R1),
	COUNT(stats, struct trace_stats, common.fired),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, filtered),
	STX(DW, R10, IDS, R0),
	RSH(R0, 32),
	JEQ_PARAM(R0, struct trace_config, own[0], own),
	JEQ_PARAM(R0, struct trace_config, own[1], own),
	WHEN(struct trace_config, by_cpu),
		FILTER_CPU(cpus, CPU, filtered),
	END,
	ST(DW, R10, STACK, 0),

	WHEN(struct trace_config, stacks),
		MOV_REG(R1, R6),
		LDX(DW, R2, R10, IDS),
		MOV(R3, 0),
		CALL_FUNC(stack_take),
		JEQ(R0, 0, no_stack),
		MOV_REG(R9, R0),
		ST(DW, R9, offsetof(struct stack_record, value), 0),
		MOV_REG(R1, R9),
		CALL_FUNC(stack_value),
		LDX(DW, R1, R9, offsetof(struct stack_record, hash)),
		STX(DW, R10, STACK, R1),
		STACK_DONE(R9),
		LDX(DW, R1, R10, STACK),
		JNE(R1, 0, has_stack),
LABEL(no_stack),
		COUNT(stats, struct trace_stats, stack_lost),
LABEL(has_stack),
	END,

	LD_MAP(R1, ring),
	LD_PARAM(R2, struct trace_config, reserve),
	MOV(R3, 0),
	CALL(ringbuf_reserve),
	JEQ(R0, 0, ring_full),
	MOV_REG(R8, R0),
	CALL(ktime_get_ns),
	STX(DW, R8, MEMBER(time), R0),
	LDX(DW, R1, R10, IDS),
	STX(DW, R8, MEMBER(pid_tgid), R1),
	LDX(DW, R1, R10, STACK),
	STX(DW, R8, MEMBER(stack), R1),
	CALL(get_smp_processor_id),
	STX(W, R8, MEMBER(cpu), R0),
	LD_PARAM(R1, struct trace_config, event),
	STX(W, R8, MEMBER(event), R1),
	LD_PARAM(R1, struct trace_config, bytes),
	STX(W, R8, MEMBER(bytes), R1),
	ST(W, R8, MEMBER(unused), 0),
	MOV_REG(R1, R8),
	ADD(R1, MEMBER(comm)),
	MOV(R2, 16),
	CALL(get_current_comm),

	/* Which arguments this place has: above the number of the probe. */
	WHEN(struct trace_config, usdt_by_cookie),
		MOV_REG(R1, R6),
		CALL(get_attach_cookie),
		RSH(R0, 32),
	END,
	UNLESS(struct trace_config, usdt_by_cookie),
		LD_PARAM(R0, struct trace_config, usdt_args),
	END,
	STX(W, R8, USDT(args), R0),
	INCLUDE(&rp_trace_usdt_part),
	RING_SUBMIT(R8, BPF_RB_NO_WAKEUP),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

LABEL(filtered),
	COUNT(stats, struct trace_stats, common.filtered),
	JA(out),
LABEL(own),
	COUNT(stats, struct trace_stats, own),
	JA(out),
LABEL(ring_full),
	COUNT(stats, struct trace_stats, common.ring_full),
	JA(out),
	INCLUDE(&rp_target_part),
	WHEN(struct trace_config, stacks),
		INCLUDE(&rp_stack_part),
	END,
};
/* clang-format on */

#define BYTES (sizeof(struct trace_usdt) + sizeof(uint64_t))
static const struct trace_config usual_config = { .common = PROGRAM_USUAL_CONFIG,
						  .own = { 1, 1 },
						  .bytes = BYTES,
						  .reserve = sizeof(struct trace_record) + BYTES };

const struct rp_program rp_trace_usdt_programs[] = {
	{ RP_CODE("trace_usdt", usdt_lines), RP_ON_UPROBE, RP_MAPS(rp_trace_maps, TRACE_MAPS),
	  RP_CONFIG(usual_config), .code.frame = &usdt_frame_layout,
	  .summary = "sends the arguments of a USDT probe" },
	RP_LIST_END,
};
