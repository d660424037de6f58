/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * offcpu: where do threads wait, and for how long?
 *
 * sched_switch fires when a CPU goes from one thread (prev) to another (next). It runs in the
 * context of prev, whose stack is therefore at hand: it is taken when a thread leaves. When the
 * thread is next again, the time since then is added to the stack that it left with, whose hash it
 * has kept in the map threads.
 *
 *	prev leaves: stack -> threads[prev] = { hash, now }
 *	next is back: counts[threads[next].hash] += { 1, now - since }
 */
#include "programs/shared/sched_thread.h"
#include "programs/shared/stream.h"
#include "odds.h"
#include "offcpu.h"

static const struct asm_layout pair_layout = ASM_LAYOUT(struct offcpu_pair, sleeper, waker);
static const struct asm_layout pair_weights_layout =
	ASM_LAYOUT(struct offcpu_pair_weights, count, ns);

const struct asm_map rp_offcpu_maps[OFFCPU_MAPS] = {
	SCHED_MAP_LIST(OFFCPU_WEIGHTS, SCHED_OFFCPU_BYTES, rp_sched_offcpu_layout),
	[OFFCPU_MAP_PAIRS] = { "pairs", BPF_MAP_TYPE_HASH, sizeof(struct offcpu_pair),
			       sizeof(struct offcpu_pair_weights), 65536, .key = &pair_layout,
			       .value = &pair_weights_layout },
};

/* The stack frame of the programs. */
ASM_FRAME(leave_frame,
	/* a new entry, all written */
	(struct sched_thread, thread, THREAD, &rp_sched_offcpu_layout),
	(uint64_t, now, NOW),
	(uint64_t, ran, RAN),
	(uint32_t, tid, LEAVE_TID));
/* The stack frame of offcpu_back. */
ASM_FRAME(back_frame, (uint32_t, tid, BACK_TID));
/* The place of the odds in an entry: a member that offcpu has no other use for. */
enum { ODDS = PHASE };

/* The stack frame of offcpu_add. */
ASM_FRAME(add_frame,
	(struct offcpu_pair_weights, none, ADD_NONE, &pair_weights_layout),
	(struct offcpu_pair, pair, ADD_PAIR, &pair_layout),
	(pair.sleeper, ADD_HASH),
	(pair.waker, ADD_WAKER),
	(uint64_t, end, ADD_END));

/* These members in a record. */
enum {
	RECORD_HASH = offsetof(struct stack_record, hash),
	RECORD_COUNT = offsetof(struct stack_record, value[OFFCPU_WEIGHT_COUNT]),
	RECORD_NS = offsetof(struct stack_record, value[OFFCPU_WEIGHT_NS]),
	RECORD_PID_TGID = offsetof(struct stack_record, pid_tgid),
	RECORD_USER_END = offsetof(struct stack_record, user_end),
};

