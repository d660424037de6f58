/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * python_holder: who has the interpreter lock that a thread of Python begins to wait for?
 *
 * CPython lets one thread of an interpreter run at a time. The lock is a mutex, a condition
 * variable and the address of the thread state that has it. A thread that wants it waits for the
 * condition variable, 5 ms at a time: then it asks again to be let in. So each of these waits says
 * who had the lock when it began, and in the end they say who had it for how long. Who wakes the
 * thread says less: it has done what it wanted the lock for.
 *
 * The holder runs on another processor, or sleeps. Its memory is that of the thread that waits, so
 * its frames of Python can be read. They change meanwhile; what is read is believed as little as
 * any other frame (python.c).
 */
#include "python_step.h"

/*
 * struct _gil_runtime_state (Include/internal/pycore_gil.h), the same in 3.8 to 3.14. It begins
 * with the interval.
 */
enum { GIL_HOLDER = 8, GIL_LOCKED = 16, GIL_CONDITION = 32, CONDITION_BYTES = 48 };
enum { THREAD_INTERPRETER = 16 }; /* of the thread state */

ASM_FRAME(holder_frame,
	(uint64_t, task, HOLDER_TASK),
	(uint64_t, address, ADDRESS),
	(uint64_t, tag, HOLDER_TAG));

/* clang-format off */
#define READ_WORDS(bytes) READ_USER_TO(WALK(words), bytes, HOLDER_TASK, none)
/* id = what the kernel calls the thread with that state. R1 to R5 are lost. */
#define LD_THREAD_ID(id, thread)                                                                   \
	SCOPE("LD_THREAD_ID(" #id ", " #thread ")"),                                               \
		MOV_REG(R3, thread),                                                               \
		LDX(H, R1, R9, LAYOUT(thread_id)),                                                 \
		ADD_REG(R3, R1),                                                                   \
		READ_WORDS(8),                                                                     \
		LDX(H, R1, R9, LAYOUT(pthread_id)),                                                \
		JEQ(R1, 0, .known),                                                                \
		LDX(DW, R3, R6, WALK(words)),                                                      \
		ADD_REG(R3, R1),                                                                   \
		READ_WORDS(4),                                                                     \
		LABEL(.known),                                                                     \
		LDX(W, id, R6, WALK(words)),                                                       \
	END

static const struct asm_insn holder_lines[] = {
	/* python_holder(scratch, address, tag): bytes of its frames, or 0. */
FUNC(python_holder),
	MOV_REG(R6, R1),
	STX(DW, R10, ADDRESS, R2),
	STX(DW, R10, HOLDER_TAG, R3),
	LDX(DW, R8, R6, WALK(thread)),
	JEQ(R8, 0, none),
	LD_LAYOUT(R9, R1),

	/* R7 = where the lock is: from 3.12 on each interpreter may have one. */
	LDX(H, R1, R9, LAYOUT(interpreter_gil)),
	JNE(R1, 0, of_interpreter),
	LDX(DW, R7, R6, OF_PROCESS(runtime)),
	LDX(H, R1, R9, LAYOUT(runtime_gil)),
	ADD_REG(R7, R1),
	JA(lock_known),
LABEL(of_interpreter),
	MOV_REG(R3, R8),
	ADD(R3, THREAD_INTERPRETER),
	READ_WORDS(8),
	LDX(DW, R3, R6, WALK(words)),
	LDX(H, R1, R9, LAYOUT(interpreter_gil)),
	ADD_REG(R3, R1),
	READ_WORDS(8),
	LDX(DW, R7, R6, WALK(words)),
LABEL(lock_known),
	LDX(DW, R1, R10, ADDRESS),
	SUB_REG(R1, R7),
	SUB(R1, GIL_CONDITION),
	JGE(R1, CONDITION_BYTES, none),

	/* R7 = the holder's thread state. */
	MOV_REG(R3, R7),
	ADD(R3, GIL_HOLDER),
	READ_WORDS(GIL_LOCKED - GIL_HOLDER + 4),
	LDX(W, R1, R6, WALK(words) + GIL_LOCKED - GIL_HOLDER),
	JNE(R1, 1, none),
	LDX(DW, R7, R6, WALK(words)),
	JEQ(R7, 0, none),
	JEQ_REG(R7, R8, none), /* it has had it last */

	/*
	 * R8 = its number. Who waits knows its own as the process does: if it is called otherwise
	 * here, the process lives in a namespace, and what the holder is called here is not known.
	 */
	LD_THREAD_ID(R1, R8),
	LDX(W, R2, R6, OF_RECORD(pid_tgid)),
	MOV(R8, 0),
	JNE_REG(R1, R2, numbered),
	LD_THREAD_ID(R8, R7),
LABEL(numbered),

	/* The record becomes the holder's. */
	STX(W, R6, OF_RECORD(pid_tgid), R8),
	LDX(DW, R1, R10, HOLDER_TAG),
	STX(DW, R6, OF_RECORD(tag), R1),
	ST(W, R6, OF_RECORD(kernel_bytes), 0),
	ST(W, R6, OF_RECORD(user_bytes), 0),
	ST(W, R6, OF_RECORD(user_end), UNWIND_COMPLETE),
	MOV_REG(R1, R6),
	MOV_REG(R2, R7),
	CALL_FUNC(python_walk),
	LSH(R0, 3),
	STX(W, R6, OF_RECORD(managed_bytes), R0),
	EXIT(),
LABEL(none),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
const struct asm_part rp_python_gil_part = {
	ASM_LINES(holder_lines), ASM_FRAMES({ "python_holder", &holder_frame_layout })
};
