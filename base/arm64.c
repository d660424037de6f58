/* SPDX-License-Identifier: BSD-2-Clause */
/* arm64 instructions by the tables of the manual's C4. */
#include "arm64.h"

static bool is_like(uint32_t word, uint32_t mask, uint32_t value)
{
	return (word & mask) == value;
}

/* ---- flow */

static bool is_conditional(uint32_t w)
{
	return is_like(w, 0xff000000, 0x54000000) || /* b.cond, bc.cond */
	       is_like(w, 0x7c000000, 0x34000000);   /* cbz, cbnz, tbz, tbnz */
}

/* br, blr, ret, and those that authenticate. */
static enum insn_flow by_register(uint32_t w, bool *is_call)
{
	switch (w >> 21 & 15) {
	case 0:
	case 8:
		return FLOW_TABLE;
	case 1:
	case 9:
		*is_call = true;
		return FLOW_NEXT;
	case 2:
		return FLOW_RETURN;
	}
	return FLOW_STOP;
}

enum insn_flow rp_arm64_flow(uint32_t w, bool *is_call)
{
	*is_call = is_like(w, 0xfc000000, 0x94000000);
	if (is_like(w, 0xfc000000, 0x14000000))
		return FLOW_JUMP;
	if (is_conditional(w))
		return FLOW_BRANCH;
	if (is_like(w, 0xfe000000, 0xd6000000))
		return by_register(w, is_call);
	if (is_like(w, 0xffff0000, 0) ||	  /* udf, */
	    is_like(w, 0xffe0001f, 0xd4200000) || /* brk, */
	    is_like(w, 0xffe0001f, 0xd4400000) || /* hlt; */
	    is_like(w, 0x7e000000, 0x74000000) || /* not followed: cb<cc>, */
	    is_like(w, 0xff000000, 0x55000000))	  /*   retaasppc */
		return FLOW_STOP;
	return FLOW_NEXT;
}

int32_t rp_arm64_target(uint32_t w)
{
	if (is_like(w, 0x7c000000, 0x14000000))
		return 4 * rp_arm64_signed(w, 0, 26);
	if (is_like(w, 0x7e000000, 0x36000000))
		return 4 * rp_arm64_signed(w, 5, 14);
	return is_conditional(w) ? 4 * rp_arm64_signed(w, 5, 19) : 0;
}

/* ---- what is changed */

/* Where 31 is the zero register. */
static uint32_t reg(uint32_t w, int at)
{
	return 1U << (w >> at & 31) & ~(1U << ARM64_SP);
}

/* That and the next one. */
static uint32_t two(uint32_t w, int at)
{
	return (reg(w, at) | reg(w, at) << 1) & ~(1U << ARM64_SP);
}

/* Where it is the stack pointer. */
static uint32_t reg_or_sp(uint32_t w, int at)
{
	return 1U << (w >> at & 31);
}

static uint32_t immediate(uint32_t w)
{
	const uint32_t how = w >> 29 & 3;

	switch (w >> 23 & 7) {
	case 2: /* add, sub; of tags */
		return how & 1 ? reg(w, 0) : reg_or_sp(w, 0);
	case 3:
		return reg_or_sp(w, 0);
	case 4: /* and, orr, eor, ands */
		return how == 3 ? reg(w, 0) : reg_or_sp(w, 0);
	}
	return reg(w, 0);
}

static uint32_t branch_or_system(uint32_t w)
{
	bool is_call;

	rp_arm64_flow(w, &is_call);
	if (is_call)
		return 1U << ARM64_LR;
	if (w == 0xd503251f) /* chkfeat */
		return 1U << 16;
	if (is_like(w, 0xfff00000, 0xd5700000)) /* mrrs */
		return two(w, 0);
	return is_like(w, 0xffe00000, 0xd5200000) ? reg(w, 0) : 0; /* mrs, sysl */
}

static uint32_t by_registers(uint32_t w)
{
	if (is_like(w, 0x1fe00000, 0x1a400000)) /* ccmp, ccmn: flags only */
		return 0;
	if (is_like(w, 0x3fe00000, 0x0b200000) || /* add, sub of an extended register; */
	    is_like(w, 0xbfe0e000, 0x9a002000))	  /*   addpt, subpt */
		return reg_or_sp(w, 0);
	return reg(w, 0);
}

