/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What several visits saw in one place, as one text. Up to three exact values are listed, more of
 * one kind become a range; the verifier itself does no such thing, it keeps every path apart.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vlog.h"

/* ---- joining */

static bool same_kind(const struct value *a, const struct value *b)
{
	return a->kind == b->kind && !strcmp(a->type, b->type) && !strcmp(a->name, b->name) &&
	       (a->kind == VALUE_BYTES || !strcmp(a->bytes, b->bytes));
}

static void widen(struct value *to, const struct value *by)
{
	if (to->kind == VALUE_BYTES) {
		for (int i = 0; i < 8; i++)
			if (to->bytes[i] != by->bytes[i])
				to->bytes[i] =
					to->bytes[i] == '?' || by->bytes[i] == '?' ? '?' : 'm';
		return;
	}
	/* A bit is known when it is in both, and the same. */
	to->unknown |= by->unknown | (to->uleast ^ by->uleast);
	to->least = by->least < to->least ? by->least : to->least;
	to->most = by->most > to->most ? by->most : to->most;
	to->uleast = by->uleast < to->uleast ? by->uleast : to->uleast;
	to->umost = by->umost > to->umost ? by->umost : to->umost;
	to->low.least = by->low.least < to->low.least ? by->low.least : to->low.least;
	to->low.most = by->low.most > to->low.most ? by->low.most : to->low.most;
	to->low.uleast = by->low.uleast < to->low.uleast ? by->low.uleast : to->low.uleast;
	to->low.umost = by->low.umost > to->low.umost ? by->low.umost : to->low.umost;
}

static void add_to_groups(struct join *join, const struct value *value)
{
	for (uint32_t i = 0; i < join->ngroups; i++)
		if (same_kind(&join->groups[i], value)) {
			widen(&join->groups[i], value);
			return;
		}
	if (join->ngroups < JOIN_GROUPS)
		join->groups[join->ngroups++] = *value;
	else
		join->ungrouped = true;
}

static bool exact(const struct value *v)
{
	return v->kind != VALUE_BYTES && v->least == v->most;
}

bool asm_vlog_value_same(const struct value *a, const struct value *b)
{
	return same_kind(a, b) && !strcmp(a->bytes, b->bytes) && a->least == b->least &&
	       a->most == b->most && a->uleast == b->uleast && a->umost == b->umost &&
	       a->unknown == b->unknown && !memcmp(&a->low, &b->low, sizeof(a->low));
}

void asm_vlog_join_add(struct join *join, const struct values *values, uint32_t number)
{
	const struct value *value = &values->all[number];

	join->count++;
	for (uint32_t i = 0; i < join->nlisted; i++)
		if (join->listed[i] == number)
			return;
	add_to_groups(join, value);
	for (uint32_t i = 0; i < join->nlisted; i++)
		if (asm_vlog_value_same(&values->all[join->listed[i]], value))
			return;
	if (join->nlisted < JOIN_LISTED)
		join->listed[join->nlisted++] = number;
	else
		join->unlisted = true;
}

bool asm_vlog_join_merge(struct join *join, const struct join *other, const struct values *values)
{
	const struct join before = *join;
	bool more = false;

	for (uint32_t i = 0; i < other->nlisted; i++)
		asm_vlog_join_add(join, values, other->listed[i]);
	for (uint32_t i = 0; other->unlisted && i < other->ngroups; i++)
		add_to_groups(join, &other->groups[i]);
	join->unlisted |= other->unlisted;
	join->ungrouped |= other->ungrouped;
	join->count = before.count;
	for (uint32_t i = 0; i < join->ngroups && i < before.ngroups; i++)
		more |= !asm_vlog_value_same(&join->groups[i], &before.groups[i]);
	return more || join->ngroups != before.ngroups || join->nlisted != before.nlisted ||
	       join->unlisted != before.unlisted || join->ungrouped != before.ungrouped;
}

/* ---- writing */

struct text {
	char at[512];
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *fmt, ...)
{
	const size_t capacity = sizeof(t->at) - t->used;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(t->at + t->used, capacity, fmt, args);
	va_end(args);
	if (n > 0)
		t->used += (size_t)n < capacity ? (size_t)n : capacity - 1;
}

/* Numbers about a power of two, from 2^16 on, are easier read as that. */
static void put_unsigned(struct text *t, uint64_t n)
{
	if (n >= 0xffff && !(n & (n + 1)))
		put(t, "2^%d-1", 64 - (n == UINT64_MAX ? 0 : __builtin_clzll(n)));
	else if (n >= 0x10000 && !(n & (n - 1)))
		put(t, "2^%d", __builtin_ctzll(n));
	else if (n > UINT32_MAX)
		put(t, "0x%" PRIx64, n);
	else
		put(t, "%" PRIu64, n);
}

