/* SPDX-License-Identifier: BSD-2-Clause */
/* What the lines of jvm.c and jvm_stub.c share: where things lie, steps of several instructions. */
#ifndef PROGRAMS_JVM_STEP_H
#define PROGRAMS_JVM_STEP_H

#include "unwind_step.h"

/* How a stub's frame is passed, programs/shared/jvm_stub.c. */
extern const struct asm_part rp_jvm_stub_part;

enum { STATE_JVM = offsetof(struct unwind_state, jvm_number) };
enum { JVM_TASK = STEP_TASK }; /* in the frame of each function */

#define JVM(member)                                                                                \
	((int)offsetof(struct unwind_state, jvm) + (int)offsetof(struct jvm_walk, member))
#define JVM_OF(member) ((int)offsetof(struct jvm_process, member))
#define OF_RECORD(member) ((int)offsetof(struct stack_scratch, record.member))

/* clang-format off */
/* dst = what is known of the process; t is destroyed. */
#define LD_PROCESS(dst, t)                                                                         \
	LD_MAP_VALUE(dst, jvm_processes, 0),                                                       \
	LDX(W, t, R6, STATE_JVM),                                                                  \
	SUB(t, 1),                                                                                 \
	AND(t, JVM_PROCESSES - 1),                                                                 \
	LSH(t, JVM_PROCESS_SHIFT),                                                                 \
	ADD_REG(dst, t)

/* To the label if the address R1 is one of generated code. */
#define IF_CODE(found)                                                                             \
	LDX(DW, R3, R9, JVM_OF(low)),                                                              \
	SUB_REG(R1, R3),                                                                           \
	LDX(DW, R3, R9, JVM_OF(bytes)),                                                            \
	JLT_REG(R1, R3, found)

/*
 * To the label if the address reg is one of the interpreter, which does not call but jumps; reg and
 * R3 are lost.
 */
#define IF_INTERPRETER(reg, found)                                                                 \
	LDX(DW, R3, R9, JVM_OF(interpreter)),                                                      \
	SUB_REG(reg, R3),                                                                          \
	LDX(DW, R3, R9, JVM_OF(interpreter_bytes)),                                                \
	JLT_REG(reg, R3, found)

/* Reads memory of the process at R3; on failure there are zeroes, or it goes to the label. */
#define TRY_TO_READ(to, size)                                                                      \
	MOV_REG(R1, R6),                                                                           \
	ADD(R1, to),                                                                               \
	MOV(R2, size),                                                                             \
	READ_MEMORY(JVM_TASK)
#define READ_TO(to, size, failed) TRY_TO_READ(to, size), JNE(R0, 0, failed)


/* reg = the task, for a function that is called next. */
#define PASS_TASK(reg)                                                                             \
	WHEN(struct program_config, of_task),                                                      \
		LDX(DW, reg, R10, JVM_TASK),                                                       \
	END

/* The end, at the caller, if there is a frame pointer not too far up; else to the label. What is
 * behind it loads R2 with how far that is, in bytes. */
#define GO_BY_FP(elsewhere, ...)                                                                   \
	MOV_REG(R1, R6),                                                                           \
	PASS_TASK(R2),                                                                             \
	CALL_FUNC(unwind_fp),                                                                      \
	JNE(R0, 0, elsewhere),                                                                     \
	MOV_REG(R1, R6),                                                                           \
	__VA_ARGS__,                                                                               \
	PASS_TASK(R3),                                                                             \
	CALL_FUNC(jvm_by_fp),                                                                      \
	JNE(R0, JVM_CALLER, elsewhere),                                                            \
	EXIT()

/* On to the one label if state->pc follows a call, else to the other; x86-64 only, as the rest. */
#ifdef MACHINE_COMPUTED_RULES
#define IF_BEHIND_CALL(yes, no) IS_BEHIND_CALL(yes, no), JA(yes)
#else
#define IF_BEHIND_CALL(yes, no) JA(no)
#endif
/* clang-format on */

#endif
