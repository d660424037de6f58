/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * syscalls_enter, syscalls_exit: every system call, from its beginning to its end.
 *
 *	enter	started[task] = { now, number, process }
 *	exit	sums[number, process]: a histogram of how long, how many failed
 *
 * Which call it was is what its beginning says: execve returns with the registers of another
 * program, and the child of a fork returns from a call that it has not made. A thread may also have
 * another id by then, so the key is where the kernel has its struct task_struct.
 */
#include "syscalls.h"
#include "programs/shared/compat.h"
#include "programs/shared/new_value.h"
#include "programs/shared/share.h"

static const struct asm_layout stats_layout =
	ASM_LAYOUT(struct syscalls_stats, (common, &rp_program_stats_layout), own, exits,
		   thread_ended, unended, threads_full, sums_full, errors_full);
static const struct asm_layout call_layout =
	ASM_LAYOUT(struct syscalls_call, start, number, process);
static const struct asm_layout key_layout =
	ASM_LAYOUT(struct syscalls_key, number, process, error, comm);

const struct asm_map rp_syscalls_maps[SYSCALLS_MAPS] = {
	STACK_MAP_LIST(STACK_COUNTS_MAP(1), struct syscalls_stats, stats_layout),
	[SYSCALLS_MAP_STARTED] = { "started", BPF_MAP_TYPE_HASH, 8, sizeof(struct syscalls_call),
				   4096, .value = &call_layout },
	[SYSCALLS_MAP_SUMS] = { "sums", BPF_MAP_TYPE_PERCPU_HASH, sizeof(struct syscalls_key),
				sizeof(struct syscalls_sum), 512, .key = &key_layout },
	[SYSCALLS_MAP_ERRORS] = { "errors", BPF_MAP_TYPE_PERCPU_HASH, sizeof(struct syscalls_key),
				  8, 1, .key = &key_layout },
	[SYSCALLS_MAP_CPUS] = { "cpus", BPF_MAP_TYPE_HASH, 4, 4, 1 },
	[SYSCALLS_MAP_NO_SUM] = { "no_sum", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct syscalls_sum), 1 },
	[SYSCALLS_MAP_SHARES] = SHARE_MAP(2),
};

enum {
	START = offsetof(struct syscalls_call, start),
	NUMBER = offsetof(struct syscalls_call, number),
	PROCESS = offsetof(struct syscalls_call, process)
};

/* ---- the beginning */

/* The stack frame of syscalls_enter. */
ASM_FRAME(enter_frame,
	(struct syscalls_call, call, CALL_AT, &call_layout),
	(call.start, CALL_START),
	(call.number, CALL_NUMBER),
	(call.process, CALL_PROCESS),
	(uint64_t, room, ROOM), /* for LEAVE_COMPAT_CALL */
	(uint64_t, task, TASK),
	(uint32_t, cpu, CPU));

/* clang-format off */
/* sys_enter(struct pt_regs *regs, long id), or the record of raw_syscalls:sys_enter */
static const struct asm_insn enter_lines[] = {
	LDX(DW, R7, R1, 8),
	UNLESS(struct syscalls_config, classic),
		LEAVE_COMPAT_CALL(ROOM, out),
	END,
	COUNT(stats, struct syscalls_stats, common.fired),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, filtered),
	RSH(R0, 32),
	JEQ_PARAM(R0, struct syscalls_config, own[0], own),
	JEQ_PARAM(R0, struct syscalls_config, own[1], own),
	MOV_REG(R8, R0),
	WHEN(struct syscalls_config, by_cpu),
		FILTER_CPU(cpus, CPU, filtered),
	END,
	JEQ_PARAM(R7, struct syscalls_config, exit, never_returns),
	JEQ_PARAM(R7, struct syscalls_config, exit_group, never_returns),

	READ_OWN_TASK(TASK),
	MAP_LOOKUP(started, TASK),
	JEQ(R0, 0, new),
	MOV_REG(R9, R0),
	LDX(DW, R1, R9, START),
	JEQ(R1, 0, known),
	COUNT(stats, struct syscalls_stats, unended),
