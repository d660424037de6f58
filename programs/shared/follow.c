/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * follow: keeps the map pids true while a program that is being profiled has children. A value is
 * the time at which the process was born.
 *
 * It runs in the parent, before the child has executed an instruction, so nothing of the child is
 * missed, however short it lives. A thread is a fork too: its process is in the map already.
 */
#include "programs/cpu.h"
#include "follow.h"
#include "stack.h"

ASM_FRAME(follow_frame,
	(uint32_t, parent, PARENT),
	(uint32_t, child, CHILD),
	(uint64_t, value, VALUE));

/* The arguments of a BTF tracepoint are its context, 8 bytes each. */
#define TP_ARG(dst, n) LDX(DW, dst, R1, 8 * (n))

/* clang-format off */
/* The child's process goes into the map, and both programs of a fork end. */
static const struct asm_insn add_child_lines[] = {
	MAP_UPDATE(pids, CHILD, VALUE, BPF_ANY),
	JEQ(R0, 0, out),
	COUNT(stats, struct program_stats, unfollowed),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_part add_child_part = { ASM_LINES(add_child_lines) };

/* sched_process_fork(struct task_struct *parent, struct task_struct *child) */
static const struct asm_insn follow_fork[] = {
	TP_ARG(R2, 0),
	LD_FIELD(R6, R2, "task_struct", "tgid"),
	STX(W, R10, PARENT, R6),
	TP_ARG(R2, 1),
	LD_FIELD(R3, R2, "task_struct", "tgid"),
	JEQ_REG(R3, R6, out), /* a thread */
	STX(W, R10, CHILD, R3),
	LD_FIELD(R3, R2, "task_struct", "start_time"),
	STX(DW, R10, VALUE, R3),
	FILTER_SET(pids, PARENT, out),
	INCLUDE(&add_child_part),
};
/* clang-format on */

/*
 * sched_process_free(struct task_struct *p): the last that is heard of a task, when all that it did
 * while it ended has been sampled too. By then the kernel may have given its pid to another
 * process, so the process goes off the map only if it is still the one that was born when this one
 * was.
 *
 * The first thread is freed last, but for one case: another thread has executed a program. Then it
 * has taken over the pid and the time of birth, and the thread that had them is freed under the
 * other's old id while the process lives on.
 */
/* clang-format off */
static const struct asm_insn follow_exit[] = {
	TP_ARG(R2, 0),
	LD_FIELD(R3, R2, "task_struct", "tgid"),
	LD_FIELD(R4, R2, "task_struct", "pid"),
	JNE_REG(R4, R3, out),
	STX(W, R10, CHILD, R3),
	LD_FIELD(R6, R2, "task_struct", "start_time"),
	MAP_LOOKUP(pids, CHILD),
	JEQ(R0, 0, out),
	LDX(DW, R1, R0, 0),
	JNE_REG(R1, R6, out),
	MAP_DELETE(pids, CHILD),
	PROCS_CHANGED,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

/*
 * For kernels without BTF. child_pid is the new task's own id, which is its process only if it is
 * no thread; the ids of threads that get into the map do no harm, no process has them at the same
 * time.
 */
/* clang-format off */
static const struct asm_insn follow_fork_classic[] = {
	LD_TP(R6, R1, "sched", "sched_process_fork", "child_pid"),
	READ_PID(PARENT),
	STX(W, R10, CHILD, R6),
	FILTER_SET(pids, PARENT, out),
	ST(DW, R10, VALUE, 0),
	INCLUDE(&add_child_part),
};
/* clang-format on */

#define FOLLOW_PROGRAM(role_)                                                                      \
	.role = (role_), RP_MAPS(rp_cpu_maps, STACK_MAPS), .code.frame = &follow_frame_layout

const struct rp_program rp_follow_programs[] = {
	{ RP_CODE("follow_fork", follow_fork), RP_ON_TP_BTF("sched_process_fork"),
	  FOLLOW_PROGRAM(FOLLOW_FORK), .summary = "adds the children of profiled processes" },
	{ RP_CODE("follow_fork_tp", follow_fork_classic), RP_ON_TP("sched", "sched_process_fork"),
	  FOLLOW_PROGRAM(FOLLOW_FORK),
	  .summary = "without kernel BTF: adds the children of profiled processes",
	  .instead = "no BTF tracepoints: children are followed by a classic one" },
	{ RP_CODE("follow_exit", follow_exit), RP_ON_TP_BTF("sched_process_free"),
	  FOLLOW_PROGRAM(FOLLOW_EXIT), .optional = true,
	  .summary = "removes processes that have ended" },
	RP_LIST_END,
};
