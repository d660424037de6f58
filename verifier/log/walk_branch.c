/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a condition tells of the registers that it compares, on the way that the kernel leaves for
 * later. It prints that state when it takes the way up, unless it finds at once that it is safe:
 * then this is all that there is.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "walk.h"

/* ---- a number's bounds, and its bits */

static void bits_to_bounds(struct value *v)
{
	const uint64_t most = v->var_known | v->var_unknown, sign = UINT64_C(1) << 63;
	const uint32_t known = (uint32_t)v->var_known, unknown = (uint32_t)v->var_unknown;

	v->uleast = MAX(v->uleast, v->var_known);
	v->umost = MIN(v->umost, most);
	v->least = MAX(v->least, (int64_t)(v->var_known | (v->var_unknown & sign)));
	v->most = MIN(v->most, (int64_t)(v->var_known | (v->var_unknown & ~sign)));
	v->low.uleast = MAX(v->low.uleast, known);
	v->low.umost = MIN(v->low.umost, known | unknown);
	v->low.least = MAX(v->low.least, (int32_t)(known | (unknown & 0x80000000u)));
	v->low.most = MIN(v->low.most, (int32_t)(known | (unknown & 0x7fffffffu)));
}

/* Signed bounds of one sign are unsigned bounds, and the other way round. */
static void across_signs(struct value *v)
{
	struct bounds32 *low = &v->low;

	if ((int64_t)v->uleast <= (int64_t)v->umost) {
		v->least = MAX(v->least, (int64_t)v->uleast);
		v->most = MIN(v->most, (int64_t)v->umost);
	}
	if ((uint64_t)v->least <= (uint64_t)v->most) {
		v->uleast = MAX(v->uleast, (uint64_t)v->least);
		v->umost = MIN(v->umost, (uint64_t)v->most);
	}
	if ((int32_t)low->uleast <= (int32_t)low->umost) {
		low->least = MAX(low->least, (int32_t)low->uleast);
		low->most = MIN(low->most, (int32_t)low->umost);
	}
	if ((uint32_t)low->least <= (uint32_t)low->most) {
		low->uleast = MAX(low->uleast, (uint32_t)low->least);
		low->umost = MIN(low->umost, (uint32_t)low->most);
	}
}

/* The lower half, from the whole and for it. */
static void across_halves(struct value *v)
{
	const uint64_t upper = ~(uint64_t)UINT32_MAX;
	struct bounds32 *low = &v->low;

	if ((v->uleast & upper) == (v->umost & upper)) {
		low->uleast = MAX(low->uleast, (uint32_t)v->uleast);
		low->umost = MIN(low->umost, (uint32_t)v->umost);
	}
	if (v->least >= INT32_MIN && v->most <= INT32_MAX) {
		low->least = MAX(low->least, (int32_t)v->least);
		low->most = MIN(low->most, (int32_t)v->most);
		if (low->least >= INT32_MIN) {
			v->least = MAX(v->least, (int64_t)low->least);
			v->most = MIN(v->most, (int64_t)low->most);
		}
	}
	v->uleast = MAX(v->uleast, (v->uleast & upper) | low->uleast);
	v->umost = MIN(v->umost, (v->umost & upper) | low->umost);
}

/* Bits above the highest in which the bounds differ are the same in all between them. */
static void bounds_to_bits(struct value *v)
{
	const uint64_t differ = v->uleast ^ v->umost;
	const uint32_t differ32 = v->low.uleast ^ v->low.umost;
	const int free64 = differ ? 64 - __builtin_clzll(differ) : 0;
	const int free32 = differ32 ? 32 - __builtin_clz(differ32) : 0;
	const uint64_t mask = free64 == 64 ? UINT64_MAX : (UINT64_C(1) << free64) - 1;
	const uint64_t mask32 = (UINT64_C(1) << free32) - 1;

	if (v->uleast <= v->umost) {
		v->var_known |= v->uleast & ~mask & v->var_unknown;
		v->var_unknown &= mask;
	}
	if (v->low.uleast <= v->low.umost) {
		v->var_known |= v->low.uleast & ~mask32 & v->var_unknown & UINT32_MAX;
		v->var_unknown &= mask32 | ~(uint64_t)UINT32_MAX;
	}
}

void asm_walk_agree(struct value *v)
{
	for (int i = 0; i < 3; i++) {
		bits_to_bounds(v);
		across_signs(v);
		across_halves(v);
		across_signs(v);
		bounds_to_bits(v);
	}
	v->unknown = v->var_unknown;
}

