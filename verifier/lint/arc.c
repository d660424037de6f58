/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sets of 64-bit numbers, kept as arcs of the circle that they form. Results may be smaller than
 * the truth, down to one number, never larger: see lint.h.
 */
#include "lint.h"

#define LOW32 UINT64_C(0xffffffff)
#define LOWEST (UINT64_C(1) << 63)

static uint64_t span(struct arc a)
{
	return a.hi - a.lo;
}

static struct arc one(uint64_t number)
{
	return (struct arc){ number, number };
}

bool asm_arc_has(struct arc a, uint64_t number)
{
	return number - a.lo <= span(a);
}

/* Seen from a.lo the first arc is 0..w, and the second either does not pass 0 or does. */
bool asm_arc_intersect(struct arc a, struct arc b, struct arc *out)
{
	uint64_t w = span(a), lo = b.lo - a.lo, hi = b.hi - a.lo;
	struct arc front = { 0, hi < w ? hi : w }, back = { lo, w };
	bool passes = lo > hi;

	if (!passes && lo > w)
		return false;
	if (!passes)
		front.lo = lo;
	else if (lo <= w && span(back) > span(front))
		front = back;
	*out = (struct arc){ front.lo + a.lo, front.hi + a.lo };
	return true;
}

/* ---- 32 bits */

/* The low halves, as an arc of the small circle: hi may be below lo. */
static struct arc low_half(struct arc a)
{
	return span(a) >= LOW32 ? (struct arc){ 0, LOW32 }
				: (struct arc){ a.lo & LOW32, a.hi & LOW32 };
}

/* Back on the great circle, upper halves 0. */
static struct arc zero_extend(struct arc a)
{
	struct arc front = { 0, a.hi }, back = { a.lo, LOW32 };

	if (a.lo <= a.hi)
		return a;
	return span(front) > span(back) ? front : back;
}

/* ---- arithmetic */

static uint64_t sign_extended(uint64_t v, unsigned int bits)
{
	return (uint64_t)((int64_t)(v << (64 - bits)) >> (64 - bits));
}

static uint64_t divide(uint64_t x, uint64_t y, bool is_signed, bool wide, bool modulo)
{
	int64_t sx = wide ? (int64_t)x : (int32_t)x, sy = wide ? (int64_t)y : (int32_t)y;

	if (!y)
		return modulo ? x : 0;
	if (!is_signed)
		return modulo ? x % y : x / y;
	if (sy == -1)
		return modulo ? 0 : 0 - x;
	return (uint64_t)(modulo ? sx % sy : sx / sy);
}

/* Of two numbers, as the instruction does it. */
static uint64_t compute(uint8_t op, bool is_signed, bool wide, uint64_t x, uint64_t y)
{
	unsigned int shift = y & (wide ? 63 : 31);
	uint64_t r;

	switch (op) {
	case BPF_ADD:
		r = x + y;
		break;
	case BPF_SUB:
		r = x - y;
		break;
	case BPF_MUL:
		r = x * y;
		break;
	case BPF_DIV:
	case BPF_MOD:
		r = divide(x, y, is_signed, wide, op == BPF_MOD);
		break;
	case BPF_OR:
		r = x | y;
		break;
	case BPF_AND:
		r = x & y;
		break;
	case BPF_XOR:
		r = x ^ y;
		break;
	case BPF_LSH:
		r = x << shift;
		break;
	case BPF_RSH:
		r = x >> shift;
		break;
	case BPF_ARSH:
		r = (wide ? sign_extended(x, 64) : sign_extended(x, 32)) >> shift;
		r = sign_extended(r, (wide ? 64 : 32) - shift);
		break;
	default: /* BPF_MOV */
		r = y;
	}
	return wide ? r : r & LOW32;
}

/* All of x & mask for a mask of low bits. */
static struct arc mask_low(struct arc a, uint64_t mask)
{
	struct arc cut = { a.lo & mask, a.hi & mask };

	if (span(a) >= mask)
		return (struct arc){ 0, mask };
	return cut.lo <= cut.hi ? cut : one(cut.lo);
}

/* Operations by a constant that map an arc to an arc; a does not pass 0. */
static bool by_constant(uint8_t op, bool is_signed, bool wide, struct arc a, uint64_t c,
			struct arc *out)
{
	bool modulo_all = op == BPF_MOD && c && !is_signed && span(a) >= c - 1 &&
			  a.hi - a.hi % c >= a.lo && a.hi % c == c - 1;

	if (op == BPF_AND && !(c & (c + 1))) {
		*out = mask_low(a, c);
	} else if (op == BPF_RSH && c < (wide ? 64 : 32)) {
		*out = (struct arc){ a.lo >> c, a.hi >> c };
	} else if (op == BPF_DIV && c && !is_signed) {
		*out = (struct arc){ a.lo / c, a.hi / c };
	} else if (op == BPF_MOD && c && !is_signed && a.hi < c) {
		*out = a;
	} else if (modulo_all) {
		*out = (struct arc){ 0, c - 1 };
	} else {
		return false;
	}
	return true;
}

/* On either circle, whose largest number is `top`. */
static struct arc arc_op(uint8_t op, bool is_signed, bool wide, struct arc a, struct arc b)
{
	uint64_t top = wide ? UINT64_MAX : LOW32, wa = span(a) & top, wb = span(b) & top;
	struct arc out;

