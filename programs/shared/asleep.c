/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * asleep: threads whose stack could not be taken when they left.
 *
 * A thread that slept when the recording began was never seen leaving. One that falls asleep right
 * after it has executed a program has been, but its mappings were not known yet. An iterator visits
 * every thread, finds these, and walks their stacks while they sleep; their memory is read as a
 * debugger would, with page faults if need be, so it is a sleepable program.
 *
 * A thread may wake at any time. So its entry is made first and looked at again afterwards: if it
 * still sleeps, and has not run in between, then the program that sees it wake will find the entry.
 */
#include "asleep.h"
#include "sched_thread.h"
#include "programs/threads/offcpu.h"

ASM_FRAME(asleep_frame,
	/* a new entry of the map threads */
	(struct sched_thread, thread, THREAD, &rp_sched_thread_layout),
	(uint64_t, old, OLD), /* hash of the entry that there is, 0: none */
	(uint64_t, ids, IDS), /* process << 32 | thread */
	(uint64_t, switches, SWITCHES), /* how often it had left before we looked */
	(uint64_t, seq, SEQ), /* the file that reads the iterator */
	(uint32_t, tid, TID),
	(uint32_t, tgid, TGID),
	(char[16], comm, COMM));

enum {
	RECORD_HASH = offsetof(struct stack_record, hash),
	RECORD_USER_END = offsetof(struct stack_record, user_end),
	RECORD_KERNEL_OF = offsetof(struct stack_record, kernel_of),
	RECORD_VALUES = offsetof(struct stack_record, value)
};

#define MAX_LEVELS 32 /* of control groups */

/* In the lock of its mappings (kernel/locking/rwsem.c): a writer has it, or waits for it. */
#define LOCK_IS_KEPT 7

