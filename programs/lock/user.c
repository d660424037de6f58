/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock_user: waits for futexes, which are what mutexes, condition variables and semaphores of user
 * space are made of. A thread that finds one taken asks the kernel to let it sleep until another
 * one wakes it; which of the system call's operations do that is in the first half of this file.
 *
 * Which thread wakes which is not asked of FUTEX_WAKE and its kin: it would be a guess where
 * several wait, or are moved from one futex to another. sched_waking says it (kernel.c).
 */
#include <linux/futex.h>
#include <sys/syscall.h>

#include "lock.h"
#include "programs/shared/compat.h"

/* Younger than the headers of some C libraries; the same number everywhere. */
#define NR_FUTEX __NR_futex
#define NR_FUTEX_WAITV 449
#define NR_FUTEX_WAIT 455
#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

/* The kernel's numbers for calls that a signal has interrupted (include/linux/errno.h). */
#define ERESTARTSYS 512
#define ERESTART_RESTARTBLOCK 516

ASM_FRAME(futex_frame,
	(uint64_t, now, NOW),
	(uint64_t, address, ADDRESS),
	(uint64_t, compat, COMPAT),
	(uint32_t, zero, GUARD_ZERO),
	(uint32_t, tid, TID));

/* clang-format off */
/* R8 = how the operation of futex(2) in R1 waits; those that do not, to the label out. */
#define FUTEX_HOW(out)                                                                             \
	SCOPE("FUTEX_HOW(" #out ")"),                                                              \
		AND(R1, FUTEX_CMD_MASK & 0xffff),                                                  \
		MOV(R8, LOCK_FUTEX),                                                               \
		JEQ(R1, FUTEX_WAIT, .waits),                                                       \
		JEQ(R1, FUTEX_WAIT_BITSET, .waits),                                                \
		MOV(R8, LOCK_FUTEX | LOCK_FUTEX_PI),                                               \
		JEQ(R1, FUTEX_LOCK_PI, .waits),                                                    \
		JEQ(R1, FUTEX_LOCK_PI2, .waits),                                                   \
		JNE(R1, FUTEX_WAIT_REQUEUE_PI, out),                                               \
		LABEL(.waits),                                                                     \
	END

/* R7 = the address of the first futex of the array at the address in R7. */
#define FIRST_FUTEX                                                                                \
	SCOPE("FIRST_FUTEX"),                                                                      \
		ADD(R7, offsetof(struct futex_waitv, uaddr)),                                      \
		READ_USER(ADDRESS, 8, R7),                                                         \
		LDX(DW, R7, R10, ADDRESS),                                                         \
	END

/* R7 = the address, R8 = how: the wait begins. */
#define FUTEX_BEGIN                                                                                \
	SCOPE("FUTEX_BEGIN"),                                                                      \
		JEQ(R7, 0, .out),                                                                  \
		CALL(ktime_get_ns),                                                                \
		STX(DW, R10, NOW, R0),                                                             \
		LOCK_ENTER(GUARD_ZERO, .nested, .out),                                             \
		MOV_REG(R1, R6),                                                                   \
		MOV_REG(R2, R7),                                                                   \
		MOV_REG(R3, R8),                                                                   \
		LDX(DW, R4, R10, NOW),                                                             \
		CALL_FUNC(lock_begin),                                                             \
		LOCK_LEAVE(GUARD_ZERO, .out),                                                      \
		JA(.out),                                                                          \
		LABEL(.nested),                                                                    \
		COUNT(stats, struct lock_stats, common.fired),                                     \
		COUNT(stats, struct lock_stats, nested),                                           \
		LABEL(.out),                                                                       \
	END

/*
 * R8 = what the call returned: its wait ends, if one is in the first slot. A call of another kind
 * has begun none. futex_waitv returns which one it was. FUTEX_LOCK_PI may fail in ways of its own.
 */
#define FUTEX_END                                                                                  \
	SCOPE("FUTEX_END"),                                                                        \
		CALL(ktime_get_ns),                                                                \
		STX(DW, R10, NOW, R0),                                                             \
		CALL(get_current_pid_tgid),                                                        \
		STX(W, R10, TID, R0),                                                              \
		LOCK_ENTER(GUARD_ZERO, .out, .out),                                                \
		MAP_LOOKUP(threads, TID),                                                          \
		JEQ(R0, 0, .leave),                                                                \
		LDX(DW, R1, R0, offsetof(struct lock_waits, wait[0].lock)),                        \
		JEQ(R1, 0, .leave),                                                                \
		LDX(W, R2, R0, offsetof(struct lock_waits, wait[0].how)),                          \
		AND(R2, LOCK_FUTEX),                                                               \
		JEQ(R2, 0, .leave),                                                                \
		MOV(R2, LOCK_GOT),                                                                 \
		JSGE(R8, 0, .known),                                                               \
		MOV(R2, LOCK_TIMED_OUT),                                                           \
		JEQ(R8, -ETIMEDOUT, .known),                                                       \
		MOV(R2, LOCK_CHANGED),                                                             \
		JEQ(R8, -EAGAIN, .known),                                                          \
		MOV(R2, LOCK_INTERRUPTED),                                                         \
		JEQ(R8, -EINTR, .known),                                                           \
		JSLT(R8, -ERESTART_RESTARTBLOCK, .failed),                                         \
		JSLE(R8, -ERESTARTSYS, .known),                                                    \
		LABEL(.failed),                                                                    \
		MOV(R2, LOCK_FAILED),                                                              \
		LABEL(.known),                                                                     \
		LDX(DW, R3, R10, NOW),                                                             \
		CALL_FUNC(lock_end),                                                               \
		LABEL(.leave),                                                                     \
		LOCK_LEAVE(GUARD_ZERO, .out),                                                      \
		LABEL(.out),                                                                       \
	END

/* sys_enter(struct pt_regs *regs, long id), of all system calls */
static const struct asm_insn enter_lines[] = {
	LDX(DW, R2, R1, 8),
	JEQ(R2, NR_FUTEX, futex),
	JEQ(R2, NR_FUTEX_WAIT, futex_wait),
	JNE(R2, NR_FUTEX_WAITV, out),

	MOV_REG(R6, R1),
	LOCK_GATE(out),
	LDX(DW, R9, R6, 0),
	LD_FIELD(R7, R9, "pt_regs", REG_ARG0),
	FIRST_FUTEX,
	MOV(R8, LOCK_FUTEX | LOCK_FUTEX_ANY),
	JA(waits),

LABEL(futex_wait),
	MOV_REG(R6, R1),
	LOCK_GATE(out),
	LDX(DW, R9, R6, 0),
	LD_FIELD(R7, R9, "pt_regs", REG_ARG0),
	MOV(R8, LOCK_FUTEX),
	JA(waits),

LABEL(futex),
	MOV_REG(R6, R1),
	LOCK_GATE(out),
	LDX(DW, R9, R6, 0),
	LD_FIELD(R1, R9, "pt_regs", REG_ARG1),
	FUTEX_HOW(out),
	LD_FIELD(R7, R9, "pt_regs", REG_ARG0),
LABEL(waits),
	/* The end needs not ask: where no wait has begun none ends. */
	LEAVE_COMPAT_CALL(COMPAT, out),
	FUTEX_BEGIN,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_lock_begin_part),
};

