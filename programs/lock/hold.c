/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock_hold: how long are the mutexes of programs held? From the return of the function that took
 * one to the call of the one that gives it back. To wait for a condition variable is to give its
 * mutex back and to take it again.
 *
 *	entry of lock, trylock, cond_wait	-> calls[thread] = { stack pointer, mutex }
 *	their return				-> it is held from now on, as a wait (lock.c)
 *	entry of unlock, cond_wait		-> it no longer is
 *
 * Some C libraries make one of these functions of another one. A call from within another lies
 * below it on the stack, and does not count.
 */
#include <linux/bpf_perf_event.h>

#include "lock.h"

static const struct asm_layout call_layout = ASM_LAYOUT(struct lock_call, sp, mutex);
/* The stack frame of all. */
ASM_FRAME(hold_frame,
	(struct lock_call, call, HOLD_CALL, &call_layout),
	(call.sp, NEW_SP),
	(call.mutex, NEW_MUTEX),
	(uint32_t, tid, TID));
enum { SP = offsetof(struct lock_call, sp), MUTEX = offsetof(struct lock_call, mutex) };

/* clang-format off */
static const struct asm_insn enter_lines[] = {
	MOV_REG(R6, R1),
	LOCK_GATE(out),
	LD_SP(R7, R6),
	/* pthread_cond_wait(cond, mutex), pthread_mutex_lock(mutex) */
	WHEN(struct lock_config, cond),
		LD_ARG(R8, R6, 2),
	END,
	UNLESS(struct lock_config, cond),
		LD_ARG(R8, R6, 1),
	END,
	READ_TID(TID),
	MAP_LOOKUP(calls, TID),
	JEQ(R0, 0, first),
	LDX(DW, R1, R0, SP),
	JEQ(R1, 0, outermost),
	JLE_REG(R7, R1, out),
LABEL(outermost),
	STX(DW, R0, SP, R7),
	STX(DW, R0, MUTEX, R8),
	JA(noted),
LABEL(first),
	STX(DW, R10, NEW_SP, R7),
	STX(DW, R10, NEW_MUTEX, R8),
	MAP_UPDATE(calls, TID, HOLD_CALL, BPF_ANY),
LABEL(noted),
	WHEN(struct lock_config, cond),
		CALL(ktime_get_ns),
		MOV_REG(R1, R8),
		MOV(R2, LOCK_HELD),
		MOV_REG(R3, R0),
		CALL_FUNC(lock_end),
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	WHEN(struct lock_config, cond),
		INCLUDE(&rp_lock_end_part),
	END,
};

static const struct asm_insn leave_lines[] = {
	MOV_REG(R6, R1),
	LOCK_GATE(out),
	READ_TID(TID),
	MAP_LOOKUP(calls, TID),
	JEQ(R0, 0, out),
	LD_SP(R1, R6),
	SUB(R1, RETURN_SLOT),
	LDX(DW, R2, R0, SP),
	JNE_REG(R1, R2, out),
	LDX(DW, R8, R0, MUTEX),
	ST(DW, R0, SP, 0),
	/* Whatever pthread_cond_wait returns, it has the mutex again. */
	UNLESS(struct lock_config, cond),
		LD_RET(R1, R6),
		JEQ32(R1, 0, taken),
		JNE32(R1, EOWNERDEAD, out),
LABEL(taken),
	END,
	CALL(ktime_get_ns),
	MOV_REG(R4, R0),
	MOV_REG(R1, R6),
	MOV_REG(R2, R8),
	MOV(R3, LOCK_FUTEX),
	CALL_FUNC(lock_begin),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_lock_begin_part),
};

static const struct asm_insn unlock_lines[] = {
	MOV_REG(R6, R1),
	LOCK_GATE(out),
	CALL(ktime_get_ns),
	MOV_REG(R3, R0),
	LD_ARG(R1, R6, 1),
	MOV(R2, LOCK_HELD),
	CALL_FUNC(lock_end),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_lock_end_part),
};
/* clang-format on */

static const struct lock_config usual_config = { .common = PROGRAM_USUAL_CONFIG, .hold = 1 };

#define HOLD_PROGRAM(role_)                                                                        \
	RP_ON_UPROBE, .role = (role_), RP_MAPS(rp_lock_maps, LOCK_MAPS), RP_CONFIG(usual_config),  \
		      .code.frame = &hold_frame_layout

const struct rp_program rp_lock_hold_programs[] = {
	{ RP_CODE("lock_hold_enter", enter_lines), HOLD_PROGRAM(LOCK_TAKES),
	  .summary = "notes which mutex a function is to take" },
	{ RP_CODE("lock_hold_leave", leave_lines), HOLD_PROGRAM(LOCK_TAKEN),
	  .summary = "notes that a mutex is held" },
	{ RP_CODE("lock_hold_end", unlock_lines), HOLD_PROGRAM(LOCK_GIVES),
	  .summary = "adds how long a mutex was held" },
	RP_LIST_END,
};