/* In the kernel's words, though not in its order of them. */
uint32_t asm_walk_number(struct reader *r, const struct value *v)
{
	char text[400], id[20] = "";
	int n;

	if (v->id)
		snprintf(id, sizeof(id), "id=%" PRIu32 ",", v->id);
	if (v->uleast == v->umost)
		n = snprintf(text, sizeof(text), "%" PRId64, (int64_t)v->uleast);
	else
		n = snprintf(text, sizeof(text),
			     "scalar(%ssmin=%" PRId64 ",smax=%" PRId64 ",umin=%" PRIu64
			     ",umax=%" PRIu64 ",smin32=%" PRId32 ",smax32=%" PRId32
			     ",umin32=%" PRIu32 ",umax32=%" PRIu32 ",var_off=(0x%" PRIx64
			     "; 0x%" PRIx64 "))",
			     id, v->least, v->most, v->uleast, v->umost, v->low.least, v->low.most,
			     v->low.uleast, v->low.umost, v->var_known, v->var_unknown);
	return asm_vlog_value_intern(&r->values, &r->arena, text, (size_t)n, false);
}

/* ---- conditions: what holds of a and b where "a OP b" does */

static void equal(struct value *a, struct value *b, bool half)
{
	const uint64_t bits = half ? UINT32_MAX : UINT64_MAX;
	struct value *const both[] = { a, b };
	const struct value x = *a, y = *b;

	for (int i = 0; i < 2; i++) {
		struct value *v = both[i];

		v->low.least = MAX(x.low.least, y.low.least);
		v->low.most = MIN(x.low.most, y.low.most);
		v->low.uleast = MAX(x.low.uleast, y.low.uleast);
		v->low.umost = MIN(x.low.umost, y.low.umost);
		v->var_known |= (x.var_known | y.var_known) & bits;
		v->var_unknown &= (x.var_unknown & y.var_unknown) | ~bits;
		if (half)
			continue;
		v->least = MAX(x.least, y.least);
		v->most = MIN(x.most, y.most);
		v->uleast = MAX(x.uleast, y.uleast);
		v->umost = MIN(x.umost, y.umost);
	}
}

/* Not a constant: where that is a bound, the next one is. */
static void differ(struct value *a, const struct value *b, bool half)
{
	if (half ? b->low.uleast != b->low.umost : b->uleast != b->umost)
		return;
	a->low.uleast += half && a->low.uleast == b->low.uleast;
	a->low.umost -= half && a->low.umost == b->low.uleast;
	a->low.least += half && a->low.least == b->low.least;
	a->low.most -= half && a->low.most == b->low.least;
	a->uleast += !half && a->uleast == b->uleast;
	a->umost -= !half && a->umost == b->uleast;
	a->least += !half && a->least == b->least;
	a->most -= !half && a->most == b->least;
}

/* The smaller one ends below the larger one's end, which begins above its beginning. */
#define LESS(small, large, least, most, one)                                                       \
	do {                                                                                       \
		__typeof__((small)->most) end_;                                                    \
		if (!__builtin_sub_overflow((large)->most, one, &end_))                            \
			(small)->most = MIN((small)->most, end_);                                  \
		if (!__builtin_add_overflow((small)->least, one, &end_))                           \
			(large)->least = MAX((large)->least, end_);                                \
	} while (0)

/* strict: less, not equal */
static void less(struct value *a, struct value *b, bool is_signed, bool half, bool strict)
{
	struct bounds32 *x = &a->low, *y = &b->low;

	if (half && is_signed)
		LESS(x, y, least, most, strict);
	else if (half)
		LESS(x, y, uleast, umost, strict);
	else if (is_signed)
		LESS(a, b, least, most, strict);
	else
		LESS(a, b, uleast, umost, strict);
}

static void bits_set(struct value *a, const struct value *b, bool any, bool half)
{
	const uint64_t mask = half ? UINT32_MAX : UINT64_MAX, bits = b->var_known & mask;

	if (b->var_unknown & mask)
		return;
	if (!any)
		a->var_known &= ~bits;
	else if (bits & (bits - 1))
		return;
	else
		a->var_known |= bits;
	a->var_unknown &= ~bits;
}

