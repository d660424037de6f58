/* SPDX-License-Identifier: BSD-2-Clause */
/* Call frame instructions, one by one. */
#include <elf.h>
#include <errno.h>

#include "unwind_cfi.h"

enum {			       /* DWARF 5, 7.24 */
       CFA_ADVANCE_LOC = 0x40, /* these three have an operand in the lower 6 bits */
       CFA_OFFSET = 0x80,
       CFA_RESTORE = 0xc0,
       CFA_OPERAND = 0x3f,

       CFA_NOP = 0x00,
       CFA_SET_LOC = 0x01,
       CFA_ADVANCE_LOC1 = 0x02,
       CFA_ADVANCE_LOC2 = 0x03,
       CFA_ADVANCE_LOC4 = 0x04,
       CFA_OFFSET_EXTENDED = 0x05,
       CFA_RESTORE_EXTENDED = 0x06,
       CFA_UNDEFINED = 0x07,
       CFA_SAME_VALUE = 0x08,
       CFA_REGISTER = 0x09,
       CFA_REMEMBER_STATE = 0x0a,
       CFA_RESTORE_STATE = 0x0b,
       CFA_DEF_CFA = 0x0c,
       CFA_DEF_CFA_REGISTER = 0x0d,
       CFA_DEF_CFA_OFFSET = 0x0e,
       CFA_DEF_CFA_EXPRESSION = 0x0f,
       CFA_EXPRESSION = 0x10,
       CFA_OFFSET_EXTENDED_SF = 0x11,
       CFA_DEF_CFA_SF = 0x12,
       CFA_DEF_CFA_OFFSET_SF = 0x13,
       CFA_VAL_OFFSET = 0x14,
       CFA_VAL_OFFSET_SF = 0x15,
       CFA_VAL_EXPRESSION = 0x16,

       CFA_ADVANCE_LOC8 = 0x1d,	      /* MIPS */
       CFA_NEGATE_RA_STATE_PC = 0x2c, /* AArch64, with the pc in the signature */
       CFA_NEGATE_RA_STATE = 0x2d,    /* AArch64; GNU_window_save on SPARC */
       CFA_GNU_ARGS_SIZE = 0x2e,
       CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* Deepest seen in practice is 1. */
enum { REMEMBER_MAX = 16 };

struct run {
	const struct unwind_frames *f;
	const struct unwind_machine *m;
	const struct unwind_cie *cie;
	const struct unwind_state *initial; /* NULL while the CIE's own instructions run */
	struct unwind_bytes b;
	struct unwind_state state;
	struct unwind_state remembered[REMEMBER_MAX];
	unsigned int depth;
	uint64_t addr;
};

const struct unwind_machine *unwind_machine(uint16_t machine)
{
	static const struct unwind_machine machines[] = {
		{ EM_X86_64, 7, 6, 16, false },
		{ EM_AARCH64, 31, 29, 30, true },
	};

	for (int i = 0; i < 2; i++) {
		if (machines[i].machine == machine)
			return &machines[i];
	}
	return NULL;
}

/* ---- registers ---- */

static struct unwind_saved *saved_of(const struct run *r, struct unwind_state *s, uint64_t reg)
{
	if (reg == r->cie->ra_reg)
		return &s->ra;
	return reg == r->m->fp ? &s->fp : NULL;
}

static void save(struct run *r, uint64_t reg, struct unwind_saved how)
{
	struct unwind_saved *saved = saved_of(r, &r->state, reg);

	if (saved)
		*saved = how;
}

/* @n in units of the CIE's data alignment; arithmetic that wraps ends as an offset too far. */
static int64_t scaled(const struct run *r, uint64_t n)
{
	return (int64_t)((uint64_t)r->cie->data_align * n);
}

static void save_at_cfa(struct run *r, uint64_t reg, int64_t off)
{
	save(r, reg,
	     (struct unwind_saved){ .where = SAVED_AT, .reg = UNWIND_VALUE_CFA, .off = off });
}

static void restore(struct run *r, uint64_t reg)
{
	static const struct unwind_state nothing;
	struct unwind_state from = r->initial ? *r->initial : nothing;
	struct unwind_saved *saved = saved_of(r, &from, reg);

	if (saved)
		save(r, reg, *saved);
}

static struct unwind_bytes read_block(struct unwind_bytes *b)
{
	uint64_t len = unwind_uleb(b);
	struct unwind_bytes block = { .at = b->at };