/* clang-format off */
static const struct asm_insn offcpu_lines[] = {
	/*
	 * offcpu_back(tid): the thread runs again. Ends the interval that it was in, if it was in
	 * one: then the time, else 0.
	 */
FUNC(offcpu_back),
	STX(W, R10, BACK_TID, R1),
	MAP_LOOKUP(threads, BACK_TID),
	JEQ(R0, 0, out),
	LDX(DW, R7, R0, HASH),
	UNLESS(struct sched_config, sample_ns),
		JEQ(R7, 0, out),
	END,
	WHEN(struct sched_config, sample_ns),
		LDX(DW, R1, R0, SINCE),
		JEQ(R1, 0, out),
	END,
	MOV_REG(R6, R0),
	ST(DW, R6, HASH, 0),
	CALL(ktime_get_ns), /* not before: most threads are no targets */
	MOV_REG(R8, R0),
	MOV_REG(R2, R0),
	LDX(DW, R1, R6, SINCE),
	SUB_REG(R2, R1),
	MOV_REG(R1, R7),
	LDX(DW, R3, R6, PID_TGID),
	LDX(DW, R4, R6, WAKER),
	ST(DW, R6, WAKER, 0),
	WHEN(struct sched_config, sample_ns),
		LDX(W, R9, R6, ODDS),
		MOV_REG(R1, R6),
		ST(DW, R6, SINCE, 0),
		CALL_FUNC(offcpu_odds), /* R2 = ns */
		JEQ(R7, 0, not_drawn),
		MOV_REG(R1, R7),
		MOV_REG(R2, R0),
		LDX(DW, R3, R6, PID_TGID),
		MOV_REG(R4, R9),
	END,
	MOV_REG(R5, R8),
	CALL_FUNC(offcpu_add),
	WHEN(struct sched_config, sample_ns),
LABEL(not_drawn),
	END,
	MOV_REG(R0, R8),
	EXIT(),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	WHEN(struct sched_config, sample_ns),
	/* offcpu_odds(thread, ns): it has waited for so long, which is what it returns. */
FUNC(offcpu_odds),
		MOV_REG(R0, R2),
		LD_PARAM(R4, struct sched_config, sample_ns),
		ODDS_AFTER,
		STX(W, R1, ODDS, R3),
		EXIT(),
	END,

	/*
	 * offcpu_add(hash, ns, process << 32 | thread, hash of the waker or with sample_ns the
	 * odds, end): an interval that has ended. R8 = as how many it counts.
	 */
FUNC(offcpu_add),
	STX(DW, R10, ADD_HASH, R1),
	WHEN(struct sched_config, wakers),
		STX(DW, R10, ADD_WAKER, R4),
	END,
	STX(DW, R10, ADD_END, R5),
	MOV_REG(R6, R2),
	MOV_REG(R7, R3),
	MOV(R8, 1),
	WHEN(struct sched_config, sample_ns),
		ODDS_WEIGH(R8, R4),
	END,
	JSGE(R6, 0, forwards),
	COUNT(stats, struct sched_stats, backwards),
	MOV(R6, 0),
LABEL(forwards),
	WHEN(struct sched_config, min_ns),
		LD_PARAM(R1, struct sched_config, min_ns),
		JLT_REG(R6, R1, shorter),
	END,
	WHEN(struct sched_config, max_ns),
		LD_PARAM(R1, struct sched_config, max_ns),
		JGT_REG(R6, R1, longer),
	END,
	WHEN(struct sched_config, sample_ns),
		MUL_REG(R6, R8),
		LD_MAP_VALUE(R1, stats, offsetof(struct sched_stats, drawn_for)),
		MOV_REG(R2, R8),
		SUB(R2, 1),
		ATOMIC_ADD(DW, R1, 0, R2),
	END,

	WHEN(struct sched_config, wakers),
		ZERO(ADD_NONE, sizeof(struct offcpu_pair_weights)),
		MAP_LOOKUP_OR_INIT(pairs, ADD_HASH, ADD_NONE),
		JNE(R0, 0, count),
		COUNT(stats, struct sched_stats, pairs_full),
	END,
	MAP_LOOKUP(counts, ADD_HASH),
	JEQ(R0, 0, uncounted),
	WHEN(struct sched_config, wakers),
LABEL(count), /* weights lie there as they do here */
	END,
	ATOMIC_ADD(DW, R0, 8 * OFFCPU_WEIGHT_COUNT, R8),
	ATOMIC_ADD(DW, R0, 8 * OFFCPU_WEIGHT_NS, R6),
	WHEN(struct sched_config, common.stream),
		LDX(DW, R1, R10, ADD_HASH),
		MOV(R2, 0),
		WHEN(struct sched_config, wakers),
			LDX(DW, R2, R10, ADD_WAKER),
		END,
		LDX(DW, R3, R10, ADD_END),
		MOV_REG(R4, R6),
		LD_IMM64(R5, STREAM_KIND(STACK_MOMENT_UNTIL) | 1),
		CALL_FUNC(stream_moment),
	END,
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
	STX(DW, R0, RECORD_COUNT, R8),
	STX(DW, R0, RECORD_NS, R6),
	STX(DW, R0, RECORD_PID_TGID, R7),
	RING_SUBMIT(R0, 0),
	JA(out),
LABEL(ring_full),
	COUNT(stats, struct sched_stats, common.ring_full),
	JA(out),
	WHEN(struct sched_config, min_ns),
LABEL(shorter),
		COUNT(stats, struct sched_stats, shorter),
		JA(out),
	END,
	WHEN(struct sched_config, max_ns),
LABEL(longer),
		COUNT(stats, struct sched_stats, longer),
		JA(out),
	END,

	/*
	 * offcpu_unseen(thread, now, ran): the thread is about to leave. If its return was not
	 * seen, it was since it has run for so many ns, which the kernel knows.
	 */
FUNC(offcpu_unseen),
	LDX(DW, R4, R1, HASH),
	JEQ(R4, 0, out),
	ST(DW, R1, HASH, 0), /* at once: asleep.c takes away what nobody has counted */
	LDX(DW, R5, R1, SINCE),
	SUB_REG(R2, R5),
	JGT_REG(R3, R2, add),
	SUB_REG(R2, R3),
LABEL(add),
	ADD_REG(R5, R2),
	LDX(DW, R3, R1, PID_TGID),
	MOV(R0, 0),
	WHEN(struct sched_config, sample_ns),
		LDX(W, R0, R1, ODDS),
	END,
	MOV_REG(R1, R4),
	MOV_REG(R4, R0),
	CALL_FUNC(offcpu_add),
	COUNT(stats, struct sched_stats, unseen),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
static const struct asm_part offcpu_part = { ASM_LINES(offcpu_lines),
					     ASM_FRAMES({ "offcpu_back", &back_frame_layout },
							{ "offcpu_add", &add_frame_layout }) };

/* clang-format off */
/*
 * R6 = context, R2 = thread, R3 = state, R4 = ran, R8 = now or 0: the current thread stops running;
 * it has run for so many ns. How the programs end, and no function: the way of the kernel stack
 * leads through every function of ours.
 */
static const struct asm_insn leave_lines[] = {
	JEQ(R2, 0, idle), /* on every CPU */
	STX(W, R10, LEAVE_TID, R2),
	STX(DW, R10, RAN, R4),
	JSET(R3, THREAD_DEAD, exited),
	LD_PARAM(R0, struct sched_config, states),
	AND_REG(R0, R3),
	JEQ(R0, 0, other_state),
	MOV_REG(R7, R3),
	DURING_OR(struct sched_config, LEAVE_TID, outside),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, filtered),
	MOV_REG(R9, R0),
	JNE(R8, 0, known),
	CALL(ktime_get_ns),
	MOV_REG(R8, R0),
LABEL(known),
	STX(DW, R10, NOW, R8),

	/* Is it drawn? Of one that was not we keep only when it left. R8 = the thread. */
	WHEN(struct sched_config, sample_ns),
		MAP_LOOKUP(threads, LEAVE_TID),
		JEQ(R0, 0, drawn),
		MOV_REG(R8, R0),
		LDX(W, R1, R8, ODDS),
		JEQ(R1, 0, drawn),
		ODDS_DRAW(R8, ODDS),
		JEQ(R0, 0, drawn),
		MOV_REG(R1, R8),
		LDX(DW, R2, R10, NOW),
		LDX(DW, R3, R10, RAN),
		CALL_FUNC(offcpu_unseen),
		ST(DW, R8, HASH, 0),
		LDX(DW, R1, R10, NOW),
		STX(DW, R8, SINCE, R1),
		COUNT(stats, struct sched_stats, not_drawn),
		JA(out),
LABEL(drawn),
	END,

	/*
	 * R8 = where it leaves. The stack is recorded without values; they come when the thread is
	 * back.
	 */
	MOV_REG(R1, R6),
	MOV_REG(R2, R9),
	MOV_REG(R3, R7),
	CALL_FUNC(stack_begin),
	JEQ(R0, 0, out),
	MOV_REG(R8, R0),
	MOV_REG(R1, R6),
	MOV_REG(R2, R8),
	INCLUDE(&rp_stack_kernel_part),
	MOV_REG(R1, R8),
	MOV_REG(R2, R6),
	MOV_REG(R3, R0),
	CALL_FUNC(stack_end),
	ST(DW, R8, RECORD_COUNT, 0),
	ST(DW, R8, RECORD_NS, 0),
	MOV_REG(R1, R8),
	CALL_FUNC(stack_value),
	LDX(DW, R6, R8, RECORD_HASH),
	LDX(W, R1, R8, RECORD_USER_END),
	STX(W, R10, THREAD + USER_END, R1),
	STACK_DONE(R8),
	JEQ(R6, 0, out), /* it is lost, which has been counted */

	LDX(DW, R7, R10, NOW),
	MAP_LOOKUP(threads, LEAVE_TID),
	JNE(R0, 0, found),
	STX(DW, R10, THREAD + HASH, R6),
	STX(DW, R10, THREAD + SINCE, R7),
	STX(DW, R10, THREAD + PID_TGID, R9),
	ST(W, R10, THREAD + USER_END + 4, 0),
	ST(DW, R10, THREAD + WAKER, 0),
	MAP_UPDATE(threads, LEAVE_TID, THREAD, BPF_NOEXIST),
	JEQ(R0, 0, out),
	MAP_LOOKUP(threads, LEAVE_TID), /* a visit of asleep.c may be faster */
	JEQ(R0, 0, full),
LABEL(found),
	MOV_REG(R8, R0),
	MOV_REG(R1, R8),
	MOV_REG(R2, R7),
	LDX(DW, R3, R10, RAN),
	CALL_FUNC(offcpu_unseen),
	STX(DW, R8, HASH, R6),
	STX(DW, R8, SINCE, R7),
	STX(DW, R8, PID_TGID, R9),
	LDX(W, R3, R10, THREAD + USER_END),
	STX(W, R8, USER_END, R3),
	JA(out),

LABEL(full),
	COUNT(stats, struct sched_stats, threads_full),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

LABEL(exited),
	MAP_LOOKUP(threads, LEAVE_TID),
	JEQ(R0, 0, gone),
	MOV_REG(R6, R0),
	CALL(ktime_get_ns),
	MOV_REG(R1, R6),
	MOV_REG(R2, R0),
	LDX(DW, R3, R10, RAN),
	CALL_FUNC(offcpu_unseen),
	MAP_DELETE(threads, LEAVE_TID),
LABEL(gone),
	COUNT(stats, struct sched_stats, exited),
	JA(out),
LABEL(other_state),
	JEQ(R3, THREAD_RUNNABLE, runnable),
	COUNT(stats, struct sched_stats, state),
	JA(out),
LABEL(runnable),
	COUNT(stats, struct sched_stats, runnable),
	JA(out),
LABEL(idle),
	COUNT(stats, struct sched_stats, common.idle),
	JA(out),
LABEL(filtered),
	COUNT(stats, struct sched_stats, common.filtered),
	JA(out),
	WHEN(struct sched_config, common.during),
LABEL(outside),
		COUNT(stats, struct sched_stats, common.outside),
		JA(out),
	END,
};
/* clang-format on */
static const struct asm_part leave_part = { ASM_LINES(leave_lines) };

