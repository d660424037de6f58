/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wall_exec: threads that go on under another id.
 *
 * A thread that is not the first of its process executes a program: the others end, and it gets the
 * id, and even the time of birth, of the first. No thread leaves a CPU by its old id any more, so
 * that one has ended. It did when the thread last came to a CPU: it may have left since by the new
 * one, which tells of all that it ran.
 */
#include "programs/shared/sched_thread.h"
#include "wall.h"

ASM_FRAME(exec_frame,
	/* a new entry of the map threads */
	(struct sched_thread, thread, THREAD, &rp_sched_thread_layout),
	(uint32_t, old, OLD),
	(uint32_t, tid, TID));

enum {
	RECORD_HASH = offsetof(struct stack_record, hash),
	RECORD_VALUE = offsetof(struct stack_record, value)
};

/* clang-format off */
static const struct asm_insn ended_lines[] = {
	/*
	 * wall_ended(thread, record, until): the sums of a thread that has ended go to user space,
	 * under the stack in the record, which is given back.
	 */
FUNC(wall_ended),
	MOV_REG(R6, R2),
	MOV_REG(R7, R3),
	LDX(DW, R2, R1, QUEUED),
	STX(DW, R6, RECORD_VALUE, R2),
	LDX(DW, R2, R1, ON_CPU),
	STX(DW, R6, RECORD_VALUE + 8, R2),
	LDX(DW, R2, R1, LOST),
	STX(DW, R6, RECORD_VALUE + 16, R2),
	LDX(DW, R2, R1, BORN),
	SUB_REG(R7, R2),
	STX(DW, R6, RECORD_VALUE + 24, R7),
	MOV_REG(R1, R6),
	CALL_FUNC(stack_value),
	JEQ(R0, 0, known),
	LDX(DW, R1, R6, RECORD_VALUE),
	ATOMIC_ADD(DW, R0, 0, R1),
	LDX(DW, R1, R6, RECORD_VALUE + 8),
	ATOMIC_ADD(DW, R0, 8, R1),
	LDX(DW, R1, R6, RECORD_VALUE + 16),
	ATOMIC_ADD(DW, R0, 16, R1),
	ATOMIC_ADD(DW, R0, 24, R7),
LABEL(known),
	LDX(DW, R7, R6, RECORD_HASH),
	STACK_DONE(R6),
	JEQ(R7, 0, out), /* it is lost, which has been counted */
	COUNT(stats, struct sched_stats, exited),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
const struct asm_part rp_wall_ended_part = { ASM_LINES(ended_lines) };

static const struct asm_insn exec_lines[] = {
	LDX(W, R1, R10, OLD),
	LDX(W, R2, R10, TID),
	JEQ_REG(R1, R2, out),
	CALL(ktime_get_ns),
	MOV_REG(R7, R0),
	MAP_LOOKUP(threads, OLD),
	JEQ(R0, 0, go_on), /* it has never left */
	MOV_REG(R8, R0),
	LDX(DW, R7, R8, SINCE),
	COUNT(stats, struct sched_stats, common.fired),
	MOV_REG(R1, R6),
	LDX(DW, R2, R8, PID_TGID),
	MOV(R3, WALL_ENDED),
	CALL_FUNC(stack_take),
	JEQ(R0, 0, forget),
	MOV_REG(R1, R8),
	MOV_REG(R2, R0),
	MOV_REG(R3, R7),
	CALL_FUNC(wall_ended),
LABEL(forget),
	MAP_DELETE(threads, OLD),

LABEL(go_on),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, out),
	ZERO(THREAD, sizeof(struct sched_thread)),
	STX(DW, R10, THREAD + PID_TGID, R0),
	STX(DW, R10, THREAD + SINCE, R7),
	STX(DW, R10, THREAD + BORN, R7),
	ST(W, R10, THREAD + PHASE, PHASE_ON_CPU),
	READ_COMM(THREAD + THREAD_COMM),
	MAP_UPDATE(threads, TID, THREAD, BPF_NOEXIST),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	INCLUDE(&rp_wall_ended_part),
	INCLUDE(&rp_target_part),
	INCLUDE(&rp_stack_part),
};
static const struct asm_part exec_part = { ASM_LINES(exec_lines) };

/* sched_process_exec(struct task_struct *task, pid_t old, struct linux_binprm *binary) */
static const struct asm_insn wall_exec[] = {
	MOV_REG(R6, R1),
	SCHED_GATE(out),
	LDX(DW, R1, R6, 8),
	STX(W, R10, OLD, R1),
	LDX(DW, R1, R6, 0),
	LD_FIELD(R1, R1, "task_struct", "pid"),
	STX(W, R10, TID, R1),
	INCLUDE(&exec_part),
};

/* For kernels without BTF. */
static const struct asm_insn wall_exec_classic[] = {
	MOV_REG(R6, R1),
	SCHED_GATE(out),
	LD_TP(R1, R6, "sched", "sched_process_exec", "old_pid"),
	STX(W, R10, OLD, R1),
	LD_TP(R1, R6, "sched", "sched_process_exec", "pid"),
	STX(W, R10, TID, R1),
	INCLUDE(&exec_part),
};
/* clang-format on */

const struct rp_program rp_wall_exec_programs[] = {
	{ RP_CODE("wall_exec", wall_exec), RP_ON_TP_BTF("sched_process_exec"), .role = WALL_EXEC,
	  RP_MAPS(rp_wall_maps, SCHED_MAPS), RP_CONFIG(rp_wall_usual_config),
	  .code.frame = &exec_frame_layout,
	  .summary = "tells when an exec gives a thread another id" },
	{ RP_CODE("wall_exec_tp", wall_exec_classic), RP_ON_TP("sched", "sched_process_exec"),
	  .role = WALL_EXEC, RP_MAPS(rp_wall_maps, WALL_MAPS),
	  RP_CONFIG(rp_wall_classic_usual_config), .code.frame = &exec_frame_layout,
	  .summary = "without kernel BTF: tells when an exec gives a thread another id" },
	RP_LIST_END,
};
