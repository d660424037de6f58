/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock_kernel: waits for the kernel's own locks, as it tells of them since Linux 5.19:
 * contention_begin when a lock is not to be had at once, contention_end when it is, or when the
 * thread gives up. And which thread wakes which: it says which one let go of a lock that another
 * slept for.
 */
#include "programs/shared/freed.h"
#include "lock.h"

ASM_FRAME(now_frame,
	(uint64_t, now, NOW),
	(uint32_t, zero, GUARD_ZERO),
	(uint32_t, tid, TID));

/* clang-format off */
/* R3 = outcome of what contention_end returned in R2: 0, or why the lock was not acquired. */
#define KERNEL_OUTCOME                                                                             \
	SCOPE("KERNEL_OUTCOME"),                                                                   \
		MOV(R3, LOCK_GOT),                                                                 \
		JEQ32(R2, 0, .known),                                                              \
		MOV(R3, LOCK_TIMED_OUT),                                                           \
		JEQ32(R2, -ETIMEDOUT, .known),                                                     \
		MOV(R3, LOCK_INTERRUPTED),                                                         \
		JEQ32(R2, -EINTR, .known),                                                         \
		MOV(R3, LOCK_FAILED),                                                              \
		LABEL(.known),                                                                     \
	END

/* R6 = the context, NOW the time; to the label inside a program that runs on this CPU already. */
#define ENTER(inside)                                                                              \
	MOV_REG(R6, R1),                                                                           \
	LOCK_GATE(out),                                                                            \
	CALL(ktime_get_ns),                                                                        \
	STX(DW, R10, NOW, R0),                                                                     \
	LOCK_ENTER(GUARD_ZERO, inside, out)

/* What the programs end with, whichever way they get their arguments. */
static const struct asm_insn begin_rest[] = {
	/* R1 = the context, R2 = the lock, R3 = how it is wanted */
	LDX(DW, R4, R10, NOW),
	CALL_FUNC(lock_begin),
	LOCK_LEAVE(GUARD_ZERO, out),
	JA(out),
LABEL(nested),
	COUNT(stats, struct lock_stats, common.fired),
	COUNT(stats, struct lock_stats, nested),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_lock_begin_part),
};
static const struct asm_part begin_rest_part = { ASM_LINES(begin_rest) };
static const struct asm_insn end_rest[] = {
	/* R1 = the lock, R3 = the outcome */
	MOV_REG(R2, R3),
	LDX(DW, R3, R10, NOW),
	CALL_FUNC(lock_end),
	LOCK_LEAVE(GUARD_ZERO, out),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_lock_end_part),
};
static const struct asm_part end_rest_part = { ASM_LINES(end_rest) };
static const struct asm_insn waking_rest[] = {
	/* R1 = the context, R2 = the thread that is woken */
	CALL_FUNC(lock_wake),
	LOCK_LEAVE(GUARD_ZERO, out),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_lock_wake_part),
};
static const struct asm_part waking_rest_part = { ASM_LINES(waking_rest) };

/* contention_begin(void *lock, unsigned int flags) */
static const struct asm_insn begin_lines[] = {
	ENTER(nested),
	LDX(DW, R7, R6, 0),
	LDX(DW, R8, R6, 8),
	AND(R8, LOCK_KERNEL_FLAGS),

	/* The two locks of which every process has its own, by name. */
	CALL(get_current_task_btf),
	LD_FIELD(R1, R0, "task_struct", "mm"),
	JEQ(R1, 0, not_mmap), /* a thread of the kernel */
	ADD_FIELD_OFFSET(R1, "mm_struct", "mmap_lock"),
	JNE_REG(R1, R7, not_mmap),
	OR(R8, LOCK_MMAP),
LABEL(not_mmap),
	LD_FIELD(R1, R0, "task_struct", "sighand"),
	JEQ(R1, 0, not_sighand),
	ADD_FIELD_OFFSET(R1, "sighand_struct", "siglock"),
	JNE_REG(R1, R7, not_sighand),
	OR(R8, LOCK_SIGHAND),
LABEL(not_sighand),

	MOV_REG(R1, R6),
	MOV_REG(R2, R7),
	MOV_REG(R3, R8),
	INCLUDE(&begin_rest_part),
};

/* contention_end(void *lock, int ret) */
static const struct asm_insn end_lines[] = {
	ENTER(out),
	LDX(DW, R2, R6, 8),
	KERNEL_OUTCOME,
	LDX(DW, R1, R6, 0),
	INCLUDE(&end_rest_part),
};

/* sched_waking(struct task_struct *p), in the task that wakes p */
static const struct asm_insn waking_lines[] = {
	MOV_REG(R6, R1),
	LOCK_GATE(out),
	LDX(DW, R1, R6, 0),
	LD_FIELD(R7, R1, "task_struct", "pid"),
	LOCK_ENTER(GUARD_ZERO, out, out),
	MOV_REG(R1, R6),
	MOV_REG(R2, R7),
	INCLUDE(&waking_rest_part),
};