static void put_signed(struct text *t, int64_t n)
{
	const uint64_t size = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

	if (n < 0)
		put(t, "-");
	put_unsigned(t, size);
}

/* " low32 0..10": what is known of the lower half of a number that is larger than that. */
static void put_low(struct text *t, const struct value *v)
{
	const struct bounds32 *low = &v->low;

	if (v->umost <= UINT32_MAX || (v->least >= INT32_MIN && v->most <= INT32_MAX))
		return;
	if (low->uleast || low->umost < UINT32_MAX) {
		put(t, " low32 ");
		put_unsigned(t, low->uleast);
		put(t, low->uleast == low->umost ? "" : "..");
		if (low->uleast != low->umost)
			put_unsigned(t, low->umost);
	} else if (low->least > INT32_MIN || low->most < INT32_MAX) {
		put(t, " low32 ");
		put_signed(t, low->least);
		put(t, "..");
		put_signed(t, low->most);
	}
}

/* "scalar" is any number. */
static void put_number(struct text *t, const struct value *v)
{
	const int step = v->unknown ? __builtin_ctzll(v->unknown) : 0;

	if (v->least == v->most) {
		if (v->least < -(INT64_C(1) << 32))
			put_unsigned(t, (uint64_t)v->least); /* an address, a mask, a hash */
		else
			put_signed(t, v->least);
		return;
	}
	if (v->least >= 0 || (v->least == INT64_MIN && v->most == INT64_MAX)) {
		if (v->uleast == 0 && v->umost == UINT64_MAX) {
			put(t, "scalar");
		} else if (v->umost == UINT64_MAX) {
			put(t, "scalar>=");
			put_unsigned(t, v->uleast);
		} else {
			put_unsigned(t, v->uleast);
			put(t, "..");
			put_unsigned(t, v->umost);
		}
	} else if (v->most == INT64_MAX) {
		put(t, "scalar s>=");
		put_signed(t, v->least);
	} else if (v->least == INT64_MIN) {
		put(t, "scalar s<=");
		put_signed(t, v->most);
	} else {
		put_signed(t, v->least);
		put(t, "..");
		put_signed(t, v->most);
	}
	if (step && !(v->uleast & ((UINT64_C(1) << step) - 1))) {
		put(t, " step ");
		put_unsigned(t, UINT64_C(1) << step);
	}
	put_low(t, v);
}

static void put_pointer(struct text *t, const struct value *v)
{
	const bool frame = !strncmp(v->type, "fp", 2);

	put(t, "%s", v->type);
	if (!frame && *v->name)
		put(t, "(%s", v->name);
	if (v->least == v->most) {
		if (frame)
			put(t, "%" PRId64, v->least);
		else if (v->least)
			put(t, "%+" PRId64, v->least);
	} else if (v->most >= ANY_DISTANCE || v->least <= -ANY_DISTANCE) {
		put(t, "+?");
	} else {
		put(t, "%+" PRId64 "..%" PRId64, v->least, v->most);
	}
	if (!frame && *v->name)
		put(t, ")");
}

static void put_value(struct text *t, const struct value *v)
{
	if (*v->bytes)
		put(t, "%s", v->bytes);
	if (v->kind == VALUE_NUMBER)
		put_number(t, v);
	else if (v->kind == VALUE_POINTER)
		put_pointer(t, v);
}

const char *asm_vlog_value_text(const struct value *value, struct arena **arena)
{
	struct text t = { .used = 0 };

	put_value(&t, value);
	return asm_arena_printf(arena, "%s", t.at);
}

const char *asm_vlog_join_text(const struct join *join, const struct values *values,
			       struct arena **arena)
{
	bool list = !join->unlisted;
	struct text t = { .used = 0 };

	for (uint32_t i = 0; i < join->nlisted; i++)
		list &= exact(&values->all[join->listed[i]]) || join->nlisted == 1;
	for (uint32_t i = 0; i < (list ? join->nlisted : join->ngroups); i++) {
		if (i)
			put(&t, " or ");
		put_value(&t, list ? &values->all[join->listed[i]] : &join->groups[i]);
	}
	if (!list && join->ungrouped)
		put(&t, " or more");
	return asm_arena_printf(arena, "%s", t.at);
}