LABEL(known),
	STX(W, R9, NUMBER, R7),
	STX(W, R9, PROCESS, R8),
	CALL(ktime_get_ns),
	STX(DW, R9, START, R0),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

LABEL(new),
	STX(W, R10, CALL_NUMBER, R7),
	STX(W, R10, CALL_PROCESS, R8),
	CALL(ktime_get_ns),
	STX(DW, R10, CALL_START, R0),
	MAP_UPDATE(started, TASK, CALL_AT, BPF_ANY),
	JEQ(R0, 0, out),
	COUNT(stats, struct syscalls_stats, threads_full),
	JA(out),
LABEL(never_returns),
	COUNT(stats, struct syscalls_stats, exits),
	JA(out),
LABEL(filtered),
	COUNT(stats, struct syscalls_stats, common.filtered),
	JA(out),
LABEL(own),
	COUNT(stats, struct syscalls_stats, own),
	JA(out),
	INCLUDE(&rp_target_part),
};
/* clang-format on */

/* ---- the end */

/* The stack frame of syscalls_exit. */
ASM_FRAME(exit_frame,
	(struct syscalls_key, key, KEY, &key_layout),
	(key.number, KEY_NUMBER),
	(key.process, KEY_PROCESS),
	(key.error, KEY_ERROR),
	(key.comm, KEY_COMM),
	(uint64_t, one, ONE),
	(uint64_t, task, EXIT_TASK));

/* clang-format off */
/* sys_exit(struct pt_regs *regs, long ret), or the record of raw_syscalls:sys_exit */
static const struct asm_insn exit_lines[] = {
	UNLESS(struct syscalls_config, classic),
		LDX(DW, R6, R1, 8),
	END,
	WHEN(struct syscalls_config, classic),
		LDX(DW, R6, R1, 16),
	END,
	READ_OWN_TASK(EXIT_TASK),
	MAP_LOOKUP(started, EXIT_TASK),
	JEQ(R0, 0, out), /* it was not asked for, or began before */
	MOV_REG(R7, R0),
	LDX(DW, R9, R7, START),
	JEQ(R9, 0, out),
	CALL(ktime_get_ns),
	MOV_REG(R8, R0),
	SUB_REG(R8, R9), /* R8 = for how long */
	ST(DW, R7, START, 0),
	ZERO(KEY, sizeof(struct syscalls_key)),
	LDX(W, R1, R7, NUMBER),
	STX(W, R10, KEY_NUMBER, R1),
	WHEN(struct syscalls_config, by_process),
		LDX(W, R1, R7, PROCESS),
		STX(W, R10, KEY_PROCESS, R1),
	END,
	WHEN(struct syscalls_config, by_comm),
		READ_COMM(KEY_COMM),
	END,

	/* R7 = its sum. */
	MAP_LOOKUP(sums, KEY),
	JNE(R0, 0, known),
	/* Any number can be called. */
	SHARE_OR(0, LD_PARAM(R2, struct syscalls_config, most_sums), sums_full),
	MAP_NEW_VALUE(sums, KEY, no_sum),
	JEQ(R0, 0, sums_full),
LABEL(known),
	MOV_REG(R7, R0),
	HIST_ADD(R7, R8, SYSCALLS_HIST_BITS, SYSCALLS_HIST_SLOTS),

	/* From -4095 to -1: an error, as the system call's ABI has it. */
	JSGE(R6, 0, out),
	JSLT(R6, -4095, out),
	MOV(R1, 1),
	ATOMIC_ADD(DW, R7, offsetof(struct syscalls_sum, errors), R1),
	WHEN(struct syscalls_config, errors),
		NEG(R6),
		STX(W, R10, KEY_ERROR, R6),
		ST(DW, R10, ONE, 1),
		MAP_LOOKUP(errors, KEY),
		JNE(R0, 0, known_error),
		SHARE_OR(1, MOV(R2, SYSCALLS_ERRORS), errors_full),
LABEL(known_error),
		MAP_ADD(errors, KEY, ONE),
		JEQ(R0, 0, out),
LABEL(errors_full),
		COUNT(stats, struct syscalls_stats, errors_full),
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
LABEL(sums_full),
	COUNT(stats, struct syscalls_stats, sums_full),
	JA(out),
};
/* clang-format on */

