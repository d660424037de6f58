/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DWARF expressions in CFI: no machine, as those that compilers, linkers and writers of assembly
 * use for stack frames come in a handful of shapes.
 */
#include "unwind_cfi.h"

enum { /* DWARF 5, 7.7.1 */
       OP_DEREF = 0x06,
       OP_CONST1U = 0x08,
       OP_CONST1S = 0x09,
       OP_CONST2U = 0x0a,
       OP_CONST2S = 0x0b,
       OP_CONST4U = 0x0c,
       OP_CONST4S = 0x0d,
       OP_CONSTU = 0x10,
       OP_CONSTS = 0x11,
       OP_AND = 0x1a,
       OP_MINUS = 0x1c,
       OP_PLUS = 0x22,
       OP_PLUS_UCONST = 0x23,
       OP_SHL = 0x24,
       OP_GE = 0x2a,
       OP_LIT0 = 0x30,
       OP_LIT31 = 0x4f,
       OP_BREG0 = 0x70,
       OP_BREG31 = 0x8f,
       OP_NOP = 0x96,
};

enum { REG_RIP = 16 }; /* x86-64, the one machine whose linkers write this */

/* sp + a + ((rip & 15) >= n) << 3: what ld, gold and lld say of lazy PLT stubs; n differs. */
static bool match_plt(struct unwind_bytes b, uint32_t sp, struct unwind_value *v)
{
	static const uint8_t tail[] = { OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS };
	struct unwind_value plt = { .kind = VALUE_PLT, .reg = sp };
	uint8_t lit;

	if (unwind_uint(&b, 1) != OP_BREG0 + sp)
		return false;
	plt.off = unwind_sleb(&b);
	if (unwind_uint(&b, 1) != OP_BREG0 + REG_RIP || unwind_sleb(&b) ||
	    unwind_uint(&b, 1) != OP_LIT0 + 15 || unwind_uint(&b, 1) != OP_AND)
		return false;
	lit = unwind_uint(&b, 1);
	if (lit < OP_LIT0 || lit > OP_LIT0 + 15 || b.bad || unwind_left(&b) != sizeof(tail) ||
	    memcmp(b.at, tail, sizeof(tail)))
		return false;
	plt.arg = lit - OP_LIT0;
	*v = plt;
	return true;
}

static bool read_constant(struct unwind_bytes *b, uint8_t op, int64_t *c)
{
	if (op >= OP_LIT0 && op <= OP_LIT31) {
		*c = op - OP_LIT0;
		return true;
	}
	switch (op) {
	case OP_CONST1U:
	case OP_CONST2U:
	case OP_CONST4U:
		*c = unwind_uint(b, 1 << (op - OP_CONST1U) / 2);
		return true;
	case OP_CONST1S:
	case OP_CONST2S:
	case OP_CONST4S:
		*c = unwind_int(b, 1 << (op - OP_CONST1S) / 2);
		return true;
	case OP_CONSTU:
		*c = unwind_uleb(b);
		return true;
	case OP_CONSTS:
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

	if (op == OP_NOP)
		return true;
	if (op == OP_PLUS_UCONST)
		return add(v, unwind_uleb(b));
	if (op == OP_DEREF && v->kind == VALUE_REG) {
		v->kind = VALUE_DEREF;
		return true;
	}
	if (!read_constant(b, op, &c))
		return false;
	op = unwind_uint(b, 1);
	if (op == OP_PLUS)
		return add(v, c);
	return op == OP_MINUS && c != INT64_MIN && add(v, -c);
}

struct unwind_value unwind_expression(struct unwind_bytes b, bool on_cfa, uint32_t sp)
{
	struct unwind_value v = { .kind = VALUE_REG, .reg = UNWIND_VALUE_CFA };
	const struct unwind_value odd = { .kind = VALUE_ODD };
	uint8_t op;

	if (!on_cfa && match_plt(b, sp, &v))
		return v;
	if (unwind_left(&b) && *b.at >= OP_BREG0 && *b.at <= OP_BREG31) {
		v.reg = unwind_uint(&b, 1) - OP_BREG0;
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
