/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock: which threads wait for which lock, for how long, and which ones let it go?
 *
 *	begin	the stack of the waiter		-> a slot of the thread; of the CPU while it spins
 *	wake	the stack of the waker		-> the same slot
 *	end	the time between		-> results[{ waiter, releaser, how, outcome }]
 *
 * These programs run inside the kernel's locks, so they must not wait for themselves: what they do
 * when one of them is at work on this CPU already is nothing (LOCK_ENTER), and the end of a wait,
 * which holds the lock, takes none that the beginning takes: it never writes to the ring.
 */
#include "lock.h"
#include "programs/shared/stream.h"

static const struct asm_layout stats_layout =
	ASM_LAYOUT(struct lock_stats, common, shorter, nested, threads_full, too_deep, results_full,
		   unended, no_begin, waker_lost, hists_full);
static const struct asm_layout waits_layout =
	ASM_LAYOUT(struct lock_waits, wait[0], wait[1], wait[2], wait[3]);
static const struct asm_layout pair_layout =
	ASM_LAYOUT(struct lock_pair, waiter, releaser, how, outcome);
static const struct asm_layout sum_layout = ASM_LAYOUT(struct lock_sum, count, ns, max_ns);

const struct asm_map rp_lock_maps[LOCK_MAPS] = {
	STACK_MAP_LIST(STACK_COUNTS_MAP(1), struct lock_stats, stats_layout),
	[LOCK_MAP_THREADS] = { "threads", BPF_MAP_TYPE_HASH, 4, sizeof(struct lock_waits), 32768,
			       .value = &waits_layout },
	[LOCK_MAP_SPINNERS] = { "spinners", BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct lock_waits),
				1, .value = &waits_layout },
	[LOCK_MAP_RESULTS] = { "results", BPF_MAP_TYPE_HASH, sizeof(struct lock_pair),
			       sizeof(struct lock_sum), LOCK_PAIRS, .key = &pair_layout,
			       .value = &sum_layout },
	[LOCK_MAP_HISTS] = { "hists", BPF_MAP_TYPE_PERCPU_HASH, sizeof(struct lock_hist_key),
			     LOCK_HIST_BYTES, 1 },
	[LOCK_MAP_GATE] = { "gate", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
	[LOCK_MAP_RUNNING] = { "running", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, 1 },
	[LOCK_MAP_EMPTY] = { "empty", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct lock_waits), 1,
			     .value = &waits_layout },
	[LOCK_MAP_NO_HIST] = { "no_hist", BPF_MAP_TYPE_ARRAY, 4, LOCK_HIST_BYTES, 1 },
	[LOCK_MAP_CALLS] = { "calls", BPF_MAP_TYPE_HASH, 4, sizeof(struct lock_call), 16384 },
	[LOCK_MAP_SHARES] = SHARE_MAP(LOCK_SHARES),
};

/* Offsets in a slot. */
enum {
	LOCK = offsetof(struct lock_wait, lock),
	HASH = offsetof(struct lock_wait, hash),
	SINCE = offsetof(struct lock_wait, since),
	RELEASER = offsetof(struct lock_wait, releaser),
	HOW = offsetof(struct lock_wait, how),
	AGAIN = offsetof(struct lock_wait, again),
	SLOT = sizeof(struct lock_wait)
};
enum {
	RECORD_HASH = offsetof(struct stack_record, hash),
	RECORD_VALUE = offsetof(struct stack_record, value)
};