	unwind_skip(b, len);
	block.end = b->at;
	return block;
}

static void save_by_expression(struct run *r, uint64_t reg)
{
	struct unwind_value v = unwind_expression(read_block(&r->b), true, r->m->sp);

	if (v.kind == VALUE_REG)
		save(r, reg,
		     (struct unwind_saved){ .where = SAVED_AT, .reg = v.reg, .off = v.off });
	else
		save(r, reg, (struct unwind_saved){ .where = SAVED_ODD });
}

static int register_insn(struct run *r, uint8_t op)
{
	uint64_t reg = unwind_uleb(&r->b);

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		save_at_cfa(r, reg, scaled(r, unwind_uleb(&r->b)));
		return 0;
	case CFA_OFFSET_EXTENDED_SF:
		save_at_cfa(r, reg, scaled(r, unwind_sleb(&r->b)));
		return 0;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		save_at_cfa(r, reg, scaled(r, -unwind_uleb(&r->b)));
		return 0;
	case CFA_RESTORE_EXTENDED:
		restore(r, reg);
		return 0;
	case CFA_UNDEFINED:
		save(r, reg, (struct unwind_saved){ .where = SAVED_NEVER });
		return 0;
	case CFA_SAME_VALUE:
		save(r, reg, (struct unwind_saved){ .where = SAVED_NOT });
		return 0;
	case CFA_REGISTER:
		save(r, reg, (struct unwind_saved){ .where = SAVED_IN, .reg = unwind_uleb(&r->b) });
		return 0;
	case CFA_EXPRESSION:
		save_by_expression(r, reg);
		return 0;
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
		unwind_uleb(&r->b);
		break;
	case CFA_VAL_EXPRESSION:
		read_block(&r->b);
		break;
	default:
		return -EBADMSG;
	}
	save(r, reg, (struct unwind_saved){ .where = SAVED_ODD });
	return 0;
}

/* ---- the CFA ---- */

/* The register, or the offset, of a CFA that is reg + off so far; else there is nothing to change. */
static int change_cfa(struct run *r, const uint32_t *reg, const int64_t *off)
{
	struct unwind_value *cfa = &r->state.cfa;

	if (cfa->kind != VALUE_REG)
		return -EBADMSG;
	if (reg)
		cfa->reg = *reg;
	if (off)
		cfa->off = *off;
	return 0;
}

static int cfa_insn(struct run *r, uint8_t op)
{
	struct unwind_value *cfa = &r->state.cfa;
	uint32_t reg;
	int64_t off;

	switch (op) {
	case CFA_DEF_CFA:
	case CFA_DEF_CFA_SF:
		reg = unwind_uleb(&r->b);
		off = op == CFA_DEF_CFA ? (int64_t)unwind_uleb(&r->b)
					: scaled(r, unwind_sleb(&r->b));
		*cfa = (struct unwind_value){ .kind = VALUE_REG, .reg = reg, .off = off };
		return 0;
	case CFA_DEF_CFA_REGISTER:
		reg = unwind_uleb(&r->b);
		return change_cfa(r, &reg, NULL);
	case CFA_DEF_CFA_OFFSET:
		off = unwind_uleb(&r->b);
		return change_cfa(r, NULL, &off);
	case CFA_DEF_CFA_OFFSET_SF:
		off = scaled(r, unwind_sleb(&r->b));
		return change_cfa(r, NULL, &off);
	case CFA_DEF_CFA_EXPRESSION:
		*cfa = unwind_expression(read_block(&r->b), false, r->m->sp);
		return 0;
	}
	return -EBADMSG;
}

/* ---- the rest ---- */