/* clang-format off */
/* To the label unless the task in R6 sleeps and has left a CPU R0 times. R0 is destroyed. */
#define STILL_ASLEEP(awake)                                                                        \
	SCOPE("STILL_ASLEEP(" #awake ")"),                                                         \
		LD_STATE(R1, R6),                                                                  \
		JEQ(R1, 0, awake),                                                                 \
		LD_FIELD(R1, R6, "task_struct", "on_cpu"),                                         \
		JNE(R1, 0, awake),                                                                 \
		LD_FIELD(R1, R6, "task_struct", "nvcsw"),                                          \
		LD_FIELD(R2, R6, "task_struct", "nivcsw"),                                         \
		ADD_REG(R1, R2),                                                                   \
		JNE_REG(R1, R0, awake),                                                            \
	END

static const struct asm_insn asleep[] = {
	LDX(DW, R6, R1, 8), /* struct bpf_iter__task: meta, task */
	JEQ(R6, 0, out), /* at the end */
	LDX(DW, R1, R1, 0),
	LDX(DW, R1, R1, 0), /* struct bpf_iter_meta: seq */
	STX(DW, R10, SEQ, R1),
	SCHED_GATE(out),

	/* The filters of target.c, of another task. */
	LD_FIELD(R1, R6, "task_struct", "pid"),
	STX(W, R10, TID, R1),
	LD_FIELD(R2, R6, "task_struct", "tgid"),
	STX(W, R10, TGID, R2),
	LSH(R2, 32),
	OR_REG(R2, R1),
	STX(DW, R10, IDS, R2),
	WHEN(struct sched_config, common.by_pid),
		FILTER_SET(pids, TGID, out),
	END,
	WHEN(struct sched_config, common.by_tid),
		FILTER_SET(tids, TID, out),
	END,
	WHEN(struct sched_config, common.cgroup_id),
		MOV(R8, 0),
		LD_FIELD(R7, R6, "task_struct", "cgroups.dfl_cgrp"),
LABEL(level),
		LD_FIELD(R1, R7, "cgroup", "kn.id"),
		LD_PARAM(R2, struct sched_config, common.cgroup_id),
		JEQ_REG(R1, R2, in_group),
		LD_FIELD(R7, R7, "cgroup", "self.parent.cgroup"),
		ADD(R8, 1),
		JLT(R8, MAX_LEVELS, level),
		JA(out),
LABEL(in_group),
	END,
	WHEN(struct sched_config, common.comm.mask[0]),
		READ_FIELD(COMM, R6, "task_struct", "comm"),
		FILTER_COMM(struct sched_config, common.comm, R10, COMM, out),
	END,

	/* Does it sleep, and in which state? What it leaves after this look is seen below. */
	LD_FIELD(R0, R6, "task_struct", "nvcsw"),
	LD_FIELD(R1, R6, "task_struct", "nivcsw"),
	ADD_REG(R0, R1),
	STX(DW, R10, SWITCHES, R0),
	LD_STATE(R7, R6),
	THREAD_STATE(R7, R1),
	JSET(R7, THREAD_DEAD, out),
	LD_PARAM(R1, struct sched_config, states),
	AND_REG(R1, R7),
	JEQ(R1, 0, out),
	UNLESS(struct sched_config, everyone),
		JEQ(R7, THREAD_RUNNABLE, out),
	END,

	/* What a new entry would be like. */
	ZERO(THREAD, sizeof(struct sched_thread)),
	LD_MAP_VALUE(R1, gate, 0),
	LDX(DW, R1, R1, 0),
	LD_FIELD(R2, R6, "task_struct", "start_time"),
	JGE_REG(R1, R2, old),
	MOV_REG(R1, R2), /* the visit may come before its first time on a CPU is over */
LABEL(old),
	STX(DW, R10, THREAD + SINCE, R1),
	STX(DW, R10, THREAD + BORN, R1),
	LDX(DW, R1, R10, IDS),
	STX(DW, R10, THREAD + PID_TGID, R1),
	READ_FIELD(THREAD + THREAD_COMM, R6, "task_struct", "comm"),
	WHEN(struct sched_config, everyone),
		LD_FIELD(R9, R6, "task_struct", "on_cpu"),
		JNE(R7, THREAD_RUNNABLE, sleeps),
		ST(W, R10, THREAD + PHASE, PHASE_QUEUED),
		JEQ(R9, 0, queued),
		ST(W, R10, THREAD + PHASE, PHASE_ON_CPU),
LABEL(queued),
		MAP_UPDATE(threads, TID, THREAD, BPF_NOEXIST),
		JEQ(R0, -EEXIST, out),
		JNE(R0, 0, full),
		LD_FIELD(R1, R6, "task_struct", "on_cpu"),
		JNE_REG(R1, R9, moved),
		LD_FIELD(R1, R6, "task_struct", "nvcsw"),
		LD_FIELD(R2, R6, "task_struct", "nivcsw"),
		ADD_REG(R1, R2),
		LDX(DW, R0, R10, SWITCHES),
		JEQ_REG(R1, R0, out),
		JA(moved),
LABEL(sleeps),
	END,
	LDX(DW, R0, R10, SWITCHES),
	STILL_ASLEEP(out),

	/* Has it been seen leaving, and its stack been walked as well as it can be? */
	ST(DW, R10, OLD, 0),
	MAP_LOOKUP(threads, TID),
	JEQ(R0, 0, walk),
	LDX(DW, R1, R0, HASH),
	JEQ(R1, 0, out), /* it left in a way that is not asked for */
	STX(DW, R10, OLD, R1),
	LDX(W, R1, R0, USER_END),
	JEQ(R1, UNWIND_NO_MAPPING, walk),
	JNE32(R1, STACK_NO_TABLE, out),

LABEL(walk),
	/* Who reads memory that is locked waits as long as the process likes (base/aside.h). */
	WHEN(struct sched_config, kept_locks),
		LD_FIELD(R1, R6, "task_struct", "real_cred.uid.val"),
		JEQ32(R1, 0, is_open), /* root's are not kept for long */
		LD_FIELD(R1, R6, "task_struct", "mm"),
		JEQ(R1, 0, is_open),
		LD_FIELD(R1, R1, "mm_struct", "mmap_lock.count.counter"),
		JSET(R1, LOCK_IS_KEPT, out),
LABEL(is_open),
	END,
	MOV_REG(R1, R6),
	LDX(DW, R2, R10, IDS),
	MOV_REG(R3, R7),
	CALL_FUNC(stack_take),
	JEQ(R0, 0, lost),
	MOV_REG(R8, R0),
	ST(DW, R8, RECORD_VALUES, 0),
	ST(DW, R8, RECORD_VALUES + 8, 0),
	ST(DW, R8, RECORD_VALUES + 16, 0),
	ST(DW, R8, RECORD_VALUES + 24, 0),
	LDX(DW, R1, R10, OLD),
	STX(DW, R8, RECORD_KERNEL_OF, R1), /* without the scheduler's own frames */
	MOV_REG(R1, R8),
	CALL_FUNC(stack_value),
	LDX(DW, R7, R8, RECORD_HASH),
	LDX(W, R9, R8, RECORD_USER_END),
	STACK_DONE(R8),
	/* A byte for what may be in the ring now: user space reads that before all is full. */
	LDX(DW, R1, R10, SEQ),
	FRAME_PTR(R2, TID),
	MOV(R3, 1),
	CALL(seq_write),
	JEQ(R7, 0, lost),
	LDX(DW, R1, R10, OLD),
	JNE(R1, 0, again),

	/* A new entry, of an interval that began before we did. */
	STX(DW, R10, THREAD + HASH, R7),
	STX(W, R10, THREAD + USER_END, R9),
	MAP_UPDATE(threads, TID, THREAD, BPF_NOEXIST),
	JEQ(R0, -EEXIST, out),
	JNE(R0, 0, full),
	LDX(DW, R0, R10, SWITCHES),
	STILL_ASLEEP(awake),
LABEL(counted),
	COUNT(stats, struct sched_stats, common.fired),
	COUNT(stats, struct sched_stats, asleep),
	JA(out),
LABEL(full),
	COUNT(stats, struct sched_stats, threads_full),
	JA(counted),
LABEL(lost), /* and counted as such, so it is an event too */
	COUNT(stats, struct sched_stats, common.fired),
	JA(out),

	/* It is awake: if no program has met the entry yet, it has a wait that nobody counts. */
LABEL(awake),
	MAP_LOOKUP(threads, TID),
	JEQ(R0, 0, counted),
	LDX(DW, R1, R0, SINCE),
	LDX(DW, R2, R10, THREAD + SINCE),
	JNE_REG(R1, R2, counted),
	MOV_REG(R8, R0),
	MOV_REG(R0, R7),
	MOV(R1, 0),
	ATOMIC_CMPXCHG(DW, R8, HASH, R1),
	JNE_REG(R0, R7, counted),

	/*
	 * It switched while we looked, maybe before the entry was there. A program may be at the
	 * entry, so it stays, and is put right when the thread leaves next: if it ever does.
	 */
LABEL(moved),
	LD_STATE(R1, R6),
	AND(R1, THREAD_DEAD),
	JEQ(R1, 0, out),
	MAP_DELETE(threads, TID),
	JA(out),

	/* The better stack takes the place of the other, unless the thread has been back. */
LABEL(again),
	LDX(DW, R0, R10, SWITCHES),
	STILL_ASLEEP(out),
	MAP_LOOKUP(threads, TID),
	JEQ(R0, 0, out),
	MOV_REG(R8, R0),
	LDX(DW, R0, R10, OLD),
	ATOMIC_CMPXCHG(DW, R8, HASH, R7),
	LDX(DW, R1, R10, OLD),
	JNE_REG(R0, R1, out),
	STX(W, R8, USER_END, R9),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	INCLUDE(&rp_stack_part),
};
/* clang-format on */

static const struct sched_config usual_config = {
	.common = { .user_bytes = 127 * 8,
		    .user_frames = 127,
		    .kernel_bytes = 127 * 8,
		    .both_bytes = 2 * 127 * 8,
		    .eh = 1,
		    .identity = 1,
		    .of_task = 1,
		    .ring_mark = 1 << 18 },
	.state_renamed = 1,
	.states = THREAD_WAITING,
	.kept_locks = 1,
};

const struct rp_program rp_asleep_programs[] = {
	{ RP_CODE("asleep", asleep), RP_ON_ITER("task"), RP_MAPS(rp_offcpu_maps, OFFCPU_MAPS),
	  RP_CONFIG(usual_config), .code.frame = &asleep_frame_layout,
	  RP_NEEDS(RP_NEED_FEATURE(RP_HAS_TASK_ITER)),
	  .summary = "walks the stacks of threads that sleep since before" },
	RP_LIST_END,
};
