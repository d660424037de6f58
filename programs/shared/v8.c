/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * v8_walk: which of the native frames are functions of JavaScript?
 *
 * Frames that were walked by their frame pointer have it, with the lowest bit set, where others
 * have their stack pointer. Below it lie
 *
 *	fp - 8	the context, a pointer: its lowest bit is set. A number there is the type of a
 *		frame that is no function: an entry, an exit, a stub
 *	- 16	the function (JSFunction) -> SharedFunctionInfo
 *	- 32	its bytecode, and
 *	- 40	  where in it, if it is interpreted
 *
 * Pointers to objects have their lowest two bits 01, numbers the lower half 0.
 */
#include "python_step.h"

ASM_FRAME(v8_frame,
	(uint64_t, task, V8_TASK),
	(uint64_t, state, V8_STATE));
ASM_FRAME(v8_step_frame,
	(uint64_t, task, STEP_TASK));

#define V8(member)                                                                                 \
	((int)offsetof(struct stack_scratch, walk.v8) + (int)offsetof(struct v8_walk, member))
#define OF_V8(member)                                                                              \
	((int)offsetof(struct stack_scratch, walk.v8_process) +                                    \
	 (int)offsetof(struct v8_process, member))

enum {
	PCS = offsetof(struct stack_scratch, record.frames),
	POINTERS = PCS + STACK_SLACK, /* and room for the frames */
	N = offsetof(struct stack_scratch, walk.n),
	KNOWN_PID = offsetof(struct stack_scratch, walk.pid),
	OBJECT = 1, /* the tag of a pointer to one */
	MAP_TYPE = 12,
	LEAST_BYTECODE_OFFSET = 32, /* it counts from the object's start */
	MOST_BYTECODE_OFFSET = 1 << 28,
};

/* clang-format off */
/* On to the label unless the register holds a pointer to an object; R1 is lost. */
#define IS_OBJECT(reg, no)                                                                         \
	MOV_REG(R1, reg),                                                                          \
	AND(R1, 3),                                                                                \
	JNE(R1, OBJECT, no)
#define MIX(value)                                                                                 \
	XOR_REG(R2, value),                                                                        \
	MUL_REG(R2, R5),                                                                           \
	MOV_REG(value, R2),                                                                        \
	RSH(value, 32),                                                                            \
	XOR_REG(R2, value)