/* What moves a vector's element or a number to a general register. */
static uint32_t vector(uint32_t w)
{
	const uint32_t what = w >> 16 & 7;

	if (is_like(w, 0x5f20fc00, 0x1e200000)) /* fcvt*, fmov; not scvtf, ucvtf, fmov back */
		return what == 2 || what == 3 || what == 7 ? 0 : reg(w, 0);
	if (is_like(w, 0x5f200000, 0x1e000000)) /* of fixed point */
		return what > 1 ? 0 : reg(w, 0);
	return is_like(w, 0xbfe0ec00, 0x0e002c00) ? reg(w, 0) : 0; /* smov, umov */
}

/* Registers, and one that an address is counted from and then moved. */
static uint32_t pair(uint32_t w)
{
	const bool is_load = w >> 22 & 1, is_vector = w >> 26 & 1;

	return (is_load && !is_vector ? reg(w, 0) | reg(w, 10) : 0) |
	       (w >> 23 & 1 ? reg_or_sp(w, 5) : 0);
}

static uint32_t single(uint32_t w)
{
	const bool is_load = w >> 22 & 3 && !(w >> 26 & 1), is_scaled = w >> 24 & 1;

	if (is_scaled)
		return is_load ? reg(w, 0) : 0;
	if (is_like(w, 0xfffffc00, 0xf83fd000)) /* ld64b */
		return 0xffU << (w & 31);
	if (w >> 21 & 1) {
		if (w >> 10 & 1) /* ldraa, ldrab */
			return reg(w, 0) | (w >> 11 & 1 ? reg_or_sp(w, 5) : 0);
		return w >> 11 & 1 && !is_load ? 0 : reg(w, 0); /* by a register; atomic ones */
	}
	return (is_load ? reg(w, 0) : 0) | (w >> 10 & 1 ? reg_or_sp(w, 5) : 0);
}

/* Tags; ldapur and stlur, ldiapp and stilp; copies of memory. */
static uint32_t others_of_memory(uint32_t w)
{
	if (w >> 21 & 1)
		return reg(w, 0) | reg(w, 16) | (w >> 10 & 1 ? reg_or_sp(w, 5) : 0);
	if (!(w >> 10 & 3))
		return reg(w, 0);
	return reg(w, 0) | reg(w, 16) | (w >> 11 & 1 ? reg_or_sp(w, 5) : reg(w, 5));
}

static uint32_t memory(uint32_t w)
{
	switch (w >> 24 & 0x3f) {
	case 0x08: /* exclusive ones, compare and swap, of pairs too */
		return two(w, 0) | reg(w, 10) | two(w, 16);
	case 0x0c: /* structures of vectors */
	case 0x0d:
		return w >> 23 & 1 ? reg_or_sp(w, 5) : 0;
	case 0x18: /* of a place near the instruction */
		return reg(w, 0);
	case 0x1c:
		return 0;
	case 0x19:
	case 0x1d:
		return others_of_memory(w);
	}
	return is_like(w, 0x3a000000, 0x28000000) ? pair(w) : single(w);
}

/* SVE: what counts elements or takes one out; addvl, addpl, rdvl. */
static uint32_t scalable(uint32_t w)
{
	if (is_like(w, 0xff20f000, 0x04205000))
		return reg_or_sp(w, 0);
	if (is_like(w, 0xff20c000, 0x0420c000) || is_like(w, 0xff20e000, 0x0520a000) ||
	    is_like(w, 0xff208000, 0x25208000))
		return reg(w, 0);
	return 0;
}

uint32_t rp_arm64_changes(uint32_t w)
{
	switch (w >> 25 & 15) {
	case 2:
		return scalable(w);
	case 4:
	case 6:
	case 12:
	case 14:
		return memory(w);
	case 5:
	case 13:
		return by_registers(w);
	case 7:
	case 15:
		return vector(w);
	case 8:
	case 9:
		return immediate(w);
	case 10:
	case 11:
		return branch_or_system(w);
	}
	return reg(w, 0);
}