/* clang-format off */
/* To the label found with R0 = that slot of the waits which holds the number in register lock. */
#define FIND_WAIT(waits, lock, found)                                                              \
	SCOPE("FIND_WAIT(" #waits ", " #lock ", " #found ")"),                                     \
		MOV_REG(R0, waits),                                                                \
		LDX(DW, R1, R0, LOCK),                                                             \
		JEQ_REG(R1, lock, found),                                                          \
		ADD(R0, SLOT),                                                                     \
		LDX(DW, R1, R0, LOCK),                                                             \
		JEQ_REG(R1, lock, found),                                                          \
		ADD(R0, SLOT),                                                                     \
		LDX(DW, R1, R0, LOCK),                                                             \
		JEQ_REG(R1, lock, found),                                                          \
		ADD(R0, SLOT),                                                                     \
		LDX(DW, R1, R0, LOCK),                                                             \
		JEQ_REG(R1, lock, found),                                                          \
	END
/* clang-format on */

/* ---- the beginning */

/* The stack frame of lock_begin. */
ASM_FRAME(begin_frame,
	/* the arguments */
	(uint64_t, context, CONTEXT),
	(uint64_t, lock, BEGIN_LOCK),
	(uint64_t, how, BEGIN_HOW),
	(uint64_t, now, NOW),
	(uint64_t, holder, BEGIN_HOLDER), /* hash of who has the lock */
	/* keys */
	(uint32_t, tid, BEGIN_TID),
	(uint32_t, zero, BEGIN_ZERO));

/* clang-format off */
static const struct asm_insn begin_lines[] = {
	/* lock_begin(context, lock, how, now): the current task waits for the lock. */
FUNC(lock_begin),
	STX(DW, R10, CONTEXT, R1),
	STX(DW, R10, BEGIN_LOCK, R2),
	STX(DW, R10, BEGIN_HOW, R3),
	STX(DW, R10, NOW, R4),
	MOV_REG(R6, R2),
	ST(W, R10, BEGIN_ZERO, 0),

	/* R7 = the slots: a thread that spins stays on its CPU, where an interrupt may spin too. */
	READ_TID(BEGIN_TID),
	WHEN(struct lock_config, spinning),
		LDX(DW, R3, R10, BEGIN_HOW),
		AND(R3, LOCK_SPIN | LOCK_MUTEX),
		JNE(R3, LOCK_SPIN, sleeps),
		MAP_LOOKUP(spinners, BEGIN_ZERO),
		JA(slots),
LABEL(sleeps),
	END,
	MAP_LOOKUP(threads, BEGIN_TID),
	WHEN(struct lock_config, spinning),
LABEL(slots),
	END,
	MOV_REG(R7, R0),

	/* A mutex begins again when spinning has not helped, and to spin once more: one wait. */
	JEQ(R7, 0, new),
	FIND_WAIT(R7, R6, again),
LABEL(new),
	COUNT(stats, struct lock_stats, common.fired),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, filtered),
	MOV_REG(R8, R0),

	/* R7 = the first of the slots that is free. */
	JNE(R7, 0, known),
	MAP_LOOKUP(empty, BEGIN_ZERO),
	JEQ(R0, 0, out), /* never */
	MOV_REG(R3, R0),
	LD_MAP(R1, threads),
	FRAME_PTR(R2, BEGIN_TID),
	MOV(R4, BPF_NOEXIST),
	CALL(map_update_elem),
	MAP_LOOKUP(threads, BEGIN_TID),
	JEQ(R0, 0, threads_full),
	MOV_REG(R7, R0),
LABEL(known),
	MOV(R2, 0),
	FIND_WAIT(R7, R2, free),
	COUNT(stats, struct lock_stats, too_deep),
	JA(out),
LABEL(free),
	MOV_REG(R7, R0),

	/* R9 = where it waits. The stack is recorded without values: the map results has them. */
	LDX(DW, R1, R10, CONTEXT),
	MOV_REG(R2, R8),
	MOV_REG(R3, R6),
	CALL_FUNC(stack_take),
	JEQ(R0, 0, out), /* which has been counted as busy */
	MOV_REG(R8, R0),
	ST(DW, R8, RECORD_VALUE, 0),
	MOV_REG(R1, R8),
	CALL_FUNC(stack_value),
	LDX(DW, R9, R8, RECORD_HASH),
	ST(DW, R10, BEGIN_HOLDER, 0),
	WHEN(struct lock_config, gil),
		JEQ(R9, 0, no_holder),
		MOV_REG(R1, R8),
		SUB(R1, offsetof(struct stack_scratch, record)),
		MOV_REG(R2, R6),
		MOV(R3, LOCK_RELEASER),
		CALL_FUNC(python_holder),
		JEQ(R0, 0, no_holder),
		MOV_REG(R1, R8),
		CALL_FUNC(stack_hash),
		MOV_REG(R1, R8),
		CALL_FUNC(stack_value),
		LDX(DW, R1, R8, RECORD_HASH),
		STX(DW, R10, BEGIN_HOLDER, R1),
		LDX(DW, R1, R10, BEGIN_HOW),
		OR(R1, LOCK_GIL),
		STX(DW, R10, BEGIN_HOW, R1),
LABEL(no_holder),
	END,
	STACK_DONE(R8),
	JEQ(R9, 0, out), /* it is lost, which has been counted */

	STX(DW, R7, HASH, R9),
	LDX(DW, R1, R10, NOW),
	STX(DW, R7, SINCE, R1),
	LDX(DW, R1, R10, BEGIN_HOLDER),
	STX(DW, R7, RELEASER, R1),
	ST(W, R7, AGAIN, 0),
	LDX(DW, R1, R10, BEGIN_HOW),
	STX(W, R7, HOW, R1),
	STX(DW, R7, LOCK, R6),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	/* Spinning is forgotten once it sleeps. */
LABEL(again),
	WHEN(struct lock_config, hold),
		LDX(W, R1, R0, AGAIN),
		ADD(R1, 1),
		STX(W, R0, AGAIN, R1),
	END,
	LDX(DW, R1, R10, BEGIN_HOW),
	OR(R1, ~LOCK_KERNEL_FLAGS),
	LDX(W, R2, R0, HOW),
	AND_REG(R2, R1),
	STX(W, R0, HOW, R2),
	JA(out),
LABEL(threads_full),
	COUNT(stats, struct lock_stats, threads_full),
	JA(out),
LABEL(filtered),
	COUNT(stats, struct lock_stats, common.filtered),
	JA(out),

	INCLUDE(&rp_target_part),
	INCLUDE(&rp_stack_part),
	WHEN(struct lock_config, gil),
		INCLUDE(&rp_python_gil_part),
	END,
};
/* clang-format on */
const struct asm_part rp_lock_begin_part = { ASM_LINES(begin_lines),
					     ASM_FRAMES({ "lock_begin", &begin_frame_layout }) };

