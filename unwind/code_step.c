/* SPDX-License-Identifier: BSD-2-Clause */
/* What one x86-64 instruction does to where the frame is. */
#include <string.h>

#include "code.h"

/* Frames are smaller; beyond this numbers are not followed. */
enum { OFF_MAX = 1 << 28 };

struct unwind_code_state unwind_code_entry(void)
{
	return (struct unwind_code_state){ .sp = { -8, KNOWN_CFA }, .copy_reg = { -1, -1 } };
}

static const struct unwind_known unknown;

static bool same(struct unwind_known a, struct unwind_known b)
{
	return a.from == b.from && a.off == b.off && a.from != KNOWN_NOT;
}

static struct unwind_known plus(struct unwind_known v, int64_t n)
{
	const int64_t off = v.off + n;

	if (v.from == KNOWN_NOT || off > OFF_MAX || off < -OFF_MAX)
		return unknown;
	return (struct unwind_known){ (int32_t)off, v.from };
}

/* ---- registers */

static int copy_in(const struct unwind_code_state *s, unsigned int reg)
{
	for (int i = 0; i < UNWIND_COPIES; i++)
		if (s->copy_reg[i] == (int8_t)reg)
			return i;
	return -1;
}

static struct unwind_known get(const struct unwind_code_state *s, unsigned int reg)
{
	int i;

	if (reg == X86_SP)
		return s->sp;
	if (reg == X86_BP)
		return s->bp;
	i = copy_in(s, reg);
	return i < 0 ? unknown : s->copy[i];
}

static void drop_copy(struct unwind_code_state *s, int i)
{
	for (; i + 1 < UNWIND_COPIES; i++) {
		s->copy[i] = s->copy[i + 1];
		s->copy_reg[i] = s->copy_reg[i + 1];
	}
	s->copy[i] = unknown;
	s->copy_reg[i] = -1;
}

static void forget(struct unwind_code_state *s, unsigned int reg)
{
	const int i = copy_in(s, reg);

	if (i >= 0)
		drop_copy(s, i);
}

static void add_copy(struct unwind_code_state *s, unsigned int reg, struct unwind_known v)
{
	forget(s, reg);
	for (int i = UNWIND_COPIES - 1; i; i--) {
		s->copy[i] = s->copy[i - 1];
		s->copy_reg[i] = s->copy_reg[i - 1];
	}
	s->copy[0] = v;
	s->copy_reg[0] = (int8_t)reg;
}

/* Where the caller's rbp was stored is not known any more. */
static void lose_saved(struct unwind_code_state *s)
{
	if (s->fp == FP_SAVED)
		s->fp = FP_GONE;
	s->saved = unknown;
}

/* The stack pointer is above what was stored there: it is not the program's any more. */
static bool set_sp(struct unwind_code_state *s, struct unwind_known v)
{
	s->sp = v;
	if (v.from == KNOWN_NOT || s->fp == FP_OUTERMOST)
		return true;
	if (s->saved.from == v.from && v.off > s->saved.off)
		lose_saved(s);
	if (s->slot.from == v.from && v.off > s->slot.off)
		s->slot = s->in_slot = unknown;
	return v.from != KNOWN_CFA || v.off <= -8; /* beyond its own return address */
}

static void set_bp(struct unwind_code_state *s, struct unwind_known v)
{
	s->bp = v;
	if (s->fp == FP_IN_PLACE)
		s->fp = s->saved.from ? FP_SAVED : FP_GONE;
}

static bool set(struct unwind_code_state *s, unsigned int reg, struct unwind_known v)
{
	if (reg == X86_SP)
		return set_sp(s, v);
	if (reg == X86_BP)
		set_bp(s, v);
	else if (v.from == KNOWN_NOT)
		forget(s, reg);
	else
		add_copy(s, reg, v);
	return true;
}

/* ---- memory */

static void store(struct unwind_code_state *s, struct unwind_known at, unsigned int reg)
{
	const struct unwind_known v = get(s, reg);

	if (at.from == KNOWN_NOT)
		return;
	if (reg == X86_BP && s->fp == FP_IN_PLACE) {
		s->saved = s->saved.from ? s->saved : at;
	} else if (v.from == KNOWN_CFA && reg != X86_BP && reg != X86_SP) {
		s->slot = at;
		s->in_slot = v;
	}
}

/* The caller's rbp comes back, or an address of the stack does, or something else. */
static bool load(struct unwind_code_state *s, unsigned int reg, struct unwind_known at)
{
	if (reg == X86_BP && same(at, s->saved)) {
		s->fp = FP_IN_PLACE;
		s->saved = s->bp = unknown;
		return true;
	}
	return set(s, reg, same(at, s->slot) ? s->in_slot : unknown);
}

