/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_fp: a user stack by frame pointers, where a probe has interrupted the program.
 *
 * Each frame holds the address of its caller's, and next to it the address to return to. The
 * kernel's own walk (bpf_get_stack) goes the same way, but what it does before the first frame
 * costs more than ten frames here.
 */
#include "stack.h"

/* scratch is the address of the struct stack_scratch, whose record takes the stack. */
ASM_FRAME(fp_frame, (uint64_t, scratch, SCRATCH_SLOT));
ASM_FRAME(step_frame,
	(uint64_t, caller_fp, RECORD),
	(caller_fp, CALLER_FP),
	(uint64_t, return_address, RETURN_ADDRESS));
enum {
	FP = offsetof(struct unwind_state, fp),
	N = offsetof(struct unwind_state, n),
	BASE = offsetof(struct unwind_state, base),
	PCS = offsetof(struct stack_scratch, record.frames)
};

#ifndef UNWIND_FP_RECORD
#define UNWIND_FP_RECORD 0
#endif
/* Without the signature that arm64 puts into the upper bits. */
#ifdef UNWIND_RA_MASK
#define STRIP(reg, t)                                                                              \
	SCOPE("STRIP(" #reg ", " #t ")"), LD_IMM64(t, UNWIND_RA_MASK), AND_REG(reg, t), END
#else
#define STRIP(reg, t) SCOPE("STRIP(" #reg ", " #t ")"), END
#endif

/* clang-format off */
static const struct asm_insn fp_lines[] = {
	/* stack_fp(scratch, context, base): how many frames were written behind base others. */
FUNC(stack_fp),
	STX(DW, R10, SCRATCH_SLOT, R1),
	MOV_REG(R6, R1),
	STX(W, R6, BASE, R3),
	MOV_REG(R4, R3),
	ADD(R4, 1),
	STX(W, R6, N, R4),
	LSH(R3, 3),
	ADD_REG(R3, R6),
	LD_IP(R1, R2),
	STX(DW, R3, PCS, R1),
	LD_FP(R1, R2),
	STX(DW, R6, FP, R1),
	LD_PARAM(R1, struct program_config, user_frames),
	SUB(R1, 1),
	LD_FUNC(R2, fp_step),
	FRAME_PTR(R3, SCRATCH_SLOT),
	MOV(R4, 0),
	CALL(loop),
	LDX(W, R0, R6, N),
	LDX(W, R1, R6, BASE),
	SUB_REG(R0, R1),
	EXIT(),

	/* fp_step(index, address of SCRATCH_SLOT): one frame; 1 if it was the last. */
FUNC(fp_step),
	LDX(DW, R6, R2, 0),
	LDX(DW, R7, R6, FP),
	FRAME_PTR(R1, RECORD),
	MOV(R2, sizeof(struct step_frame)),
	MOV_REG(R3, R7),
	ADD(R3, UNWIND_FP_RECORD),
	CALL(probe_read_user),
	JNE(R0, 0, last),
	LDX(DW, R1, R10, RETURN_ADDRESS),
	JEQ(R1, 0, last),
	STRIP(R1, R2),
	LDX(W, R2, R6, N),
	MOV_REG(R3, R2),
	ADD(R3, 1),
	STX(W, R6, N, R3),
	LSH(R2, 3),
	JGE_PARAM(R2, struct program_config, both_bytes, last), /* never */
	ADD_REG(R2, R6),
	STX(DW, R2, PCS, R1),

	/* Callers lie above; anything else is no frame. */
	LDX(DW, R1, R10, CALLER_FP),
	STX(DW, R6, FP, R1),
	JLE_REG(R1, R7, last),
	MOV(R0, 0),
	EXIT(),
LABEL(last),
	MOV(R0, 1),
	EXIT(),
};
/* clang-format on */
const struct asm_part rp_stack_fp_part = { ASM_LINES(fp_lines),
					   ASM_FRAMES({ "stack_fp", &fp_frame_layout },
						      { "fp_step", &step_frame_layout }) };
