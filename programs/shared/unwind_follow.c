/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_follow: what the walker knows of a process follows it from its birth to its end.
 *
 *	fork	the child has the mappings of its parent
 *	exec	they are gone; an entry without ranges stays, which says that there was one
 *	end	so is the process
 *
 * All three run before the process executes an instruction in its new state, so no sample of it is
 * walked by ranges that are not its own. User space is woken at an exec of a target: it has to read
 * the new mappings, and there are programs that live for less than it takes to notice by other
 * means.
 */
#include "programs/cpu.h"
#include "follow.h"
#include "stack.h"

ASM_FRAME(follow_frame,
	(uint32_t, parent, PARENT),
	(uint32_t, child, CHILD),
	(struct unwind_proc, none, NO_RANGES));

/* The arguments of a BTF tracepoint are its context, 8 bytes each. */
#define TP_ARG(dst, n) LDX(DW, dst, R1, 8 * (n))

/* sched_process_fork(struct task_struct *parent, struct task_struct *child) */
/* clang-format off */
static const struct asm_insn fork_lines[] = {
	TP_ARG(R2, 0),
	LD_FIELD(R6, R2, "task_struct", "tgid"),
	STX(W, R10, PARENT, R6),
	TP_ARG(R2, 1),
	LD_FIELD(R3, R2, "task_struct", "tgid"),
	JEQ_REG(R3, R6, out), /* a thread */
	STX(W, R10, CHILD, R3),
	MAP_LOOKUP(unwind_procs, PARENT),
	JEQ(R0, 0, out),
	MOV_REG(R6, R0),
	LD_MAP(R1, unwind_procs),
	FRAME_PTR(R2, CHILD),
	MOV_REG(R3, R6),
	MOV(R4, BPF_NOEXIST),
	CALL(map_update_elem),
	JEQ(R0, 0, out),
	/* Those of a process that had the pid before, and whose end was missed. */
	LD_MAP(R1, unwind_procs),
	FRAME_PTR(R2, CHILD),
	MOV_REG(R3, R6),
	MOV(R4, BPF_ANY),
	CALL(map_update_elem),
	PROCS_CHANGED,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

/* sched_process_exec(struct task_struct *task, pid_t old, struct linux_binprm *binary) */
/* clang-format off */
static const struct asm_insn exec_lines[] = {
	TP_ARG(R2, 0),
	LD_FIELD(R6, R2, "task_struct", "tgid"),
	STX(W, R10, CHILD, R6),
	ZERO(NO_RANGES, sizeof(struct unwind_proc)),
	WHEN(struct program_config, by_pid),
		FILTER_SET(pids, CHILD, out),
	END,
	UNLESS(struct program_config, by_pid),
		MAP_LOOKUP(unwind_procs, CHILD),
		JEQ(R0, 0, out),
	END,
	MAP_UPDATE(unwind_procs, CHILD, NO_RANGES, BPF_ANY),
	PROCS_CHANGED,

	/* A record that is thrown away wakes too, and need not be read. */
	WHEN(struct program_config, by_pid),
		LD_MAP(R1, events),
		MOV(R2, 8),
		MOV(R3, 0),
		CALL(ringbuf_reserve),
		JEQ(R0, 0, out), /* it is full, and user space awake */
		MOV_REG(R1, R0),
		MOV(R2, BPF_RB_FORCE_WAKEUP),
		CALL(ringbuf_discard),
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

/* sched_process_free(struct task_struct *task): the last that is heard of it. */
/* clang-format off */
static const struct asm_insn exit_lines[] = {
	TP_ARG(R2, 0),
	LD_FIELD(R6, R2, "task_struct", "tgid"),
	LD_FIELD(R3, R2, "task_struct", "pid"),
	JNE_REG(R3, R6, out), /* the first thread goes last */
	STX(W, R10, CHILD, R6),
	MAP_DELETE(unwind_procs, CHILD),
	PROCS_CHANGED,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

static const struct program_config usual_config = PROGRAM_TABLE_CONFIG;

#define FOLLOW_PROGRAM(role_)                                                                      \
	.role = (role_), .optional = true, RP_MAPS(rp_cpu_maps, STACK_MAPS),                       \
	.code.frame = &follow_frame_layout

const struct rp_program rp_unwind_follow_programs[] = {
	{ RP_CODE("unwind_fork", fork_lines), RP_ON_TP_BTF("sched_process_fork"),
	  FOLLOW_PROGRAM(UNWIND_FOLLOW_FORK),
	  .summary = "hands the mappings of a process to its child" },
	{ RP_CODE("unwind_exec", exec_lines), RP_ON_TP_BTF("sched_process_exec"),
	  FOLLOW_PROGRAM(UNWIND_FOLLOW_EXEC), RP_CONFIG(usual_config),
	  .summary = "forgets the mappings of a process that executes a program" },
	{ RP_CODE("unwind_exit", exit_lines), RP_ON_TP_BTF("sched_process_free"),
	  FOLLOW_PROGRAM(UNWIND_FOLLOW_EXIT),
	  .summary = "forgets the mappings of a process that ends" },
	RP_LIST_END,
};
