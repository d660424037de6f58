/* SPDX-License-Identifier: BSD-2-Clause */
/* Call frame instructions, one by one. */
#include <elf.h>
#include <errno.h>

#include "cfi.h"

/* DWARF 5, 7.24 */
enum {
	DW_CFA_advance_loc = 0x40, /* these three have an operand in the lower 6 bits */
	DW_CFA_offset = 0x80,
	DW_CFA_restore = 0xc0,
	CFA_OPERAND = 0x3f,

	DW_CFA_nop = 0x00,
	DW_CFA_set_loc = 0x01,
	DW_CFA_advance_loc1 = 0x02,
	DW_CFA_advance_loc2 = 0x03,
	DW_CFA_advance_loc4 = 0x04,
	DW_CFA_offset_extended = 0x05,
	DW_CFA_restore_extended = 0x06,
	DW_CFA_undefined = 0x07,
	DW_CFA_same_value = 0x08,
	DW_CFA_register = 0x09,
	DW_CFA_remember_state = 0x0a,
	DW_CFA_restore_state = 0x0b,
	DW_CFA_def_cfa = 0x0c,
	DW_CFA_def_cfa_register = 0x0d,
	DW_CFA_def_cfa_offset = 0x0e,
	DW_CFA_def_cfa_expression = 0x0f,
	DW_CFA_expression = 0x10,
	DW_CFA_offset_extended_sf = 0x11,
	DW_CFA_def_cfa_sf = 0x12,
	DW_CFA_def_cfa_offset_sf = 0x13,
	DW_CFA_val_offset = 0x14,
	DW_CFA_val_offset_sf = 0x15,
	DW_CFA_val_expression = 0x16,

	DW_CFA_advance_loc8 = 0x1d,	  /* MIPS */
	DW_CFA_negate_ra_state_pc = 0x2c, /* AArch64, with the pc in the signature */
	DW_CFA_negate_ra_state = 0x2d,	  /* AArch64; GNU_window_save on SPARC */
	DW_CFA_gnu_args_size = 0x2e,
	DW_CFA_gnu_negative_offset_extended = 0x2f,
};

/* Deepest seen in practice is 1. */
enum { REMEMBER_MAX = 16 };

struct run {
	const struct unwind_frames *f;
	const struct machine *m;
	const struct unwind_cie *cie;
	const struct unwind_state *initial; /* NULL while the CIE's own instructions run */
	struct unwind_bytes b;
	struct unwind_state state;
	struct unwind_state remembered[REMEMBER_MAX];
	unsigned int depth;
	uint64_t addr;
};

struct unwind_rule unwind_signal_rule(const struct machine *m)
{
	return (struct unwind_rule){ .kind = UNWIND_SIGNAL,
				     .ra_off = m->signal.pc,
				     .cfa_off = m->signal.sp,
				     .fp_off = m->signal.fp,
				     .arg = m->signal.link };
}

/* ---- registers */

static struct unwind_saved *saved_of(const struct run *r, struct unwind_state *s, uint64_t reg)
{
	if (reg == r->cie->ra_reg)
		return &s->ra;
	if (reg == UNWIND_RBX && r->f->follows_rbx)
		return &s->rbx;
	return reg == r->m->fp ? &s->fp : NULL;
}