/* clang-format off */
static const struct asm_insn offcpu_switch[] = {
	MOV_REG(R6, R1),
	SCHED_GATE(out),
	COUNT(stats, struct sched_stats, common.fired),

	MOV(R8, 0),
	LDX(DW, R1, R6, 16),
	LD_FIELD(R1, R1, "task_struct", "pid"),
	JEQ(R1, 0, next_is_idle),
	CALL_FUNC(offcpu_back),
	MOV_REG(R8, R0),
LABEL(next_is_idle),

	LD_SWITCH_STATE(R3, R9, R6, R1),
	LD_FIELD(R2, R9, "task_struct", "pid"),
	LD_FIELD(R4, R9, "task_struct", "se.sum_exec_runtime"),
	LD_FIELD(R5, R9, "task_struct", "se.prev_sum_exec_runtime"),
	SUB_REG(R4, R5),
	INCLUDE(&leave_part),

	INCLUDE(&offcpu_part),
	INCLUDE(&rp_target_part),
	INCLUDE(&rp_stack_pieces_part),
};
/* clang-format on */

/* For kernels without BTF. */
/* clang-format off */
static const struct asm_insn offcpu_switch_classic[] = {
	MOV_REG(R6, R1),
	SCHED_GATE(out),
	COUNT(stats, struct sched_stats, common.fired),

	MOV(R8, 0),
	LD_TP(R1, R6, "sched", "sched_switch", "next_pid"),
	JEQ(R1, 0, next_is_idle),
	CALL_FUNC(offcpu_back),
	MOV_REG(R8, R0),
LABEL(next_is_idle),

	LD_CLASSIC_STATE(R3, R6),
	LD_TP(R2, R6, "sched", "sched_switch", "prev_pid"),
	MOV(R4, 0),
	INCLUDE(&leave_part),

	INCLUDE(&offcpu_part),
	INCLUDE(&rp_target_part),
	INCLUDE(&rp_stack_pieces_part),
};
/* clang-format on */

const struct sched_config rp_offcpu_usual_config = { .common = PROGRAM_USUAL_CONFIG,
						     .state_argument = 1,
						     .states = THREAD_WAITING };

#define OFFCPU_PROGRAM                                                                             \
	.role = OFFCPU_SWITCH, RP_MAPS(rp_offcpu_maps, OFFCPU_MAPS),                               \
	RP_CONFIG(rp_offcpu_usual_config), .code.frame = &leave_frame_layout

const struct rp_program rp_offcpu_programs[] = {
	{ RP_CODE("offcpu_switch", offcpu_switch), RP_ON_TP_BTF("sched_switch"), OFFCPU_PROGRAM,
	  .summary = "measures how long threads wait, and where" },
	{ RP_CODE("offcpu_classic", offcpu_switch_classic), RP_ON_TP("sched", "sched_switch"),
	  OFFCPU_PROGRAM, .summary = "without kernel BTF: measures how long threads wait",
	  .instead = "no BTF tracepoints: sched_switch as a classic one" },
	RP_LIST_END,
};
