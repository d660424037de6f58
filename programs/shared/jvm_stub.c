/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames of HotSpot's stubs that do not say how large they are: each has a frame pointer, or none
 * and at most a few words on the stack. What is taken for a return address has to follow a call;
 * and without a frame pointer it is code of Java, but for the word on top of a stub that the
 * virtual machine has called itself.
 */
#include "jvm_step.h"

ASM_FRAME(stub_frame, (uint64_t, task, STUB_TASK));
ASM_FRAME(by_fp_frame, (uint64_t, task, BY_FP_TASK));
_Static_assert((int)STUB_TASK == (int)JVM_TASK && (int)BY_FP_TASK == (int)JVM_TASK,
	       "macros use it");

enum {
	STUB_WORDS = 8,	   /* on the stack of one that has no frame pointer */
	STUB_BYTES = 2048, /* below the frame pointer */
};

/* clang-format off */
static const struct asm_insn stub_lines[] = {
	/* jvm_stub(state, task): to its caller. JVM_CALLER or JVM_LOST. */
FUNC(jvm_stub),
	MOV_REG(R6, R1),
	WHEN(struct program_config, of_task),
		STX(DW, R10, JVM_TASK, R2),
	END,
	LD_PROCESS(R9, R1),
	LDX(DW, R1, R6, PC),
	STX(DW, R6, JVM(pc), R1),
	LDX(DW, R7, R6, SP),
	MOV(R8, 0),
LABEL(next_word),
	MOV_REG(R3, R7),
	READ_TO(JVM(word), 8, no_caller),
	LDX(DW, R1, R6, JVM(word)),
	STX(DW, R6, PC, R1),
	LDX(DW, R2, R6, JVM(pc)), /* an adapter has moved it */
	JEQ_REG(R1, R2, no_return_address),
	IF_CODE(may_be_return_address),
	JNE(R8, 0, no_return_address),
	LDX(DW, R1, R6, IS_RETURN), /* the virtual machine calls stubs too */
	JNE(R1, 0, no_return_address),
LABEL(may_be_return_address),
	IF_BEHIND_CALL(is_return_address, no_return_address),
LABEL(is_return_address),
	JNE(R8, 1, no_fp_pushed),
	MOV_REG(R1, R7),
	SUB(R1, 8),
	STX(DW, R6, FP_AT, R1),
LABEL(no_fp_pushed),
	ADD(R7, 8),
	STX(DW, R6, SP, R7),
	ST(DW, R6, RBX_AT, 0),
	ST(DW, R6, IS_RETURN, 1),
	ST(DW, R6, MARK, 0),
	MOV(R0, JVM_CALLER),
	EXIT(),
LABEL(no_return_address),
	ADD(R7, 8),
	ADD(R8, 1),
	JEQ(R8, 2, has_fp),
	JLT(R8, STUB_WORDS, next_word),
LABEL(no_caller),
	MOV(R0, JVM_LOST),
	EXIT(),
LABEL(has_fp),
	GO_BY_FP(next_word, MOV(R2, STUB_BYTES)),

	/*
	 * jvm_by_fp(state, most bytes between the stack's top and the frame pointer, task): to the
	 * caller, if state->fp, which is known, is a frame pointer. JVM_CALLER or JVM_LOST.
	 */
FUNC(jvm_by_fp),
	MOV_REG(R6, R1),
	MOV_REG(R8, R2),
	WHEN(struct program_config, of_task),
		STX(DW, R10, JVM_TASK, R3),
	END,
	LDX(DW, R7, R6, FP),
	LDX(DW, R1, R6, SP),
	MOV_REG(R2, R7),
	SUB_REG(R2, R1),
	JGT_REG(R2, R8, no_fp),
	MOV_REG(R3, R7),
	READ_TO(JVM(top), 16, no_fp),
	LDX(DW, R1, R6, JVM(top[1])),
	STX(DW, R6, PC, R1),
	LD_PROCESS(R9, R2),
	IF_INTERPRETER(R1, is_fp),
	IF_BEHIND_CALL(is_fp, no_fp),
LABEL(is_fp),
	LDX(DW, R1, R6, JVM(top[0])),
	STX(DW, R6, FP, R1),
	ADD(R7, 16),
	STX(DW, R6, SP, R7),
	ST(DW, R6, RBX_AT, 0),
	ST(DW, R6, IS_RETURN, 1),
	ST(DW, R6, MARK, 0),
	MOV(R0, JVM_CALLER),
	EXIT(),
LABEL(no_fp),
	MOV(R0, JVM_LOST),
	EXIT(),
};
/* clang-format on */

const struct asm_part rp_jvm_stub_part = { ASM_LINES(stub_lines),
					   ASM_FRAMES({ "jvm_stub", &stub_frame_layout },
						      { "jvm_by_fp", &by_fp_frame_layout }) };
