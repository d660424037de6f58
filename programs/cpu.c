/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpu: where does CPU time go?
 *
 * A perf event fires on every CPU some hundred times a second and runs cpu_sample, in the context
 * of the task it interrupted. That task and its two stacks are the work of stack.c; here the sample
 * is counted.
 */
#include <linux/bpf_perf_event.h>

#include "programs/cpu.h"

const struct asm_map rp_cpu_maps[CPU_MAPS] = {
	STACK_MAP_LIST(STACK_COUNTS_TABLE, struct program_stats, rp_program_stats_layout),
	[CPU_MAP_SAMPLER] = { "sampler", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1 },
};

enum { PERIOD = offsetof(struct bpf_perf_event_data, sample_period) };

/* The stack frame of cpu_sample. */
ASM_FRAME(sample_frame,
	(uint64_t, time, TIME),
	(uint32_t, tid, TID));

/* clang-format off */
/*
 * The time at which the timer of the event was to fire. The kernel has just looked at it, so it
 * costs next to nothing, where its clock is a hundred nanoseconds from here: half a dozen lines of
 * memory that nothing else has asked for since the last sample.
 */
#define SAMPLE_WAS_DUE(ctx, at)                                                                    \
	MOV_REG(R1, ctx),                                                                          \
	CALL_KFUNC(bpf_cast_to_kern_ctx),                                                          \
	LD_FIELD(R0, R0, "bpf_perf_event_data_kern", "event.hw.hrtimer.node.expires"),             \
	STX(DW, R10, at, R0)

static const struct asm_insn cpu_sample[] = {
	MOV_REG(R6, R1), /* the context: calls destroy R1 */
	COUNT(stats, struct program_stats, fired),

	/* The idle task is process 0, on every CPU. */
	UNLESS(struct cpu_config, keep_idle),
		CALL(get_current_pid_tgid),
		JEQ(R0, 0, idle),
	END,
	WHEN(struct cpu_config, common.during),
		CALL(get_current_pid_tgid),
		STX(W, R10, TID, R0),
		DURING_OR(struct cpu_config, TID, outside),
	END,
	CALL_FUNC(target_ids),
	JEQ(R0, -1, filtered),

	/* R7 = a record of its stacks. */
	MOV_REG(R7, R0),
	WHEN(struct cpu_config, common.timer),
		SAMPLE_WAS_DUE(R6, TIME),
	END,
	UNLESS(struct cpu_config, common.timer),
		STACK_SAMPLE_TIME(struct cpu_config, TIME),
	END,
	MOV_REG(R1, R6),
	MOV_REG(R2, R7),
	MOV(R3, 0),
	CALL_FUNC(stack_take),
	JEQ(R0, 0, out),
	MOV_REG(R7, R0),

	/* One sample, that stands for so much time or so many events. R8 = the latter. */
	LDX(DW, R8, R6, PERIOD),
	STACK_SET_TIME(struct cpu_config, R7, TIME),
	ST(DW, R7, offsetof(struct stack_record, value[CPU_WEIGHT_SAMPLES]), 1),
	STX(DW, R7, offsetof(struct stack_record, value[CPU_WEIGHT_PERIOD]), R8),
	MOV_REG(R1, R7),
	CALL_FUNC(stack_value),
	JEQ(R0, 0, done),
	MOV(R1, 1),
	ATOMIC_ADD(DW, R0, 8 * CPU_WEIGHT_SAMPLES, R1),
	ATOMIC_ADD(DW, R0, 8 * CPU_WEIGHT_PERIOD, R8),
LABEL(done),
	WHEN(struct cpu_config, common.deep_bytes),
		LDX(W, R1, R7, offsetof(struct stack_record, fresh)),
		AND(R1, STACK_DEEP),
		JEQ(R1, 0, in_one),
		MOV_REG(R1, R7),
		CALL_FUNC(stack_deep_done),
LABEL(in_one),
	END,
	STACK_DONE(R7),
	JA(out),

LABEL(filtered),
	COUNT(stats, struct program_stats, filtered),
	JA(out),
	WHEN(struct cpu_config, common.during),
LABEL(outside),
		COUNT(stats, struct program_stats, outside),
		JA(out),
	END,
	UNLESS(struct cpu_config, keep_idle),
LABEL(idle),
		COUNT(stats, struct program_stats, idle),
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	INCLUDE(&rp_target_part),
	INCLUDE(&rp_stack_part),
};

/*
 * What the event runs where cpu_sample begins without the walks of languages, which take the
 * verifier longer than all the rest: one with them takes its place once somebody has such frames.
 */
static const struct asm_insn cpu_begin[] = {
	LD_MAP(R2, sampler),
	MOV(R3, 0),
	CALL(tail_call), /* which comes back only from an empty place */
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

static const struct cpu_config usual_config = { .common = PROGRAM_TABLE_CONFIG };

const struct rp_program rp_cpu_programs[] = {
	{ RP_CODE("cpu_sample", cpu_sample), .code.frame = &sample_frame_layout, RP_ON_PERF_EVENT,
	  .role = CPU_SAMPLE, RP_MAPS(rp_cpu_maps, STACK_MAPS), RP_CONFIG(usual_config),
	  .summary = "counts the stacks that a perf event interrupts" },
	{ RP_CODE("cpu_begin", cpu_begin), RP_ON_PERF_EVENT, .role = CPU_BEGIN,
	  RP_MAPS(rp_cpu_maps, CPU_MAPS), RP_CONFIG(usual_config),
	  .summary = "goes on with cpu_sample, which may be exchanged" },
	RP_LIST_END,
};