static int state_insn(struct run *r, uint8_t op)
{
	switch (op) {
	case CFA_NOP:
		return 0;
	case CFA_GNU_ARGS_SIZE: /* for exceptions only */
		unwind_uleb(&r->b);
		return 0;
	case CFA_NEGATE_RA_STATE:
	case CFA_NEGATE_RA_STATE_PC:
		r->state.is_signed = !r->state.is_signed;
		return 0;
	case CFA_REMEMBER_STATE:
		if (r->depth == REMEMBER_MAX)
			return -EBADMSG;
		r->remembered[r->depth++] = r->state;
		return 0;
	case CFA_RESTORE_STATE:
		if (!r->depth)
			return -EBADMSG;
		r->state = r->remembered[--r->depth];
		return 0;
	case CFA_DEF_CFA:
	case CFA_DEF_CFA_SF:
	case CFA_DEF_CFA_REGISTER:
	case CFA_DEF_CFA_OFFSET:
	case CFA_DEF_CFA_OFFSET_SF:
	case CFA_DEF_CFA_EXPRESSION:
		return cfa_insn(r, op);
	}
	return register_insn(r, op);
}

/* True if @op moves the address, by *delta, or to *delta itself. */
static bool is_advance(struct run *r, uint8_t op, uint64_t *delta)
{
	uint64_t align = r->cie->code_align;

	switch (op) {
	case CFA_SET_LOC:
		*delta = unwind_pointer(r->f, &r->b, r->cie->pointers, 0) - r->addr;
		return true;
	case CFA_ADVANCE_LOC1:
		*delta = align * unwind_uint(&r->b, 1);
		return true;
	case CFA_ADVANCE_LOC2:
		*delta = align * unwind_uint(&r->b, 2);
		return true;
	case CFA_ADVANCE_LOC4:
		*delta = align * unwind_uint(&r->b, 4);
		return true;
	case CFA_ADVANCE_LOC8:
		*delta = align * unwind_uint(&r->b, 8);
		return true;
	}
	*delta = align * (op & CFA_OPERAND);
	return (op & ~CFA_OPERAND) == CFA_ADVANCE_LOC;
}

/* Runs up to the next change of address. 1: *delta is how far it is; 0: at the end; or -EBADMSG. */
static int run_until_advance(struct run *r, uint64_t *delta)
{
	while (unwind_left(&r->b)) {
		uint8_t op = unwind_uint(&r->b, 1);
		int err = 0;

		if (is_advance(r, op, delta)) {
			if (!r->b.bad && *delta)
				return 1;
		} else if ((op & ~CFA_OPERAND) == CFA_OFFSET) {
			save_at_cfa(r, op & CFA_OPERAND, scaled(r, unwind_uleb(&r->b)));
		} else if ((op & ~CFA_OPERAND) == CFA_RESTORE) {
			restore(r, op & CFA_OPERAND);
		} else {
			err = state_insn(r, op);
		}
		if (err || r->b.bad)
			return -EBADMSG;
	}
	return 0;
}

int unwind_cfi_begin(const struct unwind_frames *f, const struct unwind_machine *m,
		     const struct unwind_cie *cie, struct unwind_state *out)
{
	struct run r = { .f = f, .m = m, .cie = cie, .b = cie->insns };
	uint64_t delta;

	if (run_until_advance(&r, &delta))
		return -EBADMSG;
	*out = r.state;
	return 0;
}

int unwind_cfi_run(const struct unwind_frames *f, const struct unwind_machine *m,
		   const struct unwind_cie *cie, const struct unwind_state *initial,
		   const struct unwind_fde *fde, uint64_t end, unwind_row_fn *row, void *ctx)
{
	static const struct unwind_rule unsup = { .kind = UNWIND_UNSUP };
	struct run r;
	uint64_t delta;
	int more, err;

	r.f = f;
	r.m = m;
	r.cie = cie;
	r.initial = initial;
	r.b = fde->insns;
	r.state = *initial;
	r.depth = 0;
	r.addr = fde->start;
	do {
		struct unwind_rule rule;

		more = run_until_advance(&r, &delta);
		rule = more < 0 ? unsup : unwind_rule_of(m, cie, &r.state);
		err = row(ctx, r.addr, &rule);
		if (err)
			return err;
		/* Also what would go backwards, as no compiler does. */
		if (more > 0 && delta >= end - r.addr)
			return 0;
		r.addr += delta;
	} while (more > 0);
	return more;
}
