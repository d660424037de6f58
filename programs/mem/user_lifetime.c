/* SPDX-License-Identifier: BSD-2-Clause */
/* mem_user_lifetime: how long was a block in use that is freed now? */
#include "user.h"

/* clang-format off */
static const struct asm_insn lived_lines[] = {
	/* mem_lived(size, time): a block of this size, allocated then, is freed. */
FUNC(mem_lived),
	MOV_REG(R6, R1),
	MOV_REG(R7, R2),
	CALL(ktime_get_ns),
	MOV(R2, 0),
	JLE_REG(R0, R7, lived), /* it has come from another CPU's clock */
	MOV_REG(R2, R0),
	SUB_REG(R2, R7),
LABEL(lived),

	/* R1 = its class of sizes: each ends at MEM_LIFETIME_STEP times the one before. */
	MOV(R3, MEM_LIFETIME_FIRST),
	MOV(R1, 0),
LABEL(greater),
	JLE_REG(R6, R3, found),
	ADD(R1, 1),
	LSH(R3, 4),
	JLT(R1, MEM_LIFETIME_CLASSES - 1, greater),
LABEL(found),
	CALL_FUNC(mem_hist),
	MOV(R0, 0),
	EXIT(),

	INCLUDE(&rp_mem_hist_part),
};
/* clang-format on */
_Static_assert(MEM_LIFETIME_STEP == 1 << 4 && (int)MEM_LIFETIME_CLASSES <= (int)MEM_CALLS,
	       "mem_lived shifts, and the map sizes has room");
const struct asm_part rp_mem_lived_part = { ASM_LINES(lived_lines) };