/* ---- the end */

/* The stack frame of lock_end. */
ASM_FRAME(end_frame,
	(struct lock_pair, pair, PAIR),
	(pair.waiter, PAIR_WAITER),
	(pair.releaser, PAIR_RELEASER),
	(pair.how, PAIR_HOW),
	(pair.outcome, PAIR_OUTCOME),
	(struct lock_sum, sum, SUM),
	(struct lock_hist_key, hist, HIST),
	(hist.lock, HIST_LOCK),
	(hist.process, HIST_PROCESS),
	(hist.how, HIST_HOW),
	/* the arguments */
	(uint64_t, lock, END_LOCK),
	(uint64_t, now, END_NOW),
	(uint64_t, outcome, OUTCOME),
	/* keys */
	(uint32_t, tid, END_TID),
	(uint32_t, zero, END_ZERO));
enum {
	SUM_COUNT = offsetof(struct lock_sum, count),
	SUM_NS = offsetof(struct lock_sum, ns),
	SUM_MAX = offsetof(struct lock_sum, max_ns)
};

/* clang-format off */
static const struct asm_insn end_lines[] = {
	/* lock_end(lock, outcome, now): the current task no longer waits for the lock. */
FUNC(lock_end),
	STX(DW, R10, END_LOCK, R1),
	STX(DW, R10, OUTCOME, R2),
	STX(DW, R10, END_NOW, R3),
	MOV_REG(R6, R1),
	ST(W, R10, END_ZERO, 0),

	/* R7 = its slot. */
	MAP_LOOKUP(spinners, END_ZERO),
	JEQ(R0, 0, out), /* never */
	MOV_REG(R7, R0),
	FIND_WAIT(R7, R6, found),
	READ_TID(END_TID),
	MAP_LOOKUP(threads, END_TID),
	JEQ(R0, 0, no_begin),
	MOV_REG(R7, R0),
	FIND_WAIT(R7, R6, found),
LABEL(no_begin),
	COUNT(stats, struct lock_stats, no_begin),
	JA(out),
LABEL(found),
	MOV_REG(R7, R0),
	WHEN(struct lock_config, hold),
		LDX(W, R1, R7, AGAIN),
		JEQ(R1, 0, last),
		SUB(R1, 1),
		STX(W, R7, AGAIN, R1),
		JA(out),
LABEL(last),
	END,

	/* R8 = how long, and the slot is free again. */
	LDX(DW, R8, R10, END_NOW),
	LDX(DW, R1, R7, SINCE),
	SUB_REG(R8, R1),
	JSGE(R8, 0, forwards),
	MOV(R8, 0),
LABEL(forwards),
	LDX(DW, R1, R7, HASH),
	STX(DW, R10, PAIR_WAITER, R1),
	LDX(W, R9, R7, HOW),
	STX(W, R10, PAIR_HOW, R9),
	LDX(DW, R2, R10, OUTCOME),
	STX(W, R10, PAIR_OUTCOME, R2),
	/*
	 * Its waker let go of the lock only if it has the lock now: a timer and a signal wake too.
	 */
	MOV(R1, 0),
	UNLESS(struct lock_config, hold),
		JSET(R9, LOCK_GIL, has_holder),
		JNE(R2, LOCK_GOT, not_got),
LABEL(has_holder),
		LDX(DW, R1, R7, RELEASER),
LABEL(not_got),
	END,
	STX(DW, R10, PAIR_RELEASER, R1),
	ST(DW, R7, LOCK, 0),
	WHEN(struct lock_config, min_ns),
		LD_PARAM(R1, struct lock_config, min_ns),
		JLT_REG(R8, R1, shorter),
	END,

	MAP_LOOKUP(results, PAIR),
	JNE(R0, 0, add),
	SHARE_OR(LOCK_SHARE_RESULTS, MOV(R2, LOCK_PAIRS), results_full),
	ZERO(SUM, sizeof(struct lock_sum)),
	MAP_UPDATE(results, PAIR, SUM, BPF_NOEXIST),
	MAP_LOOKUP(results, PAIR),
	JEQ(R0, 0, results_full),
LABEL(add),
	MOV(R1, 1),
	ATOMIC_ADD(DW, R0, SUM_COUNT, R1),
	ATOMIC_ADD(DW, R0, SUM_NS, R8),
	/* A stack belongs to one thread, which waits once at a time. */
	LDX(DW, R1, R0, SUM_MAX),
	JGE_REG(R1, R8, no_greater),
	STX(DW, R0, SUM_MAX, R8),
LABEL(no_greater),
	WHEN(struct lock_config, common.stream),
		LDX(DW, R1, R10, PAIR_WAITER),
		LDX(DW, R2, R10, PAIR_RELEASER),
		LDX(DW, R3, R10, PAIR_HOW), /* and PAIR_OUTCOME: lock_moment_with() */
		XOR_REG(R2, R3),
		LDX(DW, R3, R10, END_NOW),
		MOV_REG(R4, R8),
		LD_IMM64(R5, STREAM_KIND(STACK_MOMENT_UNTIL) | 1),
		CALL_FUNC(stream_moment),
	END,

	WHEN(struct lock_config, hist),
		ST(DW, R10, HIST_LOCK, 0),
		ST(W, R10, HIST_PROCESS, 0),
		STX(W, R10, HIST_HOW, R9),
		WHEN(struct lock_config, hist_lock),
			STX(DW, R10, HIST_LOCK, R6),
			ST(W, R10, HIST_HOW, 0),
			AND(R9, LOCK_FUTEX),
			JEQ(R9, 0, of_kernel),
			READ_PID(HIST_PROCESS),
LABEL(of_kernel),
		END,
		MAP_LOOKUP(hists, HIST),
		JNE(R0, 0, hist),
		WHEN(struct lock_config, hist_lock),
			SHARE_OR(LOCK_SHARE_HISTS, MOV(R2, LOCK_HIST_LOCKS), hists_full),
		END,
		MAP_LOOKUP(no_hist, END_ZERO),
		JEQ(R0, 0, out), /* never */
		MOV_REG(R3, R0),
		LD_MAP(R1, hists),
		FRAME_PTR(R2, HIST),
		MOV(R4, BPF_NOEXIST),
		CALL(map_update_elem),
		MAP_LOOKUP(hists, HIST),
		JEQ(R0, 0, hists_full),
LABEL(hist),
		MOV_REG(R7, R0),
		HIST_ADD(R7, R8, LOCK_HIST_BITS, LOCK_HIST_SLOTS),
		JA(out),
LABEL(hists_full),
		COUNT(stats, struct lock_stats, hists_full),
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),

