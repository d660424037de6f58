/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DWARF expressions in CFI: no machine, as those that compilers, linkers and writers of assembly
 * use for stack frames come in a handful of shapes.
 */
#include "cfi.h"

/* DWARF 5, 7.7.1 */
enum {
	DW_OP_deref = 0x06,
	DW_OP_const1u = 0x08,
	DW_OP_const1s = 0x09,
	DW_OP_const2u = 0x0a,
	DW_OP_const2s = 0x0b,
	DW_OP_const4u = 0x0c,
	DW_OP_const4s = 0x0d,
	DW_OP_constu = 0x10,
	DW_OP_consts = 0x11,
	DW_OP_and = 0x1a,
	DW_OP_minus = 0x1c,
	DW_OP_plus = 0x22,
	DW_OP_plus_uconst = 0x23,
	DW_OP_shl = 0x24,
	DW_OP_ge = 0x2a,
	DW_OP_lit0 = 0x30,
	DW_OP_lit31 = 0x4f,
	DW_OP_breg0 = 0x70,
	DW_OP_breg31 = 0x8f,
	DW_OP_nop = 0x96,
};

enum { REG_RIP = 16 }; /* x86-64, the one machine whose linkers write this */

/* sp + a + ((rip & 15) >= n) << 3: what ld, gold and lld say of lazy PLT stubs; n differs. */
static bool match_plt(struct unwind_bytes b, uint32_t sp, struct unwind_value *v)
{
	static const uint8_t tail[] = { DW_OP_ge, DW_OP_lit0 + 3, DW_OP_shl, DW_OP_plus };
	struct unwind_value plt = { .kind = VALUE_PLT, .reg = sp };
	uint8_t lit;

	if (unwind_uint(&b, 1) != DW_OP_breg0 + sp)
		return false;
	plt.off = unwind_sleb(&b);
	if (unwind_uint(&b, 1) != DW_OP_breg0 + REG_RIP || unwind_sleb(&b) ||
	    unwind_uint(&b, 1) != DW_OP_lit0 + 15 || unwind_uint(&b, 1) != DW_OP_and)
		return false;
	lit = unwind_uint(&b, 1);
	if (lit < DW_OP_lit0 || lit > DW_OP_lit0 + 15 || b.bad || unwind_left(&b) != sizeof(tail) ||
	    memcmp(b.at, tail, sizeof(tail)))
		return false;
	plt.arg = lit - DW_OP_lit0;
	*v = plt;
	return true;
}

static bool read_constant(struct unwind_bytes *b, uint8_t op, int64_t *c)
{
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		*c = op - DW_OP_lit0;
		return true;
	}
	switch (op) {
	case DW_OP_const1u:
	case DW_OP_const2u:
	case DW_OP_const4u:
		*c = unwind_uint(b, 1 << (op - DW_OP_const1u) / 2);
		return true;
	case DW_OP_const1s:
	case DW_OP_const2s:
	case DW_OP_const4s:
		*c = unwind_int(b, 1 << (op - DW_OP_const1s) / 2);
		return true;
	case DW_OP_constu:
		*c = unwind_uleb(b);
		return true;
	case DW_OP_consts:
		*c = unwind_sleb(b);
		return true;
	}
	return false;
}

static bool add(struct unwind_value *v, int64_t n)
{
	return !__builtin_add_overflow(v->kind == VALUE_DEREF ? v->arg : v->off, n,
				       v->kind == VALUE_DEREF ? &v->arg : &v->off);
}

/* One operation upon the only value on the stack. False if it is no such thing. */
static bool apply(struct unwind_bytes *b, uint8_t op, struct unwind_value *v)
{
	int64_t c;

	if (op == DW_OP_nop)
		return true;
	if (op == DW_OP_plus_uconst)
		return add(v, unwind_uleb(b));
	if (op == DW_OP_deref && v->kind == VALUE_REG) {
		v->kind = VALUE_DEREF;
		return true;
	}
	if (!read_constant(b, op, &c))
		return false;
	op = unwind_uint(b, 1);
	if (op == DW_OP_plus)
		return add(v, c);
	return op == DW_OP_minus && c != INT64_MIN && add(v, -c);
}

struct unwind_value unwind_expression(struct unwind_bytes b, bool on_cfa, uint32_t sp)
{
	struct unwind_value v = { .kind = VALUE_REG, .reg = UNWIND_VALUE_CFA };
	const struct unwind_value odd = { .kind = VALUE_ODD };
	uint8_t op;

	if (!on_cfa && match_plt(b, sp, &v))
		return v;
	if (unwind_left(&b) && *b.at >= DW_OP_breg0 && *b.at <= DW_OP_breg31) {
		v.reg = unwind_uint(&b, 1) - DW_OP_breg0;
		v.off = unwind_sleb(&b);
	} else if (!on_cfa) {
		return odd;
	}
	while (unwind_left(&b)) {
		op = unwind_uint(&b, 1);
		if (!apply(&b, op, &v))
			return odd;
	}
	return b.bad ? odd : v;
}