/* A thread is gone, and with it the waits whose end was not seen. */
static const struct asm_insn forget_lines[] = {
	WHEN(struct lock_config, hold),
		MAP_DELETE(calls, TID),
	END,
	MAP_LOOKUP(threads, TID),
	JEQ(R0, 0, out),
	MOV_REG(R6, R0),
	MOV(R7, LOCK_DEPTH),
LABEL(slot),
	LDX(DW, R1, R6, offsetof(struct lock_wait, lock)),
	JEQ(R1, 0, free),
	COUNT(stats, struct lock_stats, unended),
LABEL(free),
	ADD(R6, sizeof(struct lock_wait)),
	SUB(R7, 1),
	JNE(R7, 0, slot),
	MAP_DELETE(threads, TID),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_part forget_part = { ASM_LINES(forget_lines) };

/* At the end of a thread, in the thread: a later one may have its number. */
static const struct asm_insn thread_exit_lines[] = {
	READ_TID(TID),
	INCLUDE(&forget_part),
};

/* It may have waited after that. */
static const struct asm_insn freed_lines[] = {
	READ_FREED(TID),
	INCLUDE(&forget_part),
};

/* ---- without kernel BTF */

static const struct asm_insn freed_classic[] = {
	READ_FREED_TP(TID),
	INCLUDE(&forget_part),
};

static const struct asm_insn begin_classic[] = {
	ENTER(nested),
	MOV_REG(R1, R6),
	LD_TP(R2, R6, "lock", "contention_begin", "lock_addr"),
	LD_TP(R3, R6, "lock", "contention_begin", "flags"),
	AND(R3, LOCK_KERNEL_FLAGS),
	INCLUDE(&begin_rest_part),
};

static const struct asm_insn end_classic[] = {
	ENTER(out),
	LD_TP(R2, R6, "lock", "contention_end", "ret"),
	KERNEL_OUTCOME,
	LD_TP(R1, R6, "lock", "contention_end", "lock_addr"),
	INCLUDE(&end_rest_part),
};

static const struct asm_insn waking_classic[] = {
	MOV_REG(R6, R1),
	LOCK_GATE(out),
	LOCK_ENTER(GUARD_ZERO, out, out),
	MOV_REG(R1, R6),
	LD_TP(R2, R6, "sched", "sched_waking", "pid"),
	INCLUDE(&waking_rest_part),
};
/* clang-format on */

#define LOCK_PROGRAM(role_, config_)                                                               \
	.role = (role_), RP_MAPS(rp_lock_maps, LOCK_MAPS), RP_CONFIG(config_),                     \
	.code.frame = &now_frame_layout

const struct rp_program rp_lock_kernel_programs[] = {
	{ RP_CODE("lock_exit", thread_exit_lines), RP_ON_TP_BTF("sched_process_exit"),
	  LOCK_PROGRAM(LOCK_THREAD_ENDS, rp_lock_usual_config),
	  .summary = "forgets what a thread was waiting for when it ends" },
	{ RP_CODE("lock_exit_tp", thread_exit_lines), RP_ON_TP("sched", "sched_process_exit"),
	  LOCK_PROGRAM(LOCK_THREAD_ENDS, rp_lock_usual_config),
	  .summary = "without kernel BTF: forgets what a thread was waiting for" },
	{ RP_CODE("lock_freed", freed_lines), ON_FREED,
	  LOCK_PROGRAM(LOCK_THREAD_FREED, rp_lock_usual_config),
	  .summary = "forgets a thread that is freed" },
	{ RP_CODE("lock_freed_tp", freed_classic), ON_FREED_TP,
	  LOCK_PROGRAM(LOCK_THREAD_FREED, rp_lock_usual_config),
	  .summary = "without kernel BTF: forgets a thread that is freed" },
	{ RP_CODE("lock_waking", waking_lines), RP_ON_TP_BTF("sched_waking"),
	  LOCK_PROGRAM(LOCK_WAKES, rp_lock_usual_config),
	  .summary = "notes which thread lets another have a lock" },
	{ RP_CODE("lock_waking_tp", waking_classic), RP_ON_TP("sched", "sched_waking"),
	  LOCK_PROGRAM(LOCK_WAKES, rp_lock_usual_config),
	  .summary = "without kernel BTF: notes which thread lets another have a lock",
	  .instead = "no BTF tracepoints: locks are seen by classic ones" },
	{ RP_CODE("lock_end", end_lines), RP_ON_TP_BTF("contention_end"), .ends = true,
	  LOCK_PROGRAM(LOCK_ENDS, rp_lock_usual_config), RP_NEEDS(RP_NEED_HOOK),
	  .summary = "adds how long it was" },
	{ RP_CODE("lock_end_tp", end_classic), RP_ON_TP("lock", "contention_end"), .ends = true,
	  LOCK_PROGRAM(LOCK_ENDS, rp_lock_futex_usual_config), RP_NEEDS(RP_NEED_HOOK),
	  .summary = "without kernel BTF: adds how long it was" },
	{ RP_CODE("lock_begin", begin_lines), RP_ON_TP_BTF("contention_begin"),
	  LOCK_PROGRAM(LOCK_BEGINS, rp_lock_usual_config), RP_NEEDS(RP_NEED_HOOK),
	  .summary = "notes that a thread waits for a lock of the kernel" },
	{ RP_CODE("lock_begin_tp", begin_classic), RP_ON_TP("lock", "contention_begin"),
	  LOCK_PROGRAM(LOCK_BEGINS, rp_lock_usual_config), RP_NEEDS(RP_NEED_HOOK),
	  .summary = "without kernel BTF: notes that a thread waits for a lock of the kernel" },
	RP_LIST_END,
};
