/* SPDX-License-Identifier: BSD-2-Clause */
/* wall_holder: does the thread that leaves its CPU wait for Python's interpreter lock? */
#include <sys/syscall.h>

#include "programs/shared/stack.h"
#include "wall.h"

enum {
	RECORD = offsetof(struct stack_scratch, record),
	RECORD_HASH = offsetof(struct stack_record, hash),
	RECORD_FRESH = offsetof(struct stack_record, fresh)
};
/* Where the registers of the thread are that its stack was walked with, from the record. */
#ifdef MACHINE_SYSCALL_REG
#define WALK_REG(at) ((int)offsetof(struct stack_scratch, walk.regs) - RECORD + (at))
#else
#define WALK_REG(at) 0 /* there are no frames of Python */
#define MACHINE_SYSCALL_REG 0
#define MACHINE_FIRST_ARGUMENT 0
#endif

/* clang-format off */
static const struct asm_insn holder_lines[] = {
	/*
	 * wall_holder(record, state that it leaves in): the hash that the wait is counted under.
	 * If it is for such a lock that is a record of who has it, which takes the place of the
	 * one at hand, else that one's.
	 */
FUNC(wall_holder),
	MOV_REG(R6, R1),
	LDX(DW, R7, R6, RECORD_HASH),
	JEQ(R7, 0, none), /* it is lost */
	JNE(R2, THREAD_SLEEPING, none),
	LDX(DW, R1, R6, WALK_REG(MACHINE_SYSCALL_REG)),
	JNE(R1, SYS_futex, none),
	LDX(DW, R2, R6, WALK_REG(MACHINE_FIRST_ARGUMENT)),
	MOV_REG(R3, R7),
	MOV_REG(R1, R6),
	SUB(R1, RECORD),
	CALL_FUNC(python_holder),
	JEQ(R0, 0, none),
	ST(W, R6, RECORD_FRESH, WALL_HOLDER),
	MOV_REG(R1, R6),
	CALL_FUNC(stack_hash),
	MOV_REG(R1, R6),
	CALL_FUNC(stack_value),
	LDX(DW, R1, R6, RECORD_HASH),
	JEQ(R1, 0, none),
	MOV_REG(R7, R1),
LABEL(none),
	MOV_REG(R0, R7),
	EXIT(),

	INCLUDE(&rp_python_gil_part),
};
/* clang-format on */
const struct asm_part rp_wall_holder_part = { ASM_LINES(holder_lines) };
