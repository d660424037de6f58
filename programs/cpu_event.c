/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpu -e group:event: who comes by a tracepoint?
 *
 * As programs/cpu.c, but what counts is that the kernel comes by: cpu_event runs each time, and of
 * those that were asked for, every so many on a CPU are taken as samples. The kernel runs programs
 * at tracepoints one at a time on a CPU, and leaves out those that come while one is at work
 * (bpf_prog_active), so that the count of a CPU has one writer.
 */
#include "programs/cpu.h"

static const struct asm_layout turn_layout = ASM_LAYOUT(struct cpu_turn, since, skip);

const struct asm_map rp_cpu_event_maps[CPU_EVENT_MAPS] = {
	STACK_MAP_LIST(STACK_COUNTS_TABLE, struct program_stats, rp_program_stats_layout),
	[CPU_EVENT_MAP_TURNS] = { "turns", BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct cpu_turn), 1,
				  .value = &turn_layout },
};

/* The stack frame of cpu_event. */
ASM_FRAME(event_frame, (uint64_t, time, TIME), (uint32_t, first, FIRST));

/* clang-format off */
static const struct asm_insn cpu_event[] = {
	MOV_REG(R6, R1), /* the context: calls destroy R1 */

	/* R8 = what this CPU has counted. */
	ST(W, R10, FIRST, 0),
	MAP_LOOKUP(turns, FIRST),
	JEQ(R0, 0, out), /* never */
	MOV_REG(R8, R0),
	LDX(DW, R1, R8, offsetof(struct cpu_turn, skip)),
	JNE(R1, 0, filtered),

	/* The idle task is process 0, on every CPU. */
	UNLESS(struct cpu_config, keep_idle),
		CALL(get_current_pid_tgid),
		JEQ(R0, 0, idle),
	END,
	CALL_FUNC(target_ids),
	JEQ(R0, -1, filtered),
	MOV_REG(R7, R0),

	/* Is it the turn of this one? What has no turn is no sample. */
	LDX(DW, R1, R8, offsetof(struct cpu_turn, since)),
	ADD(R1, 1),
	STX(DW, R8, offsetof(struct cpu_turn, since), R1),
	LD_PARAM(R2, struct cpu_config, every),
	JLT_REG(R1, R2, out),
	ST(DW, R8, offsetof(struct cpu_turn, since), 0),
	COUNT(stats, struct program_stats, fired),

	/* R7 = a record of its stacks. */
	STACK_SAMPLE_TIME(struct cpu_config, TIME),
	MOV_REG(R1, R6),
	MOV_REG(R2, R7),
	MOV(R3, 0),
	CALL_FUNC(stack_take),
	JEQ(R0, 0, out),
	MOV_REG(R7, R0),

	/* One sample, that stands for so many events. */
	LD_PARAM(R8, struct cpu_config, every),
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
	STACK_DONE(R7),
	JA(out),

LABEL(filtered),
	COUNT(stats, struct program_stats, fired),
	COUNT(stats, struct program_stats, filtered),
	JA(out),
	UNLESS(struct cpu_config, keep_idle),
LABEL(idle),
		COUNT(stats, struct program_stats, fired),
		COUNT(stats, struct program_stats, idle),
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	INCLUDE(&rp_target_part),
	INCLUDE(&rp_stack_part),
};
/* clang-format on */

static const struct cpu_config usual_config = { .common = PROGRAM_TABLE_CONFIG, .every = 1 };

const struct rp_program rp_cpu_event_programs[] = {
	{ RP_CODE("cpu_event", cpu_event), .code.frame = &event_frame_layout, RP_ON_RECORD,
	  RP_MAPS(rp_cpu_event_maps, CPU_EVENT_MAPS), RP_CONFIG(usual_config),
	  .summary = "counts the stacks that come by a tracepoint" },
	RP_LIST_END,
};