static bool push(struct unwind_code_state *s, int reg, int bytes)
{
	const bool was_known = s->sp.from != KNOWN_NOT;

	if (reg == X86_SP)
		reg = -1;
	s->sp = plus(s->sp, -bytes);
	if (reg >= 0 && was_known)
		store(s, s->sp, (unsigned int)reg);
	/* What is pushed is popped again, even if it was left alone: that shows a function. */
	if (reg == X86_BP && s->fp == FP_IN_PLACE && s->saved.from)
		s->fp = FP_SAVED;
	return true;
}

static bool pop(struct unwind_code_state *s, int reg, int bytes)
{
	const struct unwind_known at = s->sp;

	if (reg >= 0 && reg != X86_SP && !load(s, (unsigned int)reg, at))
		return false;
	return set_sp(s, reg == X86_SP ? unknown : plus(at, bytes));
}

/* A memory operand that is a register and a displacement: the register; else -1. */
static int base_of(const struct x86_parts *p)
{
	const uint8_t mod = p->modrm >> 6, rm = p->modrm & 7;

	if (mod == 3 || p->seg_fs_gs || p->p67 || (mod == 0 && rm == 5))
		return -1;
	if (rm != 4)
		return (int)rp_x86_rm(p);
	if ((p->sib >> 3 & 7) != 4 || p->rex & REX_X || (mod == 0 && (p->sib & 7) == 5))
		return -1;
	return (p->sib & 7) | (p->rex & REX_B ? 8 : 0);
}

static int64_t displacement(const struct x86_parts *p)
{
	const uint8_t mod = p->modrm >> 6;

	return mod ? rp_x86_number(p->code + p->disp_at, mod == 1 ? 1 : 4) : 0;
}

/* The address of a memory operand, if it is one on the stack that is known. */
static struct unwind_known address(const struct unwind_code_state *s, const struct x86_parts *p)
{
	const int base = base_of(p);

	return base < 0 ? unknown : plus(get(s, (unsigned int)base), displacement(p));
}

/* ---- instructions */

static bool is_wide(const struct x86_parts *p)
{
	return p->rex & REX_W;
}

static bool change_unknown(struct unwind_code_state *s, const struct x86_parts *p)
{
	const uint16_t changes = rp_x86_changes(p);

	for (unsigned int reg = 0; reg < X86_REGS; reg++)
		if (changes >> reg & 1 && !set(s, reg, unknown))
			return false;
	return true;
}

/* rsp is changed by what is not known: everything counted from what it was before is lost. */
static void count_afresh(struct unwind_code_state *s)
{
	if (s->bp.from == KNOWN_ALIGNED)
		s->bp = unknown;
	for (int i = UNWIND_COPIES - 1; i >= 0; i--)
		if (s->copy[i].from == KNOWN_ALIGNED)
			drop_copy(s, i);
	if (s->slot.from == KNOWN_ALIGNED)
		s->slot = s->in_slot = unknown;
	if (s->saved.from == KNOWN_ALIGNED)
		lose_saved(s);
	s->sp = (struct unwind_known){ 0, KNOWN_ALIGNED };
}

/* add, sub, and, cmp with a constant; of 64 bits. */
static bool step_constant(struct unwind_code_state *s, const struct x86_parts *p)
{
	const uint8_t which = p->modrm >> 3 & 7;
	const unsigned int reg = rp_x86_rm(p);
	const int64_t n = rp_x86_number(p->code + p->imm_at, p->imm_len);

	if (!is_wide(p) || !rp_x86_rm_is_register(p))
		return change_unknown(s, p);
	if (which == 0 || which == 5)
		return get(s, reg).from == KNOWN_NOT
			       ? change_unknown(s, p)
			       : set(s, reg, plus(get(s, reg), which ? -n : n));
	if (which != 4 || reg != X86_SP || n >= 0)
		return change_unknown(s, p);
	count_afresh(s);
	return true;
}

/* A pointer to what lies on the stack is no copy that a frame is found by. */
static bool is_of_frame(const struct unwind_code_state *s, struct unwind_known v)
{
	return v.from == KNOWN_CFA &&
	       (v.off >= -8 || (s->sp.from == KNOWN_CFA && v.off <= s->sp.off));
}

static bool step_move(struct unwind_code_state *s, const struct x86_parts *p, unsigned int to,
		      unsigned int from)
{
	const struct unwind_known v = get(s, from);

	if (!is_wide(p))
		return change_unknown(s, p);
	return set(s, to, to == X86_SP || to == X86_BP || v.from == KNOWN_CFA ? v : unknown);
}

static bool step_lea(struct unwind_code_state *s, const struct x86_parts *p)
{
	const unsigned int to = rp_x86_reg(p);
	const struct unwind_known v = address(s, p);

	if (!is_wide(p) || rp_x86_rm_is_register(p))
		return change_unknown(s, p);
	if (base_of(p) == (int)to && !displacement(p))
		return true; /* padding: Mono's is lea 0(%rbp), %rbp */
	return set(s, to, to == X86_SP || to == X86_BP || is_of_frame(s, v) ? v : unknown);
}