	if (op == BPF_MOV)
		return b;
	if (op == BPF_ADD || op == BPF_SUB) {
		if (wa > top - wb)
			return (struct arc){ 0, top };
		if (op == BPF_ADD)
			return (struct arc){ (a.lo + b.lo) & top, (a.hi + b.hi) & top };
		return (struct arc){ (a.lo - b.hi) & top, (a.hi - b.lo) & top };
	}
	if (op == BPF_XOR && (wa == top || wb == top))
		return (struct arc){ 0, top };
	if (!wb && a.lo <= a.hi && by_constant(op, is_signed, wide, a, b.lo, &out))
		return out;
	return one(compute(op, is_signed, wide, a.lo, b.lo));
}

struct arc asm_arc_alu(uint8_t op, bool is_signed, bool wide, struct arc a, struct arc b, bool same)
{
	struct arc out;

	if (!wide) {
		a = low_half(a);
		b = low_half(b);
	}
	if (same && op != BPF_MOV)
		out = one(compute(op, is_signed, wide, a.lo, a.lo));
	else
		out = arc_op(op, is_signed, wide, a, b);
	return wide ? out : zero_extend(out);
}

struct arc asm_arc_sign_extend(struct arc a, unsigned int bits, bool wide)
{
	uint64_t top = (UINT64_C(1) << (bits - 1)) - 1, v;

	if (a.lo <= a.hi && a.hi <= top)
		return a;
	if (bits < 64 && span(a) >= 2 * top + 1 && wide)
		return (struct arc){ 0 - top - 1, top };
	v = sign_extended(a.lo, bits);
	return one(wide ? v : v & LOW32);
}

/* ---- conditions */

/* The operation that jumps when this one does not. */
static uint8_t opposite(uint8_t op)
{
	switch (op) {
	case BPF_JEQ:
		return BPF_JNE;
	case BPF_JNE:
		return BPF_JEQ;
	case BPF_JGT:
		return BPF_JLE;
	case BPF_JGE:
		return BPF_JLT;
	case BPF_JLT:
		return BPF_JGE;
	case BPF_JLE:
		return BPF_JGT;
	case BPF_JSGT:
		return BPF_JSLE;
	case BPF_JSGE:
		return BPF_JSLT;
	case BPF_JSLT:
		return BPF_JSGE;
	}
	return BPF_JSGT; /* of BPF_JSLE */
}

/* The numbers x for which `x op c` holds, of those from `bottom` to `top` in the order meant. */
static bool holding(uint8_t op, uint64_t c, uint64_t bottom, uint64_t top, struct arc *out)
{
	switch (op) {
	case BPF_JEQ:
		*out = one(c);
		return true;
	case BPF_JNE:
		*out = (struct arc){ c + 1, c - 1 };
		return true;
	case BPF_JGT:
	case BPF_JSGT:
		*out = (struct arc){ c + 1, top };
		return c != top;
	case BPF_JGE:
	case BPF_JSGE:
		*out = (struct arc){ c, top };
		return true;
	case BPF_JLT:
	case BPF_JSLT:
		*out = (struct arc){ bottom, c - 1 };
		return c != bottom;
	}
	*out = (struct arc){ bottom, c }; /* BPF_JLE, BPF_JSLE */
	return true;
}

static bool is_signed_jump(uint8_t op)
{
	return op == BPF_JSGT || op == BPF_JSGE || op == BPF_JSLT || op == BPF_JSLE;
}

/* JSET: some number of a that has one of the bits, or none of them. */
static bool with_bits(struct arc a, uint64_t bits, bool wanted, struct arc *out)
{
	uint64_t lowest = bits & (0 - bits);
	const uint64_t tries[] = { a.lo, a.hi, 0, lowest, a.lo | lowest, a.lo & ~bits };

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++)
		if (asm_arc_has(a, tries[i]) && !!(tries[i] & bits) == wanted) {
			*out = one(tries[i]);
			return true;
		}
	return false;
}

/* Numbers of a whose low halves are in `low`, which holds low halves of a only. */
static struct arc lift(struct arc a, struct arc low)
{
	uint64_t from = a.lo + ((low.lo - a.lo) & LOW32), to = from + ((low.hi - low.lo) & LOW32);

	return to - a.lo <= span(a) && to - a.lo >= from - a.lo ? (struct arc){ from, to }
								: one(from);
}

bool asm_arc_branch(uint8_t op, bool wide, bool taken, struct arc a, uint64_t with, struct arc *out)
{
	uint64_t top = wide ? UINT64_MAX : LOW32, half = wide ? LOWEST : LOWEST >> 32;
	bool is_signed = is_signed_jump(op);
	struct arc half_circle, found;

	if (op == BPF_JSET)
		return with_bits(a, wide ? with : with & LOW32, taken, out);
	if (!taken)
		op = opposite(op);
	if (!holding(op, with & top, is_signed ? half : 0, is_signed ? half - 1 : top,
		     &half_circle))
		return false;
	if (wide)
		return asm_arc_intersect(a, half_circle, out);

	/*
	 * On the small circle, turned so that the first arc begins at 0; what passes 0 there comes
	 * in two parts.
	 */
	found = low_half(a);
	half_circle.lo = (half_circle.lo - found.lo) & LOW32;
	half_circle.hi = (half_circle.hi - found.lo) & LOW32;
	struct arc turned = { 0, (found.hi - found.lo) & LOW32 };
	struct arc front = { 0, half_circle.hi }, back = { half_circle.lo, LOW32 };

	if (half_circle.lo <= half_circle.hi) {
		if (!asm_arc_intersect(turned, half_circle, out))
			return false;
	} else if (!asm_arc_intersect(turned, back, out) &&
		   !asm_arc_intersect(turned, front, out)) {
		return false;
	}
	out->lo = (out->lo + found.lo) & LOW32;
	out->hi = (out->hi + found.lo) & LOW32;
	*out = lift(a, *out);
	return true;
}