LABEL(results_full),
	COUNT(stats, struct lock_stats, results_full),
	JA(out),
	WHEN(struct lock_config, min_ns),
LABEL(shorter),
		COUNT(stats, struct lock_stats, shorter),
		JA(out),
	END,
	WHEN(struct lock_config, common.stream),
		INCLUDE(&rp_stream_part),
	END,
};
/* clang-format on */
const struct asm_part rp_lock_end_part = { ASM_LINES(end_lines),
					   ASM_FRAMES({ "lock_end", &end_frame_layout }) };

/* ---- the thread that lets go */

static const struct asm_layout ids_layout = ASM_LAYOUT(struct bpf_pidns_info, pid, tgid);
/* The stack frame of lock_wake. */
ASM_FRAME(wake_frame,
	(uint64_t, context, WAKE_CONTEXT),
	(struct bpf_pidns_info, ns_ids, WAKE_NS_IDS, &ids_layout),
	(ns_ids.pid, WAKE_NS_PID),
	(ns_ids.tgid, WAKE_NS_TGID),
	(uint32_t, tid, WAKE_TID));

/* clang-format off */
static const struct asm_insn wake_lines[] = {
	/*
	 * lock_wake(context, thread): the current task wakes the thread. Target or not, it is what
	 * the thread has waited for.
	 */
FUNC(lock_wake),
	STX(DW, R10, WAKE_CONTEXT, R1),
	STX(W, R10, WAKE_TID, R2),
	MAP_LOOKUP(threads, WAKE_TID),
	JEQ(R0, 0, out),
	/* R7 = the innermost of its waits. */
	MOV_REG(R7, R0),
	ADD(R7, 3 * SLOT),
	LDX(DW, R1, R7, LOCK),
	JNE(R1, 0, waits),
	SUB(R7, SLOT),
	LDX(DW, R1, R7, LOCK),
	JNE(R1, 0, waits),
	SUB(R7, SLOT),
	LDX(DW, R1, R7, LOCK),
	JNE(R1, 0, waits),
	SUB(R7, SLOT),
	LDX(DW, R1, R7, LOCK),
	JEQ(R1, 0, out),
LABEL(waits),
	LDX(W, R1, R7, HOW),
	JSET(R1, LOCK_GIL, out), /* who had the lock is known */

	/* R8 = the waker. The idle task does nothing by itself: an interrupt does. */
	CALL(get_current_pid_tgid),
	MOV_REG(R8, R0),
	JEQ(R8, 0, out),
	WHEN(struct lock_config, common.ns_inode),
		LD_PARAM(R1, struct lock_config, common.ns_device),
		LD_PARAM(R2, struct lock_config, common.ns_inode),
		FRAME_PTR(R3, WAKE_NS_IDS),
		MOV(R4, sizeof(struct bpf_pidns_info)),
		CALL(get_ns_current_pid_tgid),
		JNE(R0, 0, out),
		LDX(W, R8, R10, WAKE_NS_TGID),
		LSH(R8, 32),
		LDX(W, R1, R10, WAKE_NS_PID),
		OR_REG(R8, R1),
	END,
	LDX(DW, R9, R7, SINCE),

	LDX(DW, R1, R10, WAKE_CONTEXT),
	MOV_REG(R2, R8),
	MOV(R3, LOCK_RELEASER),
	CALL_FUNC(stack_take),
	JEQ(R0, 0, lost),
	MOV_REG(R8, R0),
	ST(DW, R8, RECORD_VALUE, 0),
	MOV_REG(R1, R8),
	CALL_FUNC(stack_value),
	LDX(DW, R6, R8, RECORD_HASH),
	STACK_DONE(R8),
	JEQ(R6, 0, lost),
	/* Meanwhile the thread may have gone on, and wait for something else. */
	LDX(DW, R1, R7, SINCE),
	JNE_REG(R1, R9, out),
	STX(DW, R7, RELEASER, R6),
	JA(out),
LABEL(lost),
	COUNT(stats, struct lock_stats, waker_lost),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_stack_part),
};
/* clang-format on */
const struct asm_part rp_lock_wake_part = { ASM_LINES(wake_lines),
					    ASM_FRAMES({ "lock_wake", &wake_frame_layout }) };

const struct lock_config rp_lock_usual_config = { .common = PROGRAM_USUAL_CONFIG,
						  .spinning = 1,
						  .hist = 1 };
const struct lock_config rp_lock_futex_usual_config = { .common = PROGRAM_USUAL_CONFIG };
