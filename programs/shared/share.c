/* SPDX-License-Identifier: BSD-2-Clause */
/* share: may this user have one more place of a map? The lines of SHARE_OR() and its parts. */
#include "share.h"

enum { ALL = offsetof(struct share, all), HAS = offsetof(struct share, has) };

/* clang-format off */
/* One who may have many numbers. R1 and R2 are lost. */
#define UNLESS_SUBUID(n)                                                                           \
	SCOPE("UNLESS_SUBUID(" #n ")"), WHEN(struct program_config, subuids[n].last),              \
		LD_PARAM(R1, struct program_config, subuids[n].first),                             \
		LD_PARAM(R2, struct program_config, subuids[n].last), JLT_REG(R0, R1, .no),        \
		JGT_REG(R0, R2, .no), MOV32(R0, -1), LABEL(.no), END, END
static const struct asm_insn subuid_lines[] = {
	UNLESS_SUBUID(0),
	UNLESS_SUBUID(1),
};
static const struct asm_part subuid_part = { ASM_LINES(subuid_lines) };

/*
 * R0 = who pays for the task in R0; (uint32_t)-1: who counts as one with others. The owner is
 * loaded twice: of a copy `explain --step` does not see which state of the verifier covers one
 * without.
 */
static const struct asm_insn payer_of_lines[] = {
	LD_FIELD(R1, R0, "task_struct", "cred"),
	LD_FIELD(R0, R1, "cred", "uid.val"),
	JEQ(R0, 0, .payer),
	LD_FIELD(R3, R1, "cred", "user_ns"),
	LD_FIELD(R4, R3, "user_namespace", "level"),
	LD_FIELD(R5, R3, "user_namespace", "owner.val"),
	JEQ(R5, 0, .number), /* it is the machine's own, or root made it */
	LD_FIELD(R0, R3, "user_namespace", "owner.val"),
	JLE(R4, 1, .number),
	MOV32(R0, -1),
	JA(.payer),
LABEL(.number),
	INCLUDE(&subuid_part),
	JNE32(R0, -1, .payer),
	JEQ(R4, 0, .payer),
	JNE(R5, 0, .payer),
	LD_FIELD(R0, R3, "user_namespace", "ns.inum"), /* a container of root's */
LABEL(.payer),
};
const struct asm_part rp_share_payer_of_part = { ASM_LINES(payer_of_lines) };

/* R0 = who pays for the current one. */
static const struct asm_insn payer_lines[] = {
	WHEN(struct program_config, identity),
		CALL(get_current_task_btf),
		INCLUDE(&rp_share_payer_of_part),
	END,
	UNLESS(struct program_config, identity),
		CALL(get_current_uid_gid),
		MOV32_REG(R0, R0),
		INCLUDE(&subuid_part),
	END,
};
const struct asm_part rp_share_payer_part = { ASM_LINES(payer_lines) };

/* R0 = where the share at R1 has the places of the payer in R0. R4 is lost. */
#define PLACES_OF_PAYER                                                                            \
	MOV(R4, SHARE_USERS), JEQ32(R0, -1, .one), MOV_REG(R4, R0), AND(R4, SHARE_USERS - 1),      \
		LABEL(.one), MOV_REG(R0, R4), LSH(R0, 3), ADD_REG(R0, R1)

/* R0 = whether the payer has one of the R2 places that the share at R1 is of; it is taken. */
static const struct asm_insn share_lines[] = {
	MOV(R3, 1),
	JEQ(R0, 0, .root),
	/* Seven eighths of what the others have left: seven times as many as there are left now. */
	PLACES_OF_PAYER,
	LDX(DW, R4, R1, ALL),
	SUB_REG(R2, R4),
	MUL(R2, 7),
	LDX(DW, R4, R0, HAS),
	JSGE_REG(R4, R2, .none),
	ATOMIC_ADD(DW, R0, HAS, R3),
LABEL(.root),
	ATOMIC_ADD(DW, R1, ALL, R3),
	MOV(R0, 1),
	JA(.done),
LABEL(.none),
	MOV(R0, 0),
LABEL(.done),
};
/* clang-format on */
const struct asm_part rp_share_part = { ASM_LINES(share_lines) };

/* clang-format off */
/* R0 pays for R3 more places of the share at R1; if that is below 0, for fewer. */
static const struct asm_insn share_add_lines[] = {
	JEQ(R0, 0, .root),
	PLACES_OF_PAYER,
	ATOMIC_ADD(DW, R0, HAS, R3),
LABEL(.root),
	ATOMIC_ADD(DW, R1, ALL, R3),
};
/* clang-format on */
const struct asm_part rp_share_add_part = { ASM_LINES(share_add_lines) };
