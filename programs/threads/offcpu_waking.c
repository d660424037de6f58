/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * offcpu_waking: which thread ends a wait?
 *
 * sched_waking runs in the context of the waker, unlike sched_wakeup, which may run on the thread's
 * own CPU. Its stack is kept with the thread until that is back. It may be called before the thread
 * has quite left, so what it says is not forgotten when the thread leaves; and of several the last
 * one counts, which is the one that found it asleep.
 *
 * In an interrupt the current task is only the one that was interrupted. If that was in user code,
 * the kernel was not entered by a system call, and the task's own stack, which may be anywhere, is
 * left out. The rest is told apart by the names of the kernel's functions.
 */
#include "programs/shared/sched_thread.h"
#include "programs/shared/stream.h"
#include "offcpu.h"

ASM_FRAME(waking_frame,
	(uint64_t, ids, IDS),
	(uint32_t, tid, TID));

enum {
	RECORD_HASH = offsetof(struct stack_record, hash),
	RECORD_VALUE = offsetof(struct stack_record, value),
	RECORD_TID = offsetof(struct stack_record, pid_tgid),
};

/* clang-format off */
/* dst is negative if the kernel was entered by something else than a system call. */
#ifdef REG_CAUSE
#define LD_ENTRY(dst, regs)                                                                        \
	LD_FIELD(dst, regs, "pt_regs", REG_CAUSE),                                                 \
	XOR(dst, SYSCALL_CAUSE),                                                                   \
	MOV_REG(R2, dst),                                                                          \
	NEG(R2),                                                                                   \
	OR_REG(dst, R2)
#else
#define LD_ENTRY(dst, regs) LD_FIELD(dst, regs, "pt_regs", REG_NR)
#endif

/* R6 = context, R7 = entry of the thread that is woken: how the programs end. */
static const struct asm_insn take_lines[] = {
	MOV(R8, OFFCPU_WAKER_TASK),
	JA(take),
LABEL(interrupted),
	ST(DW, R10, IDS, 0),
	LD_IMM64(R8, OFFCPU_WAKER_INTERRUPT | STACK_KERNEL_ONLY),

LABEL(take),
	MOV_REG(R1, R6),
	LDX(DW, R2, R10, IDS),
	MOV_REG(R3, R8),
	CALL_FUNC(stack_begin),
	JEQ(R0, 0, lost),
	MOV_REG(R8, R0),
	MOV_REG(R1, R6),
	MOV_REG(R2, R8),
	INCLUDE(&rp_stack_kernel_part),
	MOV_REG(R1, R8),
	MOV_REG(R2, R6),
	MOV_REG(R3, R0),
	CALL_FUNC(stack_end),
	ST(DW, R8, RECORD_VALUE, 0),
	ST(DW, R8, RECORD_VALUE + 8, 0),
	MOV_REG(R1, R8),
	CALL_FUNC(stack_value),
	LDX(DW, R1, R8, RECORD_HASH),
	STX(DW, R7, WAKER, R1),
	WHEN(struct sched_config, common.stream),
		MOV_REG(R2, R1),
		LDX(DW, R1, R7, HASH),
		JEQ(R1, 0, not_left_yet),
		MOV(R3, 0),
		LDX(W, R4, R8, RECORD_TID),
		LD_IMM64(R5, STREAM_KIND(STACK_MOMENT_WOKEN)),
		CALL_FUNC(stream_moment),
LABEL(not_left_yet),
	END,
	LDX(DW, R7, R8, RECORD_HASH),
	STACK_DONE(R8),
	JNE(R7, 0, out),
LABEL(lost), /* and counted as such, so it is an event too */
	COUNT(stats, struct sched_stats, common.fired),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
static const struct asm_part take_part = { ASM_LINES(take_lines) };

/* sched_waking(struct task_struct *p) */
/* clang-format off */
static const struct asm_insn waking[] = {
	MOV_REG(R6, R1),
	SCHED_GATE(out),
	LDX(DW, R1, R6, 0),
	LD_FIELD(R1, R1, "task_struct", "pid"),
	STX(W, R10, TID, R1),
	MAP_LOOKUP(threads, TID),
	JEQ(R0, 0, out),
	MOV_REG(R7, R0),

	CALL(get_current_pid_tgid),
	STX(DW, R10, IDS, R0),
	JEQ(R0, 0, interrupted), /* the idle task wakes no thread by itself */
	CALL(get_current_task_btf),
	LD_FIELD(R1, R0, "task_struct", "mm"),
	JEQ(R1, 0, a_task), /* of the kernel, which has never been in user code */
	MOV_REG(R1, R0),
	CALL(task_pt_regs),
	LD_ENTRY(R1, R0),
	JSLT(R1, 0, interrupted),
LABEL(a_task),
	INCLUDE(&take_part),

	INCLUDE(&rp_stack_pieces_part),
};

/*
 * For kernels without BTF, where only the names of the kernel's functions show interrupts: user
 * space removes the stack of the task that was interrupted.
 */
static const struct asm_insn waking_classic[] = {
	MOV_REG(R6, R1),
	SCHED_GATE(out),
	LD_TP(R1, R6, "sched", "sched_waking", "pid"),
	STX(W, R10, TID, R1),
	MAP_LOOKUP(threads, TID),
	JEQ(R0, 0, out),
	MOV_REG(R7, R0),
	CALL(get_current_pid_tgid),
	STX(DW, R10, IDS, R0),
	JEQ(R0, 0, interrupted), /* the idle task wakes no thread by itself */
	INCLUDE(&take_part),

	INCLUDE(&rp_stack_pieces_part),
};
/* clang-format on */

static const struct sched_config usual_config = {
	.common = { .user_bytes = 127 * 8,
		    .fp_bytes = 127 * 8,
		    .user_frames = 127,
		    .kernel_bytes = 127 * 8,
		    .both_bytes = 2 * 127 * 8,
		    .eh = 1,
		    .identity = 1,
		    .some_kernel_only = 1,
		    .ring_mark = 1 << 18 },
	.wakers = 1,
};

#define WAKING_PROGRAM                                                                             \
	.role = OFFCPU_WAKING, RP_MAPS(rp_offcpu_maps, OFFCPU_MAPS), RP_CONFIG(usual_config),      \
	.code.frame = &waking_frame_layout

const struct rp_program rp_offcpu_waking_programs[] = {
	{ RP_CODE("offcpu_waking", waking), RP_ON_TP_BTF("sched_waking"), WAKING_PROGRAM,
	  RP_NEEDS(RP_NEED_FEATURE(RP_HAS_TASK_REGS)), .summary = "notes who ends a wait" },
	{ RP_CODE("waking_classic", waking_classic), RP_ON_TP("sched", "sched_waking"),
	  WAKING_PROGRAM, .summary = "without kernel BTF: notes who ends a wait" },
	RP_LIST_END,
};
