/* SPDX-License-Identifier: BSD-2-Clause */
/* From the state that call frame instructions describe to the rule that a walker follows. */
#include "cfi.h"

static const struct unwind_rule unsup = { .kind = UNWIND_UNSUP };

static bool fits16(int64_t v)
{
	return v == (int16_t)v;
}

static bool fits32(int64_t v)
{
	return v == (int32_t)v;
}

static struct unwind_value cfa_of(const struct unwind_state *s)
{
	if (s->cfa_is == CFA_EXPRESSION)
		return s->cfa_expression;
	return (struct unwind_value){ .kind = s->cfa_is == CFA_PLAIN ? VALUE_REG : VALUE_ODD,
				      .reg = s->cfa_reg,
				      .off = s->cfa_off };
}

static bool set_cfa(const struct machine *m, const struct unwind_value *cfa, struct unwind_rule *r)
{
	if (!fits32(cfa->off) || !fits16(cfa->arg))
		return false;
	r->cfa_off = cfa->off;
	r->arg = cfa->arg;
	switch (cfa->kind) {
	case VALUE_REG:
		r->kind = cfa->reg == m->sp   ? UNWIND_SP
			  : cfa->reg == m->fp ? UNWIND_FP
					      : UNWIND_REG;
		if (r->kind == UNWIND_REG)
			r->arg = cfa->reg;
		return cfa->reg < 32;
	case VALUE_DEREF:
		r->kind = cfa->reg == m->sp ? UNWIND_DEREF_SP : UNWIND_DEREF_FP;
		return cfa->reg == m->sp || cfa->reg == m->fp;
	case VALUE_PLT:
		r->kind = UNWIND_PLT;
		return true;
	case VALUE_ODD:
		break;
	}
	return false;
}

static void set_fp(const struct machine *m, const struct unwind_saved *fp, struct unwind_rule *r)
{
	if (fp->where == SAVED_NOT)
		return;
	if (fp->where == SAVED_AT && fits16(fp->off) &&
	    (fp->reg == UNWIND_VALUE_CFA || fp->reg == m->fp)) {
		r->fp_off = fp->off;
		r->flags |= fp->reg == m->fp ? UNWIND_FP_AT_FP : UNWIND_FP_AT_CFA;
	} else {
		r->flags |= UNWIND_FP_LOST;
	}
}

static bool set_ra(const struct machine *m, const struct unwind_state *s, uint32_t ra_reg,
		   struct unwind_rule *r)
{
	const struct unwind_saved *ra = &s->ra;

	if (s->is_signed)
		r->flags |= UNWIND_RA_SIGNED;
	if (ra->where == SAVED_AT && ra->reg == UNWIND_VALUE_CFA) {
		r->ra_off = ra->off;
		/* On x86-64 calls put it there, and walkers count on that. */
		return m->has_link_register ? fits16(ra->off) : ra->off == -8;
	}
	r->flags |= UNWIND_RA_REG;
	r->ra_off = ra->where == SAVED_IN ? ra->reg : ra_reg;
	if (ra->where == SAVED_IN)
		return ra->reg < 32;
	return ra->where == SAVED_NOT && m->has_link_register && ra_reg < 32;
}

/*
 * All three where the stack pointer leads: glibc's trampoline tells it so, in ucontext's layout.
 * Those of kernels, in the vdso, tell nothing that leads to it, or point to the handler's frame
 * record.
 */
static bool set_signal(const struct machine *m, const struct unwind_value *cfa,
		       const struct unwind_state *s, struct unwind_rule *r)
{
	if (m->has_link_register) {
		*r = unwind_signal_rule(m);
		return true;
	}
	if (cfa->kind != VALUE_DEREF || cfa->reg != m->sp || cfa->arg || s->ra.where != SAVED_AT ||
	    s->ra.reg != m->sp || s->fp.where != SAVED_AT || s->fp.reg != m->sp ||
	    !fits32(cfa->off) || !fits16(s->ra.off) || !fits16(s->fp.off))
		return false;
	*r = (struct unwind_rule){
		.kind = UNWIND_SIGNAL, .cfa_off = cfa->off, .ra_off = s->ra.off, .fp_off = s->fp.off
	};
	return true;
}

static void move(struct unwind_saved *saved, int64_t by)
{
	if (saved->where == SAVED_AT && saved->reg == UNWIND_VALUE_CFA &&
	    __builtin_sub_overflow(saved->off, by, &saved->off))
		saved->where = SAVED_ODD;
}

void unwind_count_from_sp(struct unwind_state *s)
{
	const struct unwind_value cfa = cfa_of(s);
	int64_t by;

	if (cfa.kind != VALUE_REG || cfa.reg != s->sp.reg ||
	    __builtin_sub_overflow(s->sp.off, cfa.off, &by))
		return;
	s->cfa_is = CFA_PLAIN;
	s->cfa_reg = s->sp.reg;
	s->cfa_off = s->sp.off;
	move(&s->ra, by);
	move(&s->fp, by);
	move(&s->rbx, by);
}

struct unwind_rule unwind_rule_of(const struct machine *m, const struct unwind_cie *cie,
				  const struct unwind_state *s)
{
	struct unwind_value cfa = cfa_of(s);
	struct unwind_rule r = { 0 };

	if (s->ra.where == SAVED_NEVER)
		return (struct unwind_rule){ .kind = UNWIND_STOP };
	if (cie->is_signal && set_signal(m, &cfa, s, &r))
		return r;
	if (!set_cfa(m, &cfa, &r) || !set_ra(m, s, cie->ra_reg, &r))
		return unsup;
	set_fp(m, &s->fp, &r);
	return r;
}

void unwind_rule_rbx(const struct unwind_state *s, struct unwind_rule *rule)
{
	if (rule->kind != UNWIND_SP && rule->kind != UNWIND_FP)
		return;
	if (s->rbx.where == SAVED_NOT) {
		rule->flags |= UNWIND_RBX_KEPT;
	} else if (s->rbx.where == SAVED_AT && s->rbx.reg == UNWIND_VALUE_CFA &&
		   fits16(s->rbx.off)) {
		rule->arg = s->rbx.off;
		rule->flags |= UNWIND_RBX_AT_CFA;
	}
}