/* xor of a register with itself. */
static bool step_clear(struct unwind_code_state *s, const struct x86_parts *p)
{
	const unsigned int reg = rp_x86_rm(p);

	if (reg == X86_BP && rp_x86_reg(p) == X86_BP && rp_x86_rm_is_register(p) &&
	    unwind_code_may_return(s) && !s->saved.from) {
		s->bp = unknown;
		s->fp = FP_OUTERMOST;
		return true;
	}
	return change_unknown(s, p);
}

static void note_compared(struct unwind_code_state *s, const struct x86_parts *p)
{
	const unsigned int a = rp_x86_reg(p), b = rp_x86_rm(p);

	if (is_wide(p) && rp_x86_rm_is_register(p) && (a == X86_SP || b == X86_SP))
		s->compared = (uint8_t)(1 + copy_in(s, a == X86_SP ? b : a));
}

static bool step_stack(struct unwind_code_state *s, const struct x86_parts *p)
{
	const int reg = (p->opcode & 7) | (p->rex & REX_B ? 8 : 0), bytes = p->p66 ? 2 : 8;

	switch (p->opcode) {
	case 0x50 ... 0x57:
		return push(s, reg, bytes);
	case 0x58 ... 0x5f:
		return pop(s, reg, bytes);
	case 0x68:
	case 0x6a:
	case 0x9c:
		return push(s, -1, bytes);
	case 0x9d:
		return pop(s, -1, bytes);
	case 0x8f:
		if (!rp_x86_rm_is_register(p))
			return pop(s, -1, bytes);
		return pop(s, (int)rp_x86_rm(p), bytes);
	case 0xc8: /* enter */
		s->fp = FP_GONE;
		s->saved = s->bp = unknown;
		return set_sp(s, unknown);
	case 0xc9: /* leave */
		return set_sp(s, s->bp) && pop(s, X86_BP, 8);
	}
	if ((p->modrm >> 3 & 7) == 6) /* of ff */
		return push(s, rp_x86_rm_is_register(p) ? (int)rp_x86_rm(p) : -1, bytes);
	return change_unknown(s, p);
}

static bool step_one_byte(struct unwind_code_state *s, const struct x86_parts *p)
{
	switch (p->opcode) {
	case 0x01:
	case 0x29:
		if (!is_wide(p) || !rp_x86_rm_is_register(p) || rp_x86_rm(p) != X86_SP)
			return change_unknown(s, p);
		count_afresh(s);
		return true;
	case 0x03:
	case 0x2b:
		if (!is_wide(p) || rp_x86_reg(p) != X86_SP)
			return change_unknown(s, p);
		count_afresh(s);
		return true;
	case 0x31:
	case 0x33:
		return step_clear(s, p);
	case 0x39:
	case 0x3b:
		note_compared(s, p);
		return true;
	case 0x81:
	case 0x83:
		return step_constant(s, p);
	case 0x89:
		if (rp_x86_rm_is_register(p))
			return step_move(s, p, rp_x86_rm(p), rp_x86_reg(p));
		if (is_wide(p))
			store(s, address(s, p), rp_x86_reg(p));
		return true;
	case 0x8b:
		if (rp_x86_rm_is_register(p))
			return step_move(s, p, rp_x86_reg(p), rp_x86_rm(p));
		return is_wide(p) ? load(s, rp_x86_reg(p), address(s, p)) : change_unknown(s, p);
	case 0x8d:
		return step_lea(s, p);
	case 0x50 ... 0x5f:
	case 0x68:
	case 0x6a:
	case 0x8f:
	case 0x9c:
	case 0x9d:
	case 0xc8:
	case 0xc9:
	case 0xff:
		return step_stack(s, p);
	}
	return change_unknown(s, p);
}

bool unwind_code_step(struct unwind_code_state *s, const struct x86_parts *p)
{
	s->compared = 0;
	if (p->vex || p->map > 1)
		return change_unknown(s, p);
	if (p->map == 0)
		return step_one_byte(s, p);
	if ((p->opcode & 0xf7) == 0xa0) /* push and pop of fs and gs */
		return push(s, -1, 8);
	if ((p->opcode & 0xf7) == 0xa1)
		return pop(s, -1, 8);
	return change_unknown(s, p);
}

void unwind_code_called(struct unwind_code_state *s, uint16_t kept)
{
	s->compared = 0;
	for (int i = UNWIND_COPIES - 1; i >= 0; i--)
		if (s->copy_reg[i] >= 0 && !(kept >> s->copy_reg[i] & 1))
			drop_copy(s, i);
}

