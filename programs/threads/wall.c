/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wall: all time of threads.
 *
 * At any time a thread is on a CPU, is waiting for one, or is waiting for something else. What ends
 * one of these is an event, so nothing is missing between them and their sum is the time since the
 * thread was first known.
 *
 *	sched_switch, it leaves		on_cpu += since then; its stack is taken
 *	sched_wakeup			its wait is over; it is queued
 *	sched_switch, it is next	what it waited and was queued is added to its stack
 *	sched_process_exec		it may have another id from now on
 *
 * Where it was on the CPU is sampled by a perf event: how long is exact, for the thread, and its
 * samples share that out.
 */
#include <linux/bpf_perf_event.h>

#include "programs/shared/sched_thread.h"
#include "programs/shared/stream.h"
#include "wall.h"

const struct asm_map rp_wall_maps[WALL_MAPS] = {
	SCHED_MAP_LIST(WALL_WEIGHTS, sizeof(struct sched_thread), rp_sched_thread_layout),
	[WALL_MAP_SWITCHED] = { "switched", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, 1 },
	[WALL_MAP_BIRTHS] = { "births", BPF_MAP_TYPE_LRU_HASH, 4, 8, 8192 },
};

/* The stack frame of wall_leave. */
ASM_FRAME(leave_frame,
	/* a new entry of the map threads */
	(struct sched_thread, thread, THREAD, &rp_sched_thread_layout),
	/* arguments; prev is the task by its BTF type, or when it came */
	(uint64_t, context, CONTEXT),
	(uint64_t, state, STATE),
	(uint64_t, now, NOW),
	(uint64_t, prev, PREV),
	(uint64_t, ran, RAN), /* since it came to its CPU, by the kernel's sum */
	(uint32_t, tid, LEAVE_TID));
/* The stack frame of wall_back, of wall_add and of the program on sched_wakeup. */
ASM_FRAME(back_frame,
	(uint64_t, hash, ADD_HASH),
	(uint64_t, now, BACK_NOW),
	(uint32_t, tid, BACK_TID));

enum {
	RECORD_HASH = offsetof(struct stack_record, hash),
	RECORD_VALUE = offsetof(struct stack_record, value),
	RECORD_PID_TGID = offsetof(struct stack_record, pid_tgid),
	RECORD_USER_END = offsetof(struct stack_record, user_end),
	RECORD_COMM = offsetof(struct stack_record, comm)
};
/* As weights lie in the map and, from value on, in a record. */
enum {
	COUNTED = 8 * WALL_WEIGHT_COUNT,
	WAITING = 8 * WALL_WEIGHT_WAITING,
	PREEMPTED = 8 * WALL_WEIGHT_PREEMPTED,
	WAS_QUEUED = 8 * WALL_WEIGHT_QUEUED
};

/* clang-format off */
/* dst += what it takes from the time in a to the one in b, which is not before it. */
#define ADD_TIME(thread, member, a, b, t)                                                          \
	LDX(DW, t, thread, member),                                                                \
	ADD_REG(t, b),                                                                             \
	SUB_REG(t, a),                                                                             \
	STX(DW, thread, member, t)

