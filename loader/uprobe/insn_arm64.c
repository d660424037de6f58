/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What arm64 instructions mean to a probe (Arm's Architecture Reference Manual,
 * chapter C4), and what the kernel does to have them run (arch/arm64/kernel/probes/decode-insn.c of
 * Linux). Little-endian, as is every program on Linux that people profile.
 */
#include "insn.h"

#include <string.h>

enum { SP_OR_ZERO = 31 };

static int64_t sign_extend(uint32_t word, int from, int bits)
{
	const uint32_t field = word >> from & ((1U << bits) - 1);
	const uint32_t sign = 1U << (bits - 1);

	return (int64_t)(field ^ sign) - sign;
}

/* x9 to x17 are free between the entry and the first call. x8 may be where a result goes. */
static uint16_t writes(uint32_t reg, bool may_be_sp)
{
	if (reg < INSN_ARGS)
		return 1U << reg;
	if (reg == SP_OR_ZERO)
		return may_be_sp ? INSN_OTHER : 0;
	return reg >= 9 && reg <= 17 ? 0 : INSN_OTHER;
}

/* Data processing with an immediate, but for adr and adrp. */
static uint16_t changes_immediate(uint32_t w, struct insn *out)
{
	const uint32_t to = w & 31;
	const bool sets_flags = w >> 29 & 1;

	/* sub sp, sp, #N{, lsl 12} */
	if ((w & 0xff8003ff) == 0xd10003ff) {
		out->name = "sub sp";
		out->grows = (w >> 10 & 0xfff) << (w >> 22 & 1 ? 12 : 0);
		return 0;
	}
	switch (w >> 23 & 7) {
	case 2: /* add, sub */
		out->name = sets_flags && to == SP_OR_ZERO ? "cmp" : "arithmetic";
		return writes(to, !sets_flags);
	case 4: /* and, orr, eor, ands */
		out->name = "logic";
		return writes(to, (w >> 29 & 3) != 3);
	case 5:
		out->name = "mov";
		return writes(to, false);
	case 6: /* bit fields, extr */
	case 7:
		out->name = "bit field";
		return writes(to, false);
	}
	return INSN_OTHER;
}

static uint16_t changes_register(uint32_t w, struct insn *out)
{
	const uint32_t to = w & 31;

	switch (w >> 24 & 0x1f) {
	case 0x0a:
		out->name = "mov or logic";
		return writes(to, false);
	case 0x0b: /* extended registers: bit 21 */
		out->name = w >> 29 & 1 && to == SP_OR_ZERO ? "cmp" : "arithmetic";
		return writes(to, (w >> 21 & 1) && !(w >> 29 & 1));
	}
	return INSN_OTHER;
}

/* hint #number. The kernel steps over those that touch no more than a register. */
static void decode_hint(uint32_t number, struct insn *out)
{
	switch (number) {
	case 0:
		out->name = "nop";
		out->step = RP_STEP_EMULATED; /* since 6.13 */
		break;
	case 32: /* bti, with c, j or jc */
	case 34:
	case 36:
	case 38:
		out->name = "bti";
		break;
	case 7: /* pointer authentication changes lr, or x17 */
	case 8:
	case 10:
	case 12:
	case 14:
	case 24 ... 31:
		out->name = "pac";
		out->changes = INSN_OTHER;
		break;
	default:
		out->name = "hint";
		out->step = RP_STEP_UNKNOWN;
		out->changes = INSN_OTHER;
	}
}

static void decode_system(uint32_t w, struct insn *out)
{
	out->changes = INSN_OTHER;
	if ((w & 0xfffff01f) == 0xd503201f) {
		out->changes = 0;
		decode_hint(w >> 5 & 0x7f, out);
	} else if ((w & 0xff000000) == 0xd4000000) { /* svc, brk, hlt */
		out->step = RP_STEP_UNKNOWN;
		out->name = "trap";
		if ((w & 0xffe0001f) != 0xd4000001)
			out->flow = FLOW_STOP;
	} else if ((w & 0xfff00000) == 0xd5100000 || (w & 0xfff8f01f) == 0xd500401f) {
		out->step = RP_STEP_UNKNOWN; /* msr */
	}
}

/* br, blr, ret, and their kin with authentication, which the kernel refuses. */
static void decode_branch_register(uint32_t w, struct insn *out)
{
	const uint32_t kind = w >> 21 & 7;
	const bool plain = (w & 0xff1ffc1f) == 0xd61f0000 && kind < 3;

	out->step = plain ? RP_STEP_EMULATED : RP_STEP_UNKNOWN;
	if (kind == 1) {
		out->is_call = true;
		out->name = "blr";
	} else if (kind == 2) {
		out->flow = FLOW_RETURN;
		out->name = "ret";
	} else {
		out->flow = FLOW_TABLE;
		out->name = "br";
	}
}

static bool decode_branch(uint32_t w, struct insn *out)
{
	out->step = RP_STEP_EMULATED;
	if ((w & 0x7c000000) == 0x14000000) {
		out->is_call = w >> 31;
		out->flow = out->is_call ? FLOW_NEXT : FLOW_JUMP;
		out->target = 4 * sign_extend(w, 0, 26);
		out->name = out->is_call ? "bl" : "b";
	} else if ((w & 0xff000000) == 0x54000000 || (w & 0x7e000000) == 0x34000000) {
		out->flow = FLOW_BRANCH;
		out->target = 4 * sign_extend(w, 5, 19);
		out->name = "conditional branch";
		if ((w & 0xff000010) == 0x54000010) /* bc.cond, which the kernel refuses */
			out->step = RP_STEP_UNKNOWN;
	} else if ((w & 0x7e000000) == 0x36000000) {
		out->flow = FLOW_BRANCH;
		out->target = 4 * sign_extend(w, 5, 14);
		out->name = "conditional branch";
	} else if ((w & 0xfe000000) == 0xd6000000) {
		decode_branch_register(w, out);
	} else {
		out->step = RP_STEP_SINGLE;
		return false;
	}
	out->changes = INSN_OTHER;
	return true;
}

bool rp_insn_arm64_decode(const uint8_t *code, size_t n, struct insn *out)
{
	struct insn i = { .len = 4, .step = RP_STEP_SINGLE, .name = "instruction" };
	uint32_t w;

	if (n < 4)
		return false;
	memcpy(&w, code, 4);
	if (!(w >> 16)) /* udf, and zeros between functions */
		return false;
	if (decode_branch(w, &i)) {
		;
	} else if ((w & 0xfe000000) == 0xd4000000) {
		decode_system(w, &i);
	} else if ((w & 0x1f000000) == 0x10000000) {
		i.step = RP_STEP_EMULATED;
		i.name = w >> 31 ? "adrp" : "adr";
		i.changes = writes(w & 31, false);
	} else if ((w & 0x1c000000) == 0x10000000) {
		i.changes = changes_immediate(w, &i);
	} else if ((w & 0x0e000000) == 0x0a000000) {
		i.changes = changes_register(w, &i);
	} else {
		/* The kernel refuses loads of literals and exclusive accesses. */
		if ((w & 0x3b000000) == 0x18000000 || (w & 0x3f000000) == 0x08000000)
			i.step = RP_STEP_UNKNOWN;
		i.changes = INSN_OTHER;
	}
	*out = i;
	return true;
}