static const struct asm_insn v8_lines[] = {
	/* v8_walk(scratch, task): how many words were written. */
FUNC(v8_walk),
	MOV_REG(R6, R1),
	STX(DW, R10, V8_STATE, R6),
	WHEN(struct program_config, of_task),
		STX(DW, R10, V8_TASK, R2),
	END,
	ST(W, R6, V8(fresh), 0),
	LDX(H, R1, R6, OF_V8(shared)),
	JEQ(R1, 0, none),
	LDX(W, R1, R6, KNOWN_PID),
	LDX(W, R2, R6, OF_RECORD(pid_tgid) + 4),
	JNE_REG(R1, R2, none),
	LDX(W, R1, R6, OF_RECORD(user_end)),
	JGT(R1, UNWIND_GONE, none), /* the kernel's walk has left no frame pointers */
	FETCH_SEEN,
	LDX(W, R1, R6, OF_RECORD(kernel_bytes)),
	RSH(R1, 3),
	STX(W, R6, V8(base), R1),
	LDX(W, R2, R6, OF_RECORD(user_bytes)),
	RSH(R2, 3),
	ADD_REG(R1, R2),
	STX(W, R6, N, R1),
	MOV_REG(R7, R1),
	LD_PARAM(R1, struct program_config, all_bytes), /* what native ones leave too */
	RSH(R1, 3),
	STX(W, R6, WALK(max), R1),

	MOV_REG(R1, R2),
	LD_FUNC(R2, v8_step),
	FRAME_PTR(R3, V8_STATE),
	MOV(R4, 0),
	CALL(loop),
	LDX(W, R0, R6, N),
	SUB_REG(R0, R7),
	EXIT(),
LABEL(none),
	MOV(R0, 0),
	EXIT(),

	/* v8_step(number of the native frame, slot of the scratch): 1 if there is no more room. */
FUNC(v8_step),
	LDX(DW, R6, R2, 0),
	WHEN(struct program_config, of_task),
		LDX(DW, R3, R2, V8_TASK - V8_STATE),
		STX(DW, R10, STEP_TASK, R3),
	END,
	MOV_REG(R9, R1),
	LDX(W, R2, R6, V8(base)),
	ADD_REG(R2, R9),
	LSH(R2, 3),
	JGE_PARAM(R2, struct program_config, both_bytes, last), /* never */
	ADD_REG(R2, R6),
	LDX(DW, R8, R2, PCS),
	LD_PARAM(R1, struct program_config, all_bytes),
	ADD_REG(R2, R1),
	LDX(DW, R7, R2, POINTERS),
	MOV_REG(R1, R7),
	AND(R1, UNWIND_POINTER_FP),
	JEQ(R1, 0, next),
	MOV_REG(R3, R7),
	SUB(R3, UNWIND_POINTER_FP + 40),
	READ_USER_TO(V8(slots), 40, STEP_TASK, next),
	LDX(DW, R1, R6, V8(slots) + 32),
	AND(R1, 1),
	JEQ(R1, 0, next),
	LDX(DW, R3, R6, V8(slots) + 24),
	IS_OBJECT(R3, next),
	LDX(H, R1, R6, OF_V8(shared)),
	ADD_REG(R3, R1),
	SUB(R3, OBJECT),
	READ_USER_TO(V8(shared), 8, STEP_TASK, next),
	LDX(DW, R3, R6, V8(shared)),
	IS_OBJECT(R3, next),
	ADD(R3, V8_SHARED_NAME - OBJECT),
	READ_USER_TO(V8(members), 40, STEP_TASK, next),

	/* Where it is; R7 = V8_COMPILED or 0. A return address says itself that it is one. */
	MOV_REG(R2, R8),
	LSH(R8, 1),
	RSH(R8, 1),
	JSLT(R2, 0, was_sampled), /* UNWIND_PC_EXACT */
	JNE(R9, 0, is_return),
LABEL(was_sampled),
	ADD(R8, 1),
LABEL(is_return),
	LD_IMM64(R7, V8_COMPILED),
	LDX(DW, R3, R6, V8(slots) + 8),
	IS_OBJECT(R3, compiled),
	LDX(W, R1, R6, V8(slots)),
	JNE(R1, 0, compiled),
	LDX(W, R1, R6, V8(slots) + 4),
	JLT(R1, LEAST_BYTECODE_OFFSET, compiled),
	JGT(R1, MOST_BYTECODE_OFFSET, compiled),
	SUB(R3, OBJECT),
	READ_USER_TO(V8(word), 8, STEP_TASK, compiled),
	LDX(DW, R3, R6, V8(word)),
	ADD(R3, MAP_TYPE - OBJECT),
	ST(DW, R6, V8(word), 0),
	READ_USER_TO(V8(word), 2, STEP_TASK, compiled),
	LDX(H, R1, R6, V8(word)),
	LDX(H, R2, R6, OF_V8(bytecode_type)),
	JNE_REG(R1, R2, compiled),
	LDX(W, R8, R6, V8(slots) + 4),
	MOV(R7, 0),
LABEL(compiled),

	/* What tells the function from another at the same address. */
	LD_IMM64(R5, GOLDEN_RATIO_64),
	MOV(R2, 0),
	LDX(DW, R1, R6, V8(members)),
	MIX(R1),
	LDX(DW, R1, R6, V8(members) + V8_SHARED_SCRIPT - V8_SHARED_NAME),
	MIX(R1),
	LDX(W, R1, R6, V8(members) + V8_SHARED_LITERAL - V8_SHARED_NAME),
	MIX(R1),
	MOV_REG(R1, R2),
	AND(R1, (1 << V8_CHECK_LOW_BITS) - 1),
	LSH(R1, V8_CHECK_LOW_SHIFT),
	OR_REG(R7, R1),
	RSH(R2, V8_CHECK_LOW_BITS),
	AND(R2, (1 << V8_CHECK_HIGH_BITS) - 1),
	LSH(R2, V8_CHECK_HIGH_SHIFT),
	LD_IMM64(R1, V8_POSITION_MASK),
	AND_REG(R8, R1),
	OR_REG(R8, R2),
	LDX(DW, R2, R6, V8(shared)),
	LD_IMM64(R1, V8_ADDRESS_MASK),
	AND_REG(R2, R1),
	OR_REG(R7, R2),
	LD_IMM64(R4, MANAGED_WORD),
	OR_REG(R7, R4),
	OR_REG(R8, R4),

	LDX(W, R1, R6, N),
	MOV_REG(R2, R1),
	ADD(R2, 3),
	LDX(W, R3, R6, WALK(max)),
	JGT_REG(R2, R3, last),
	LSH(R1, 3),
	JGE_PARAM(R1, struct program_config, all_bytes, last), /* never */
	STX(W, R6, N, R2),
	ADD_REG(R1, R6),
	STX(DW, R1, PCS, R7),
	STX(DW, R1, PCS + 8, R8),
	LD_IMM64(R3, MANAGED_WORD | MANAGED_PLACE |
		     (uint64_t)MANAGED_JS << MANAGED_LANGUAGE_SHIFT),
	OR_REG(R3, R9),
	STX(DW, R1, PCS + 16, R3),

	/* Does user space know it? Its memory is read now, while the process is there. */
	MUL_REG(R7, R5),
	XOR_REG(R7, R8),
	MUL_REG(R7, R5),
	FIND_SEEN(next),
	ST(W, R6, V8(fresh), 1),
	MOV_REG(R2, R7),
	REMEMBER_SEEN,
LABEL(next),
	MOV(R0, 0),
	EXIT(),
LABEL(last),
	MOV(R0, 1),
	EXIT(),
};
/* clang-format on */

const struct asm_part rp_v8_part = { ASM_LINES(v8_lines),
				     ASM_FRAMES({ "v8_walk", &v8_frame_layout },
						{ "v8_step", &v8_step_frame_layout }) };