bool unwind_code_may_return(const struct unwind_code_state *s)
{
	return s->sp.from == KNOWN_CFA && s->sp.off == -8 && s->fp == FP_IN_PLACE;
}

/* ---- states */

static struct unwind_known meet(struct unwind_known a, struct unwind_known b)
{
	return same(a, b) ? a : unknown;
}

static uint8_t meet_fp(const struct unwind_code_state *a, const struct unwind_code_state *b,
		       struct unwind_known saved)
{
	if (a->fp == b->fp)
		return a->fp == FP_SAVED && !saved.from ? FP_GONE : a->fp;
	return saved.from ? FP_SAVED : FP_GONE;
}

struct unwind_code_state unwind_code_meet(const struct unwind_code_state *a,
					  const struct unwind_code_state *b)
{
	struct unwind_code_state m = { .copy_reg = { -1, -1 } };

	m.sp = meet(a->sp, b->sp);
	m.bp = meet(a->bp, b->bp);
	m.saved = meet(a->saved, b->saved);
	m.fp = meet_fp(a, b, m.saved);
	if (same(a->slot, b->slot) && same(a->in_slot, b->in_slot)) {
		m.slot = a->slot;
		m.in_slot = a->in_slot;
	}
	for (int i = UNWIND_COPIES - 1; i >= 0; i--)
		if (a->copy_reg[i] >= 0 && same(get(b, (unsigned int)a->copy_reg[i]), a->copy[i]))
			add_copy(&m, (unsigned int)a->copy_reg[i], a->copy[i]);
	if (a->compared && b->compared &&
	    a->copy_reg[a->compared - 1] == b->copy_reg[b->compared - 1])
		m.compared = (uint8_t)(1 + copy_in(&m, (uint8_t)a->copy_reg[a->compared - 1]));
	return m;
}

/* ---- rules */

static bool fits16(int32_t v)
{
	return v == (int16_t)v;
}

static void set_saved(const struct unwind_code_state *s, struct unwind_rule *r)
{
	const int32_t from_bp = s->saved.off - s->bp.off;

	if (s->fp == FP_IN_PLACE)
		return;
	if (s->saved.from == KNOWN_CFA && fits16(s->saved.off)) {
		r->fp_off = (int16_t)s->saved.off;
		r->flags |= UNWIND_FP_AT_CFA;
	} else if (s->saved.from && s->bp.from == s->saved.from && fits16(from_bp)) {
		r->fp_off = (int16_t)from_bp;
		r->flags |= UNWIND_FP_AT_FP;
	} else {
		r->flags |= UNWIND_FP_LOST;
	}
}

static bool set_deref(const struct unwind_code_state *s, struct unwind_rule *r)
{
	const bool by_sp = s->slot.from == s->sp.from;
	const int32_t off = s->slot.off - (by_sp ? s->sp.off : s->bp.off);

	if (s->slot.from == KNOWN_NOT || (!by_sp && s->slot.from != s->bp.from) ||
	    !fits16(-s->in_slot.off) || (by_sp && off < 0))
		return false;
	r->kind = by_sp ? UNWIND_DEREF_SP : UNWIND_DEREF_FP;
	r->cfa_off = off;
	r->arg = (int16_t)-s->in_slot.off;
	return true;
}

static bool set_cfa(const struct unwind_code_state *s, struct unwind_rule *r)
{
	/* As DWARF numbers what x86 has as 0 to 7. */
	static const uint8_t dwarf[8] = { 0, 2, 1, 3, 7, 6, 4, 5 };
	const int reg = s->copy_reg[0];

	if (s->sp.from == KNOWN_CFA || s->bp.from == KNOWN_CFA) {
		r->kind = s->sp.from == KNOWN_CFA ? UNWIND_SP : UNWIND_FP;
		r->cfa_off = -(r->kind == UNWIND_SP ? s->sp.off : s->bp.off);
		return true;
	}
	if (set_deref(s, r))
		return true;
	if (reg < 0 || s->copy[0].from != KNOWN_CFA)
		return false;
	r->kind = UNWIND_REG;
	r->arg = reg < 8 ? dwarf[reg] : reg;
	r->cfa_off = -s->copy[0].off;
	return true;
}

struct unwind_rule unwind_code_rule(const struct unwind_code_state *s)
{
	struct unwind_rule r = { .ra_off = -8 };

	if (s->fp == FP_OUTERMOST)
		return (struct unwind_rule){ .kind = UNWIND_STOP };
	if (s->fp == FP_NOWHERE)
		return (struct unwind_rule){ .kind = UNWIND_UNSUP };
	if (!set_cfa(s, &r))
		return (struct unwind_rule){ .kind = UNWIND_NO_ROW };
	set_saved(s, &r);
	r.flags |= UNWIND_COMPUTED;
	return r;
}
