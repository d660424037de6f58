/* SPDX-License-Identifier: BSD-2-Clause */
/* share: may this user have one more place of a map? */
#include "share.h"

enum { ALL = offsetof(struct share, all), HAS = offsetof(struct share, has) };

/* clang-format off */
static const struct asm_insn share_lines[] = {
	/* share_take(struct share, places of its map): R0 = whether one is left; it is taken. */
FUNC(share_take),
	MOV_REG(R6, R1),
	MOV_REG(R7, R2),

	/* R8 = who pays. */
	CALL(get_current_uid_gid),
	JEQ32(R0, 0, has_one), /* root */
	MOV_REG(R8, R0),
	WHEN(struct program_config, identity),
		CALL(get_current_task_btf),
		LD_FIELD(R0, R0, "task_struct", "cred.user_ns"),
		LD_FIELD(R1, R0, "user_namespace", "owner.val"),
		JEQ(R1, 0, is_payer), /* it is the machine's own, or root made it */
		MOV_REG(R8, R1),
		LD_FIELD(R1, R0, "user_namespace", "level"),
		JLE(R1, 1, is_payer),
		MOV(R8, -1),
LABEL(is_payer),
	END,

	/* Half of what the others have left: as many as there are left now. */
	AND(R8, SHARE_USERS - 1),
	LSH(R8, 3),
	ADD_REG(R8, R6),
	LDX(DW, R1, R6, ALL),
	SUB_REG(R7, R1),
	LDX(DW, R1, R8, HAS),
	JSGE_REG(R1, R7, none),
	MOV(R1, 1),
	ATOMIC_ADD(DW, R8, HAS, R1),
LABEL(has_one),
	MOV(R1, 1),
	ATOMIC_ADD(DW, R6, ALL, R1),
	MOV(R0, 1),
	EXIT(),
LABEL(none),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
const struct asm_part rp_share_part = { ASM_LINES(share_lines) };