/* ---- a thread ends */

/* The stack frame of syscalls_thread. */
ASM_FRAME(thread_frame, (uint64_t, task, ENDED_TASK));

/* clang-format off */
static const struct asm_insn thread_lines[] = {
	READ_OWN_TASK(ENDED_TASK),
	MAP_LOOKUP(started, ENDED_TASK),
	JEQ(R0, 0, out),
	LDX(DW, R1, R0, START),
	JEQ(R1, 0, forget),
	COUNT(stats, struct syscalls_stats, thread_ended),
LABEL(forget),
	MAP_DELETE(started, ENDED_TASK),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

#define SYSCALLS_CONFIG(classic_)                                                                  \
	{                                                                                          \
		.common = PROGRAM_USUAL_CONFIG, .own = { 1, 1 }, .classic = (classic_),            \
		.by_process = 1, .by_comm = 1, .most_sums = 512, .errors = 1, .exit = 60,          \
		.exit_group = 231                                                                  \
	}
static const struct syscalls_config usual_config = SYSCALLS_CONFIG(0),
				    classic_config = SYSCALLS_CONFIG(1);

#define SYSCALLS_PROGRAM(role_, config_, frame_)                                                   \
	.role = (role_), RP_MAPS(rp_syscalls_maps, SYSCALLS_MAPS), RP_CONFIG(config_),             \
	.code.frame = &frame_##_layout

const struct rp_program rp_syscalls_programs[] = {
	{ RP_CODE("syscalls_exit", exit_lines), RP_ON_TP_BTF("sys_exit"),
	  SYSCALLS_PROGRAM(SYSCALLS_EXITS, usual_config, exit_frame), .ends = true,
	  .summary = "adds how long a system call took, and whether it failed" },
	{ RP_CODE("syscalls_ret", exit_lines), RP_ON_TP("raw_syscalls", "sys_exit"),
	  SYSCALLS_PROGRAM(SYSCALLS_EXITS, classic_config, exit_frame), RP_NEEDS(RP_NEED_HOOK),
	  .ends = true,
	  .summary =
		  "without kernel BTF: adds how long a system call took, and whether it failed" },
	{ RP_CODE("syscalls_thread", thread_lines), RP_ON_TP_BTF("sched_process_exit"),
	  SYSCALLS_PROGRAM(SYSCALLS_THREAD_ENDS, usual_config, thread_frame), .ends = true,
	  .summary = "forgets a thread that ends" },
	{ RP_CODE("syscalls_gone", thread_lines), RP_ON_TP("sched", "sched_process_exit"),
	  SYSCALLS_PROGRAM(SYSCALLS_THREAD_ENDS, classic_config, thread_frame), .ends = true,
	  .summary = "without kernel BTF: forgets a thread that ends" },
	{ RP_CODE("syscalls_enter", enter_lines), RP_ON_TP_BTF("sys_enter"),
	  SYSCALLS_PROGRAM(SYSCALLS_ENTERS, usual_config, enter_frame),
	  .summary = "notes when a system call begins" },
	{ RP_CODE("syscalls_begin", enter_lines), RP_ON_TP("raw_syscalls", "sys_enter"),
	  SYSCALLS_PROGRAM(SYSCALLS_ENTERS, classic_config, enter_frame), RP_NEEDS(RP_NEED_HOOK),
	  .summary = "without kernel BTF: notes when a system call begins" },
	RP_LIST_END,
};