/* sys_exit(struct pt_regs *regs, long ret) */
static const struct asm_insn exit_lines[] = {
	MOV_REG(R6, R1),
	LDX(DW, R9, R6, 0),
	LD_FIELD(R1, R9, "pt_regs", REG_NR),
	JEQ32(R1, NR_FUTEX, futex),
	JEQ32(R1, NR_FUTEX_WAIT, futex),
	JNE32(R1, NR_FUTEX_WAITV, out),
LABEL(futex),
	LOCK_GATE(out),
	LDX(DW, R8, R6, 8),
	FUTEX_END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_lock_end_part),
};

/* ---- the same by classic tracepoints, of which every system call has two of its own */

static const struct asm_insn enter_classic[] = {
	MOV_REG(R6, R1),
	LOCK_GATE(out),
	LD_TP(R1, R6, "syscalls", "sys_enter_futex", "op"),
	FUTEX_HOW(out),
	LD_TP(R7, R6, "syscalls", "sys_enter_futex", "uaddr"),
	FUTEX_BEGIN,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_lock_begin_part),
};
static const struct asm_insn waitv_enter_classic[] = {
	MOV_REG(R6, R1),
	LOCK_GATE(out),
	LD_TP(R7, R6, "syscalls", "sys_enter_futex_waitv", "waiters"),
	FIRST_FUTEX,
	MOV(R8, LOCK_FUTEX | LOCK_FUTEX_ANY),
	FUTEX_BEGIN,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_lock_begin_part),
};
static const struct asm_insn wait_enter_classic[] = {
	MOV_REG(R6, R1),
	LOCK_GATE(out),
	LD_TP(R7, R6, "syscalls", "sys_enter_futex_wait", "uaddr"),
	MOV(R8, LOCK_FUTEX),
	FUTEX_BEGIN,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_lock_begin_part),
};