static uint8_t opposite(uint8_t op)
{
	static const uint8_t pairs[][2] = {
		{ BPF_JEQ, BPF_JNE },	{ BPF_JGT, BPF_JLE },	{ BPF_JGE, BPF_JLT },
		{ BPF_JSGT, BPF_JSLE }, { BPF_JSGE, BPF_JSLT },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		for (int side = 0; side < 2; side++)
			if (op == pairs[i][side])
				return pairs[i][!side];
	return op;
}

static void apply(struct value *a, struct value *b, uint8_t op, bool half)
{
	switch (op) {
	case BPF_JEQ:
		equal(a, b, half);
		break;
	case BPF_JNE:
		differ(a, b, half);
		differ(b, a, half);
		break;
	case BPF_JLT:
	case BPF_JLE:
		less(a, b, false, half, op == BPF_JLT);
		break;
	case BPF_JGT:
	case BPF_JGE:
		less(b, a, false, half, op == BPF_JGT);
		break;
	case BPF_JSLT:
	case BPF_JSLE:
		less(a, b, true, half, op == BPF_JSLT);
		break;
	case BPF_JSGT:
	case BPF_JSGE:
		less(b, a, true, half, op == BPF_JSGT);
		break;
	}
	asm_walk_agree(a);
	asm_walk_agree(b);
}

/* ---- pointers that may be 0 */

/* "map_value_or_null(id=1,map=m)" -> "map_value(map=m)" */
static uint32_t not_null(struct reader *r, const char *text)
{
	const char *or_null = strstr(text, "_or_null"), *rest, *id;
	char is[2100];
	int n;

	if (!or_null)
		return 0;
	rest = or_null + strlen("_or_null");
	id = !strncmp(rest, "(id=", 4) ? rest + 4 + strspn(rest + 4, "0123456789") : NULL;
	if (id && *id == ',')
		n = snprintf(is, sizeof(is), "%.*s(%s", (int)(or_null - text), text, id + 1);
	else
		n = snprintf(is, sizeof(is), "%.*s%s", (int)(or_null - text), text, rest);
	if (n < 0 || (size_t)n >= sizeof(is))
		return 0;
	return asm_vlog_value_intern(&r->values, &r->arena, is, (size_t)n, false);
}

static void learn(struct reader *r, uint32_t insn, uint32_t reg, uint32_t value)
{
	uint32_t *place = &r->frames[r->frame].at[reg];
	const uint32_t was = *place;

	if (!value || value == was)
		return;
	*place = value;
	asm_vlog_reader_tell_equals(r, insn, was, value);
}

/* ---- the jump */

struct condition {
	uint8_t op;
	bool half, has_reg;
	uint32_t reg, other;
	uint64_t number;
};

/* "(2d) if r1 > r2 goto pc+7", "(56) if w0 != 0x0 goto pc+1" */
static bool read_condition(const char *text, struct condition *c)
{
	const char *at = text ? strstr(text, ") if ") : NULL;
	uint8_t code;

	if (!at || !isdigit((unsigned char)at[6]))
		return false;
	code = (uint8_t)strtoul(text + 1, NULL, 16);
	c->half = BPF_CLASS(code) == BPF_JMP32;
	c->op = BPF_OP(code);
	c->reg = (uint32_t)atoi(at + 6);
	at = strchr(at + 6, ' ');
	at = at ? strchr(at + 1, ' ') : NULL;
	if (!at || c->reg >= FRAME_REGS)
		return false;
	at++;
	c->has_reg = *at == 'r' || *at == 'w';
	if (c->has_reg)
		c->other = (uint32_t)atoi(at + 1);
	else
		c->number = (uint64_t)(int64_t)(int32_t)strtoll(at, NULL, 0);
	return c->other < FRAME_REGS;
}

void asm_walk_branch(struct reader *r, uint32_t insn, uint32_t to)
{
	const struct value *all = r->values.all;
	const uint32_t *regs = r->frames[r->frame].at;
	struct condition c = { 0 };
	struct value a, b = { 0 };
	bool holds = to != insn + 1;
	uint8_t op;

	if (!read_condition(r->log->insns[insn].text, &c) || !regs[c.reg])
		return;
	op = holds ? c.op : opposite(c.op);
	a = all[regs[c.reg]];
	if (a.or_null && !c.has_reg && !c.number && (op == BPF_JEQ || op == BPF_JNE)) {
		learn(r, insn, c.reg,
		      op == BPF_JNE ? not_null(r, a.text)
				    : asm_vlog_value_intern(&r->values, &r->arena, "0", 1, false));
		return;
	}
	if (c.has_reg) {
		b = all[regs[c.other]];
	} else {
		b.uleast = b.umost = b.var_known = c.number;
		b.least = b.most = (int64_t)c.number;
		b.low = (struct bounds32){ (int32_t)c.number, (int32_t)c.number, (uint32_t)c.number,
					   (uint32_t)c.number };
	}
	if (a.kind != VALUE_NUMBER || b.kind != VALUE_NUMBER || (c.has_reg && !regs[c.other]))
		return;
	if (c.op == BPF_JSET) {
		bits_set(&a, &b, holds, c.half);
		asm_walk_agree(&a);
	} else {
		apply(&a, &b, op, c.half);
	}
	learn(r, insn, c.reg, asm_walk_number(r, &a));
	if (c.has_reg && c.other != c.reg)
		learn(r, insn, c.other, asm_walk_number(r, &b));
}
