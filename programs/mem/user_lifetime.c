/* SPDX-License-Identifier: BSD-2-Clause */
/* mem_user_lifetime: how long was a block in use that is freed now? */
#include "user.h"

/* The stack frame of mem_lived. */
ASM_FRAME(lived_frame,
	(uint64_t, size, LIVED_SIZE),
	(uint32_t, size_class, CLASS));

/* clang-format off */
static const struct asm_insn lived_lines[] = {
	/* mem_lived(size, time): a block of this size, allocated then, is freed. */
FUNC(mem_lived),
	STX(DW, R10, LIVED_SIZE, R1),
	MOV_REG(R6, R2),
	CALL(ktime_get_ns),
	MOV(R7, 0),
	JLE_REG(R0, R6, lived), /* it has come from another CPU's clock */
	MOV_REG(R7, R0),
	SUB_REG(R7, R6),
LABEL(lived),

	/* Its class of sizes: each ends at MEM_LIFETIME_STEP times the one before. */
	LDX(DW, R1, R10, LIVED_SIZE),
	MOV(R2, MEM_LIFETIME_FIRST),
	MOV(R3, 0),
LABEL(greater),
	JLE_REG(R1, R2, found),
	ADD(R3, 1),
	LSH(R2, 4),
	JLT(R3, MEM_LIFETIME_CLASSES - 1, greater),
LABEL(found),
	STX(W, R10, CLASS, R3),
	MAP_LOOKUP(sizes, CLASS),
	JEQ(R0, 0, out),
	MOV_REG(R8, R0),
	HIST_ADD(R8, R7, MEM_HIST_BITS, MEM_HIST_SLOTS),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
_Static_assert(MEM_LIFETIME_STEP == 1 << 4 && (int)MEM_LIFETIME_CLASSES <= (int)MEM_CALLS,
	       "mem_lived shifts, and the map sizes has room");
const struct asm_part rp_mem_lived_part = { ASM_LINES(lived_lines),
					    ASM_FRAMES({ "mem_lived", &lived_frame_layout }) };