/* What a call returned is at the same place for all of them. */
static const struct asm_insn exit_classic[] = {
	MOV_REG(R6, R1),
	LOCK_GATE(out),
	LD_TP(R8, R6, "syscalls", "sys_exit_futex", "ret"),
	FUTEX_END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_lock_end_part),
};
/* clang-format on */

#define FUTEX_PROGRAM(role_, config_)                                                              \
	.role = (role_), RP_MAPS(rp_lock_maps, LOCK_MAPS), RP_CONFIG(config_),                     \
	.code.frame = &futex_frame_layout
/* Of a system call that some kernels do not have, where those for all system calls cannot run. */
#define RARE_CALL .optional = true, RP_NEEDS(RP_NEED_LACK(RP_HAS_TP_BTF), RP_NEED_HOOK)

const struct rp_program rp_lock_user_programs[] = {
	{ RP_CODE("lock_futex_exit", exit_lines), RP_ON_TP_BTF("sys_exit"), .ends = true,
	  FUTEX_PROGRAM(LOCK_FUTEX_ENDS, rp_lock_usual_config),
	  .summary = "adds how long that was" },
	{ RP_CODE("lock_futex_ret", exit_classic), RP_ON_TP("syscalls", "sys_exit_futex"),
	  .ends = true, FUTEX_PROGRAM(LOCK_FUTEX_ENDS, rp_lock_futex_usual_config),
	  .summary = "without kernel BTF: adds how long that was" },
	{ RP_CODE("lock_futex", enter_lines), RP_ON_TP_BTF("sys_enter"),
	  FUTEX_PROGRAM(LOCK_FUTEX_BEGINS, rp_lock_futex_usual_config),
	  .summary = "notes that a thread waits for a futex" },
	{ RP_CODE("lock_futex_tp", enter_classic), RP_ON_TP("syscalls", "sys_enter_futex"),
	  FUTEX_PROGRAM(LOCK_FUTEX_BEGINS, rp_lock_futex_usual_config),
	  .summary = "without kernel BTF: notes that a thread waits for a futex" },
	{ RP_CODE("lock_waitv_ret", exit_classic), RP_ON_TP("syscalls", "sys_exit_futex_waitv"),
	  .ends = true, FUTEX_PROGRAM(LOCK_WAITV_ENDS, rp_lock_futex_usual_config), RARE_CALL,
	  .summary = "without kernel BTF: adds how long a wait for several futexes was" },
	{ RP_CODE("lock_waitv_tp", waitv_enter_classic),
	  RP_ON_TP("syscalls", "sys_enter_futex_waitv"),
	  FUTEX_PROGRAM(LOCK_WAITV_BEGINS, rp_lock_futex_usual_config), RARE_CALL,
	  .summary = "without kernel BTF: notes that a thread waits for several futexes" },
	{ RP_CODE("lock_fwait_ret", exit_classic), RP_ON_TP("syscalls", "sys_exit_futex_wait"),
	  .ends = true, FUTEX_PROGRAM(LOCK_FWAIT_ENDS, rp_lock_futex_usual_config), RARE_CALL,
	  .summary = "without kernel BTF: adds how long a wait by futex_wait was" },
	{ RP_CODE("lock_fwait_tp", wait_enter_classic),
	  RP_ON_TP("syscalls", "sys_enter_futex_wait"),
	  FUTEX_PROGRAM(LOCK_FWAIT_BEGINS, rp_lock_futex_usual_config), RARE_CALL,
	  .summary = "without kernel BTF: notes that a thread waits by futex_wait" },
	RP_LIST_END,
};
