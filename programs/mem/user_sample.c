/* SPDX-License-Identifier: BSD-2-Clause */
/* mem_user_sample: is this block a sample? rawprof/mem.h says why it is a fair one. */
#include "user.h"

ASM_FRAME(draw_frame, (uint32_t, zero, ZERO_KEY));

/* clang-format off */
static const struct asm_insn draw_lines[] = {
	/* mem_draw(size): 1 if a block of this size is to be a sample, else 0. */
FUNC(mem_draw),
	MOV_REG(R6, R1),
	ST(W, R10, ZERO_KEY, 0),
	MAP_LOOKUP(left, ZERO_KEY),
	JEQ(R0, 0, no), /* never */
	MOV_REG(R7, R0),

	/* R8 = what was left to go, R7 = where that is. */
	MOV_REG(R8, R6),
	NEG(R8),
	ATOMIC_FETCH_ADD(DW, R7, 0, R8),
	JSGT_REG(R8, R6, no),
	JSLE(R8, 0, no), /* preempted in what follows: then the other one is the sample */

	/* Anew, from the end of this block on. */
	CALL(get_prandom_u32),
	AND(R0, MEM_DRAWS - 1),
	LSH(R0, 3),
	LD_MAP_VALUE(R1, draws, 0),
	ADD_REG(R1, R0),
	LDX(DW, R1, R1, 0),
	ADD_REG(R1, R6),
	SUB_REG(R1, R8),
	ATOMIC_ADD(DW, R7, 0, R1),
	MOV(R0, 1),
	EXIT(),
LABEL(no),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
const struct asm_part rp_mem_draw_part = { ASM_LINES(draw_lines),
					   ASM_FRAMES({ "mem_draw", &draw_frame_layout }) };