static void save(struct run *r, uint64_t reg, struct unwind_saved how)
{
	struct unwind_saved *saved = saved_of(r, &r->state, reg);

	if (saved)
		*saved = how;
	if (reg == r->m->sp)
		r->state.sp = (struct unwind_value){ 0 };
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
	if (reg == r->m->sp)
		r->state.sp = from.sp;
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

static void save_value(struct run *r, uint64_t reg)
{
	const struct unwind_value v = unwind_expression(read_block(&r->b), true, r->m->sp);

	save(r, reg, (struct unwind_saved){ .where = SAVED_ODD });
	if (reg == r->m->sp)
		r->state.sp = v;
}

static int register_insn(struct run *r, uint8_t op)
{
	uint64_t reg = unwind_uleb(&r->b);

	switch (op) {
	case DW_CFA_offset_extended:
		save_at_cfa(r, reg, scaled(r, unwind_uleb(&r->b)));
		return 0;
	case DW_CFA_offset_extended_sf:
		save_at_cfa(r, reg, scaled(r, unwind_sleb(&r->b)));
		return 0;
	case DW_CFA_gnu_negative_offset_extended:
		save_at_cfa(r, reg, scaled(r, -unwind_uleb(&r->b)));
		return 0;
	case DW_CFA_restore_extended:
		restore(r, reg);
		return 0;
	case DW_CFA_undefined:
		save(r, reg, (struct unwind_saved){ .where = SAVED_NEVER });
		return 0;
	case DW_CFA_same_value:
		save(r, reg, (struct unwind_saved){ .where = SAVED_NOT });
		return 0;
	case DW_CFA_register:
		save(r, reg, (struct unwind_saved){ .where = SAVED_IN, .reg = unwind_uleb(&r->b) });
		return 0;
	case DW_CFA_expression:
		save_by_expression(r, reg);
		return 0;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		unwind_uleb(&r->b);
		break;
	case DW_CFA_val_expression:
		save_value(r, reg);
		return 0;
	default:
		return -EBADMSG;
	}
	save(r, reg, (struct unwind_saved){ .where = SAVED_ODD });
	return 0;
}

/* ---- the CFA */

static int cfa_insn(struct run *r, uint8_t op)
{
	struct unwind_state *s = &r->state;

	switch (op) {
	case DW_CFA_def_cfa:
		s->cfa_reg = unwind_uleb(&r->b);
		s->cfa_off = unwind_uleb(&r->b);
		s->cfa_is = CFA_PLAIN;
		return 0;
	case DW_CFA_def_cfa_sf:
		s->cfa_reg = unwind_uleb(&r->b);
		s->cfa_off = scaled(r, unwind_sleb(&r->b));
		s->cfa_is = CFA_PLAIN;
		return 0;
	case DW_CFA_def_cfa_register:
		/* RISC-V's assembler begins with it, and leaves the offset at 0. */
		s->cfa_reg = unwind_uleb(&r->b);
		s->cfa_is = CFA_PLAIN;
		return 0;
	case DW_CFA_def_cfa_offset:
		s->cfa_off = unwind_uleb(&r->b);
		break;
	case DW_CFA_def_cfa_offset_sf:
		s->cfa_off = scaled(r, unwind_sleb(&r->b));
		break;
	case DW_CFA_def_cfa_expression:
		s->cfa_expression = unwind_expression(read_block(&r->b), false, r->m->sp);
		s->cfa_is = CFA_EXPRESSION;
		return 0;
	}
	return s->cfa_is == CFA_UNKNOWN ? -EBADMSG : 0;
}

/* ---- the rest */

static int state_insn(struct run *r, uint8_t op)
{
	switch (op) {
	case DW_CFA_nop:
		return 0;
	case DW_CFA_gnu_args_size: /* for exceptions only */
		unwind_uleb(&r->b);
		return 0;
	case DW_CFA_negate_ra_state:
	case DW_CFA_negate_ra_state_pc:
		r->state.is_signed = !r->state.is_signed;
		return 0;
	case DW_CFA_remember_state:
		if (r->depth == REMEMBER_MAX)
			return -EBADMSG;
		r->remembered[r->depth++] = r->state;
		return 0;
	case DW_CFA_restore_state:
		if (!r->depth)
			return -EBADMSG;
		r->state = r->remembered[--r->depth];
		return 0;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_def_cfa_expression:
		return cfa_insn(r, op);
	}
	return register_insn(r, op);
}

/* True if @op moves the address, by *delta, or to *delta itself. */
static bool is_advance(struct run *r, uint8_t op, uint64_t *delta)
{
	uint64_t align = r->cie->code_align;

	switch (op) {
	case DW_CFA_set_loc:
		*delta = unwind_pointer(r->f, &r->b, r->cie->pointers, 0) - r->addr;
		return true;
	case DW_CFA_advance_loc1:
		*delta = align * unwind_uint(&r->b, 1);
		return true;
	case DW_CFA_advance_loc2:
		*delta = align * unwind_uint(&r->b, 2);
		return true;
	case DW_CFA_advance_loc4:
		*delta = align * unwind_uint(&r->b, 4);
		return true;
	case DW_CFA_advance_loc8:
		*delta = align * unwind_uint(&r->b, 8);
		return true;
	}
	*delta = align * (op & CFA_OPERAND);
	return (op & ~CFA_OPERAND) == DW_CFA_advance_loc;
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
		} else if ((op & ~CFA_OPERAND) == DW_CFA_offset) {
			save_at_cfa(r, op & CFA_OPERAND, scaled(r, unwind_uleb(&r->b)));
		} else if ((op & ~CFA_OPERAND) == DW_CFA_restore) {
			restore(r, op & CFA_OPERAND);
		} else {
			err = state_insn(r, op);
		}
		if (err || r->b.bad)
			return -EBADMSG;
	}
	return 0;
}

int unwind_cfi_begin(const struct unwind_frames *f, const struct machine *m,
		     const struct unwind_cie *cie, struct unwind_state *out)
{
	struct run r = { .f = f, .m = m, .cie = cie, .b = cie->insns };
	uint64_t delta;

	if (run_until_advance(&r, &delta))
		return -EBADMSG;
	*out = r.state;
	return 0;
}

int unwind_cfi_run(const struct unwind_frames *f, const struct machine *m,
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
		const struct unwind_state *s = &r.state;
		struct unwind_state from_sp;
		struct unwind_rule rule;

		more = run_until_advance(&r, &delta);
		if (s->sp.kind == VALUE_REG && !cie->is_signal) {
			from_sp = r.state;
			unwind_count_from_sp(&from_sp);
			s = &from_sp;
		}
		rule = more < 0 ? unsup : unwind_rule_of(m, cie, s);
		if (f->follows_rbx)
			unwind_rule_rbx(s, &rule);
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