/* Of the stack ADD_HASH: from the time in a to the one in b, if that is later; R5 = its count. */
#define SEND_INTERVAL(a, b, with)                                                                  \
	SCOPE("SEND_INTERVAL(" #a ", " #b ", " #with ")"),                                         \
		MOV_REG(R4, b),                                                                    \
		SUB_REG(R4, a),                                                                    \
		JEQ(R4, 0, .nothing),                                                              \
		LDX(DW, R1, R10, ADD_HASH),                                                        \
		MOV(R2, with),                                                                     \
		MOV_REG(R3, b),                                                                    \
		LD_IMM64(R0, STREAM_KIND(STACK_MOMENT_UNTIL)),                                     \
		OR_REG(R5, R0),                                                                    \
		CALL_FUNC(stream_moment),                                                          \
		LABEL(.nothing),                                                                   \
	END

static const struct asm_insn wall_lines[] = {
	/*
	 * wall_add(thread, until): it was waiting or queued so long. Adds that to the stack that it
	 * left with, which is forgotten.
	 */
FUNC(wall_add),
	MOV_REG(R6, R1),
	MOV_REG(R7, R2),
	LDX(DW, R8, R6, SINCE),
	JGE_REG(R7, R8, forwards),
	COUNT(stats, struct sched_stats, backwards),
	MOV_REG(R7, R8),
LABEL(forwards),

	/* R9 = from when on it was queued: [R8, R9) is its wait, [R9, R7) is its queuing. */
	MOV_REG(R9, R8),
	LDX(W, R1, R6, PHASE),
	JEQ(R1, PHASE_QUEUED, split),
	LDX(DW, R9, R6, WOKEN),
	JEQ(R9, 0, never_woken),
	JLT_REG(R9, R8, never_woken),
	JLE_REG(R9, R7, split),
LABEL(never_woken),
	MOV_REG(R9, R7),
LABEL(split),

	LDX(DW, R1, R6, HASH),
	ST(DW, R6, HASH, 0), /* at once: asleep.c takes away what nobody has counted */
	JEQ(R1, 0, no_stack),
	STX(DW, R10, ADD_HASH, R1),
	WHEN(struct sched_config, common.stream),
		MOV(R5, 1),
		SEND_INTERVAL(R8, R9, WALL_MOMENT_WAITING),
		MOV(R5, 0), /* the wait has been counted */
		JNE_REG(R8, R9, then_queued),
		MOV(R5, 1),
LABEL(then_queued),
		SEND_INTERVAL(R9, R7, WALL_MOMENT_QUEUED),
	END,
	MAP_LOOKUP(counts, ADD_HASH),
	JEQ(R0, 0, uncounted),
	SUB_REG(R7, R9),
	ATOMIC_ADD(DW, R0, WAS_QUEUED, R7),
	SUB_REG(R9, R8),
	MOV(R1, 1),
	LDX(W, R2, R6, PHASE),
	JEQ(R2, PHASE_QUEUED, preempted),
	ATOMIC_ADD(DW, R0, COUNTED, R1),
	ATOMIC_ADD(DW, R0, WAITING, R9),
	JA(out),
LABEL(preempted),
	ATOMIC_ADD(DW, R0, PREEMPTED, R1),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	/*
	 * The map was full when it left: its values go through the ring too, in a record without
	 * frames.
	 */
LABEL(uncounted),
	RING_RESERVE(events, sizeof(struct stack_record)),
	JEQ(R0, 0, ring_full),
	STACK_RECORD_CLEAR(R0),
	LDX(DW, R1, R10, ADD_HASH),
	STX(DW, R0, RECORD_HASH, R1),
	LDX(DW, R1, R6, PID_TGID),
	STX(DW, R0, RECORD_PID_TGID, R1),
	SUB_REG(R7, R9),
	STX(DW, R0, RECORD_VALUE + WAS_QUEUED, R7),
	SUB_REG(R9, R8),
	STX(DW, R0, RECORD_VALUE + WAITING, R9),
	LDX(W, R1, R6, PHASE),
	STX(DW, R0, RECORD_VALUE + PREEMPTED, R1), /* waiting is 0, queued is 1, */
	XOR(R1, 1),
	STX(DW, R0, RECORD_VALUE + COUNTED, R1), /* and it is neither on a CPU */
	RING_SUBMIT(R0, 0),
	JA(out),
LABEL(ring_full),
	COUNT(stats, struct sched_stats, common.ring_full),
	ADD_TIME(R6, LOST, R8, R7, R1),
	JA(out),
LABEL(no_stack),
	LDX(W, R1, R6, PHASE),
	JEQ(R1, PHASE_QUEUED, new),
	ADD_TIME(R6, LOST, R8, R7, R1),
	JA(out),
LABEL(new),
	ADD_TIME(R6, QUEUED, R8, R7, R1),
	JA(out),

	/* wall_back(tid, now): the thread runs again. */
FUNC(wall_back),
	STX(W, R10, BACK_TID, R1),
	STX(DW, R10, BACK_NOW, R2),
	MAP_LOOKUP(threads, BACK_TID),
	JEQ(R0, 0, out),
	LDX(W, R1, R0, PHASE),
	JEQ(R1, PHASE_ON_CPU, out), /* its leaving was not seen */
	MOV_REG(R6, R0),
	MOV_REG(R1, R6),
	LDX(DW, R2, R10, BACK_NOW),
	CALL_FUNC(wall_add),
	LDX(DW, R1, R10, BACK_NOW),
	STX(DW, R6, SINCE, R1),
	ST(DW, R6, WOKEN, 0),
	ST(W, R6, PHASE, PHASE_ON_CPU),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	/*
	 * wall_leave(context, tid, state, now, task): the current thread stops running. Without BTF
	 * the last one is when it came to its CPU.
	 */
FUNC(wall_leave),
	JEQ(R2, 0, idle), /* on every CPU */
	STX(DW, R10, CONTEXT, R1),
	STX(W, R10, LEAVE_TID, R2),
	STX(DW, R10, STATE, R3),
	STX(DW, R10, NOW, R4),
	STX(DW, R10, PREV, R5),
	UNLESS(struct sched_config, classic),
		LD_FIELD(R1, R5, "task_struct", "se.sum_exec_runtime"),
		LD_FIELD(R2, R5, "task_struct", "se.prev_sum_exec_runtime"),
		SUB_REG(R1, R2),
	END,
	WHEN(struct sched_config, classic),
		MOV_REG(R1, R4),
		SUB_REG(R1, R5),
	END,
	STX(DW, R10, RAN, R1),
	MAP_LOOKUP(threads, LEAVE_TID),
	JNE(R0, 0, known),

	/* Born after the gate was opened, or one that has become a target since. */
	CALL_FUNC(target_ids),
	JEQ(R0, -1, filtered),
	STX(DW, R10, THREAD + PID_TGID, R0),
	ZERO(THREAD + THREAD_COMM, 16),
	ST(DW, R10, THREAD + HASH, 0),
	ST(W, R10, THREAD + USER_END, 0),
	ST(W, R10, THREAD + PHASE, PHASE_ON_CPU),
	ST(DW, R10, THREAD + WAKER, 0),
	ST(DW, R10, THREAD + WOKEN, 0),
	ST(DW, R10, THREAD + ON_CPU, 0),
	ST(DW, R10, THREAD + QUEUED, 0),
	ST(DW, R10, THREAD + LOST, 0),
	LD_MAP_VALUE(R2, gate, 0),
	LDX(DW, R2, R2, 0),
	LDX(DW, R3, R10, NOW),
	LDX(DW, R1, R10, RAN),
	SUB_REG(R3, R1),
	JGE_REG(R3, R2, came), /* R3 = when it came to its CPU */
	MOV_REG(R3, R2),
LABEL(came),
	STX(DW, R10, THREAD + SINCE, R3),
	STX(DW, R10, THREAD + BORN, R3),
	UNLESS(struct sched_config, classic),
		LDX(DW, R5, R10, PREV),

		/*
		 * One that has left before is not new: it has become a target, or got its id by an
		 * exec.
		 */
		LD_FIELD(R1, R5, "task_struct", "nvcsw"),
		LD_FIELD(R4, R5, "task_struct", "nivcsw"),
		ADD_REG(R1, R4),
		JGT(R1, 1, old),
		LD_FIELD(R1, R5, "task_struct", "start_time"),
		JLT_REG(R1, R2, old),

		/*
		 * Of a new one the kernel knows how long it has run; before that it waited for a
		 * CPU.
		 */
		JGE_REG(R1, R3, old),
		STX(DW, R10, THREAD + BORN, R1),
		LD_FIELD(R4, R5, "task_struct", "se.prev_sum_exec_runtime"),
		SUB_REG(R3, R1),
		JLE_REG(R4, R3, sane),
		MOV_REG(R4, R3),
LABEL(sane),
		STX(DW, R10, THREAD + ON_CPU, R4),
		SUB_REG(R3, R4),
		STX(DW, R10, THREAD + QUEUED, R3),
	END,
	WHEN(struct sched_config, classic), /* it has been born, and then has waited until now */
		MAP_LOOKUP(births, LEAVE_TID),
		JEQ(R0, 0, old),
		LDX(DW, R1, R0, 0),
		LDX(DW, R3, R10, THREAD + SINCE),
		JLT_REG(R3, R1, old),
		STX(DW, R10, THREAD + BORN, R1),
		SUB_REG(R3, R1),
		STX(DW, R10, THREAD + QUEUED, R3),
		MAP_DELETE(births, LEAVE_TID),
	END,
LABEL(old),
	MAP_UPDATE(threads, LEAVE_TID, THREAD, BPF_NOEXIST), /* a visit of asleep.c may be faster */
	MAP_LOOKUP(threads, LEAVE_TID),
	JEQ(R0, 0, full),

	/* On the CPU until now; or, if its return was not seen, since it has run for so long. */
LABEL(known),
	MOV_REG(R8, R0),
	LDX(DW, R7, R10, NOW),
	LDX(W, R1, R8, PHASE),
	JEQ(R1, PHASE_ON_CPU, was_on_cpu),
	COUNT(stats, struct sched_stats, unseen),
	MOV_REG(R1, R8),
	LDX(DW, R2, R10, RAN),
	LDX(DW, R3, R8, SINCE),
	SUB_REG(R7, R2),
	JGE_REG(R7, R3, ran),
	MOV_REG(R7, R3),
LABEL(ran),
	MOV_REG(R2, R7),
	CALL_FUNC(wall_add),
	STX(DW, R8, SINCE, R7),
LABEL(was_on_cpu),
	LDX(DW, R7, R10, NOW),
	LDX(DW, R1, R8, SINCE),
	JLT_REG(R7, R1, left),
	ADD_TIME(R8, ON_CPU, R1, R7, R2),
	STX(DW, R8, SINCE, R7),
LABEL(left),
	ST(DW, R8, HASH, 0),
	ST(DW, R8, WOKEN, 0),
	LDX(DW, R6, R10, STATE),
	ST(W, R8, PHASE, PHASE_WAITING),
	JNE(R6, THREAD_RUNNABLE, take),
	ST(W, R8, PHASE, PHASE_QUEUED),
LABEL(take),
	WHEN(struct sched_config, common.during),
		JSET(R6, THREAD_DEAD, inside),
		DURING_OR(struct sched_config, LEAVE_TID, outside),
LABEL(inside),
	END,

	/* R9 = where it leaves. */
	LDX(DW, R1, R10, CONTEXT),
	LDX(DW, R2, R8, PID_TGID),
	MOV_REG(R3, R6),
	CALL_FUNC(stack_begin),
	JEQ(R0, 0, busy),
	MOV_REG(R9, R0),
	LDX(DW, R7, R10, CONTEXT),
	MOV_REG(R1, R7),
	MOV_REG(R2, R9),
	INCLUDE(&rp_stack_kernel_part),
	MOV_REG(R1, R9),
	MOV_REG(R2, R7),
	MOV_REG(R3, R0),
	CALL_FUNC(stack_end),
	LDX(DW, R7, R10, NOW),
	LDX(DW, R1, R9, RECORD_COMM),
	STX(DW, R8, THREAD_COMM, R1),
	LDX(DW, R1, R9, RECORD_COMM + 8),
	STX(DW, R8, THREAD_COMM + 8, R1),
	JSET(R6, THREAD_DEAD, ended),
	ST(DW, R9, RECORD_VALUE, 0),
	ST(DW, R9, RECORD_VALUE + 8, 0),
	ST(DW, R9, RECORD_VALUE + 16, 0),
	ST(DW, R9, RECORD_VALUE + 24, 0),
	MOV_REG(R1, R9),
	CALL_FUNC(stack_value),
	LDX(DW, R1, R9, RECORD_HASH),
	LDX(W, R2, R9, RECORD_USER_END),
	STX(DW, R8, HASH, R1), /* 0 if it is lost, which has been counted */
	STX(W, R8, USER_END, R2),
	/* Does it wait for an interpreter lock? Then the wait is counted with who has that. */
	WHEN(struct sched_config, gil),
		MOV_REG(R1, R9),
		MOV_REG(R2, R6),
		CALL_FUNC(wall_holder),
		STX(DW, R8, HASH, R0),
	END,
	STACK_DONE(R9),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
LABEL(busy),
	JSET(R6, THREAD_DEAD, forget),
	JA(out),

LABEL(ended),
	MOV_REG(R1, R8),
	MOV_REG(R2, R9),
	MOV_REG(R3, R7),
	CALL_FUNC(wall_ended),
LABEL(forget),
	MAP_DELETE(threads, LEAVE_TID),
	JA(out),

LABEL(idle),
	COUNT(stats, struct sched_stats, common.idle),
	JA(out),
LABEL(full),
	COUNT(stats, struct sched_stats, threads_full),
	JA(out),
LABEL(filtered),
	COUNT(stats, struct sched_stats, common.filtered),
	JA(out),
	WHEN(struct sched_config, common.during),
LABEL(outside),
		COUNT(stats, struct sched_stats, common.outside),
		JA(out),
	END,

	INCLUDE(&rp_wall_ended_part),
	WHEN(struct sched_config, gil), INCLUDE(&rp_wall_holder_part), END,
};
/* clang-format on */
static const struct asm_part wall_part = { ASM_LINES(wall_lines),
					   ASM_FRAMES({ "wall_add", &back_frame_layout },
						      { "wall_back", &back_frame_layout },
						      { "wall_leave", &leave_frame_layout }) };

/* clang-format off */
/* How both programs of sched_switch end, with the arguments of wall_leave in R1 to R5. */
static const struct asm_insn leave_lines[] = {
	CALL_FUNC(wall_leave),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	INCLUDE(&wall_part),
	INCLUDE(&rp_target_part),
	INCLUDE(&rp_stack_pieces_part),
};
static const struct asm_part leave_part = { ASM_LINES(leave_lines) };

/* sched_switch, see offcpu.c */
static const struct asm_insn wall_switch[] = {
	MOV_REG(R6, R1),
	SCHED_GATE(out),
	COUNT(stats, struct sched_stats, common.fired),
	CALL(ktime_get_ns),
	STX(DW, R10, BACK_NOW, R0),

	LDX(DW, R1, R6, 16),
	LD_FIELD(R1, R1, "task_struct", "pid"),
	JEQ(R1, 0, next_is_idle),
	MOV_REG(R2, R0),
	CALL_FUNC(wall_back),
LABEL(next_is_idle),

	LD_SWITCH_STATE(R3, R9, R6, R1),
	MOV_REG(R1, R6),
	LD_FIELD(R2, R9, "task_struct", "pid"),
	LDX(DW, R4, R10, BACK_NOW),
	MOV_REG(R5, R9),
	INCLUDE(&leave_part),
};

/* The thread is on a run queue now. */
static const struct asm_insn wakeup_lines[] = {
	MAP_LOOKUP(threads, BACK_TID),
	JEQ(R0, 0, out),
	LDX(W, R1, R0, PHASE),
	JNE(R1, PHASE_WAITING, out),
	LDX(DW, R1, R0, WOKEN),
	JNE(R1, 0, out),
	MOV_REG(R6, R0),
	CALL(ktime_get_ns),
	STX(DW, R6, WOKEN, R0),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_part wakeup_part = { ASM_LINES(wakeup_lines) };

/* sched_wakeup(struct task_struct *p): unlike sched_waking always after it has left its CPU. */
static const struct asm_insn wall_wakeup[] = {
	LDX(DW, R1, R1, 0),
	LD_FIELD(R1, R1, "task_struct", "pid"),
	STX(W, R10, BACK_TID, R1),
	INCLUDE(&wakeup_part),
};

/* ---- without BTF: what a task_struct would say is noted from switch to switch */

static const struct asm_insn wall_switch_classic[] = {
	MOV_REG(R6, R1),
	SCHED_GATE(out),
	COUNT(stats, struct sched_stats, common.fired),
	CALL(ktime_get_ns),
	STX(DW, R10, BACK_NOW, R0),
	MOV_REG(R2, R0),

	LD_TP(R1, R6, "sched", "sched_switch", "next_pid"),
	JEQ(R1, 0, next_is_idle),
	CALL_FUNC(wall_back),
LABEL(next_is_idle),

	/* R5 = when the one that leaves came; the next one comes now. */
	ST(W, R10, BACK_TID, 0),
	MAP_LOOKUP(switched, BACK_TID),
	JEQ(R0, 0, out), /* never */
	LDX(DW, R5, R0, 0),
	LDX(DW, R4, R10, BACK_NOW),
	STX(DW, R0, 0, R4),
	LD_CLASSIC_STATE(R3, R6),
	LD_TP(R2, R6, "sched", "sched_switch", "prev_pid"),
	MOV_REG(R1, R6),
	INCLUDE(&leave_part),
};
static const struct asm_insn wall_wakeup_classic[] = {
	LD_TP(R1, R1, "sched", "sched_wakeup", "pid"),
	STX(W, R10, BACK_TID, R1),
	INCLUDE(&wakeup_part),
};
static const struct asm_insn wall_new_classic[] = {
	MOV_REG(R6, R1),
	SCHED_GATE(out),
	LD_TP(R1, R6, "sched", "sched_wakeup_new", "pid"),
	STX(W, R10, BACK_TID, R1),
	CALL(ktime_get_ns),
	STX(DW, R10, BACK_NOW, R0),
	MAP_UPDATE(births, BACK_TID, BACK_NOW, BPF_ANY),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};

/* ---- where it was on the CPU */

static const struct asm_insn wall_sample[] = {
	MOV_REG(R6, R1),
	SCHED_GATE(out),
	COUNT(stats, struct sched_stats, common.fired),
	CALL(get_current_pid_tgid),
	JEQ(R0, 0, idle),
	WHEN(struct sched_config, common.during),
		STX(W, R10, BACK_TID, R0),
		DURING_OR(struct sched_config, BACK_TID, outside),
	END,
	CALL_FUNC(target_ids),
	JEQ(R0, -1, filtered),
	MOV_REG(R7, R0),
	STACK_SAMPLE_TIME(struct sched_config, BACK_NOW),
	MOV_REG(R1, R6),
	MOV_REG(R2, R7),
	MOV(R3, WALL_SAMPLE),
	CALL_FUNC(stack_take),
	JEQ(R0, 0, out),
	MOV_REG(R7, R0),
	STACK_SET_TIME(struct sched_config, R7, BACK_NOW),
	ST(DW, R7, RECORD_VALUE, 1),
	ST(DW, R7, RECORD_VALUE + 8, 0),
	ST(DW, R7, RECORD_VALUE + 16, 0),
	ST(DW, R7, RECORD_VALUE + 24, 0),
	MOV_REG(R1, R7),
	CALL_FUNC(stack_value),
	JEQ(R0, 0, done),
	MOV(R1, 1),
	ATOMIC_ADD(DW, R0, COUNTED, R1),
LABEL(done),
	STACK_DONE(R7),
	JA(out),
LABEL(idle),
	COUNT(stats, struct sched_stats, common.idle),
	JA(out),
	WHEN(struct sched_config, common.during),
LABEL(outside),
		COUNT(stats, struct sched_stats, common.outside),
		JA(out),
	END,
LABEL(filtered),
	COUNT(stats, struct sched_stats, common.filtered),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	INCLUDE(&rp_target_part),
	INCLUDE(&rp_stack_part),
};
/* clang-format on */

const struct sched_config rp_wall_usual_config = { .common = PROGRAM_USUAL_CONFIG,
						   .state_argument = 1,
						   .states = THREAD_WAITING | THREAD_RUNNABLE,
						   .everyone = 1 };
const struct sched_config rp_wall_classic_usual_config = {
	.common = PROGRAM_USUAL_CONFIG,
	.states = THREAD_WAITING | THREAD_RUNNABLE,
	.everyone = 1,
	.classic = 1,
};

#define CLASSIC(role_)                                                                             \
	.role = (role_), RP_MAPS(rp_wall_maps, WALL_MAPS),                                         \
	RP_CONFIG(rp_wall_classic_usual_config), .code.frame = &back_frame_layout

const struct rp_program rp_wall_programs[] = {
	{ RP_CODE("wall_wakeup", wall_wakeup), RP_ON_TP_BTF("sched_wakeup"),
	  RP_MAPS(rp_wall_maps, SCHED_MAPS), .code.frame = &back_frame_layout, .role = WALL_WAKEUP,
	  .summary = "tells when a wait is over" },
	{ RP_CODE("wall_wakeup_tp", wall_wakeup_classic), RP_ON_TP("sched", "sched_wakeup"),
	  CLASSIC(WALL_WAKEUP), .summary = "without kernel BTF: tells when a wait is over",
	  .instead = "no BTF tracepoints: classic ones" },
	{ RP_CODE("wall_new_tp", wall_new_classic), RP_ON_TP("sched", "sched_wakeup_new"),
	  CLASSIC(WALL_NEW), RP_NEEDS(RP_NEED_LACK(RP_HAS_TP_BTF)), .optional = true,
	  .summary = "notes when a thread is born, for wall without kernel BTF" },
	{ RP_CODE("wall_switch", wall_switch), RP_ON_TP_BTF("sched_switch"),
	  RP_MAPS(rp_wall_maps, SCHED_MAPS), RP_CONFIG(rp_wall_usual_config),
	  .code.frame = &back_frame_layout, .role = WALL_SWITCH,
	  .summary = "measures all time of threads, from switch to switch" },
	{ RP_CODE("wall_classic", wall_switch_classic), RP_ON_TP("sched", "sched_switch"),
	  CLASSIC(WALL_SWITCH), .summary = "without kernel BTF: measures all time of threads" },
	{ RP_CODE("wall_sample", wall_sample), RP_ON_PERF_EVENT, RP_MAPS(rp_wall_maps, SCHED_MAPS),
	  RP_CONFIG(rp_wall_usual_config), .code.frame = &back_frame_layout, .role = WALL_SAMPLES,
	  .summary = "counts the stacks that a perf event interrupts, for wall" },
	RP_LIST_END,
};
