/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "go_table.h"

enum { LONGEST_STRING = 8192 };

uint64_t unwind_go_number(const struct unwind_go *go, uint64_t at, size_t len)
{
	uint64_t n = 0;

	if (at <= go->size && len <= go->size - at)
		memcpy(&n, go->data + at, len); /* little-endian, as all machines here */
	return n;
}

bool unwind_go_string(const struct unwind_go *go, uint64_t at, const char **s, size_t *len)
{
	size_t most = LONGEST_STRING;

	if (at >= go->size)
		return false;
	if (most > go->size - at)
		most = go->size - at;
	*s = (const char *)go->data + at;
	*len = strnlen(*s, most);
	return *len && *len < most;
}

bool unwind_go_layout(const struct unwind_go *go, struct unwind_go_layout *l)
{
	const uint64_t first = go->data ? unwind_go_number(go, 0, 4) : 0;
	/* A word more, which was the start of the text, from 1.18 on. */
	const uint64_t words = 8 * (first == GO_1_16 ? 3 : 4);

	*l = (struct unwind_go_layout){ .magic = (uint32_t)first,
					.min_insn = (uint32_t)unwind_go_number(go, 6, 1),
					.nfunc = unwind_go_number(go, 8, 8),
					.names = unwind_go_number(go, words, 8),
					.units = unwind_go_number(go, words + 8, 8),
					.files = unwind_go_number(go, words + 16, 8),
					.pctab = unwind_go_number(go, words + 24, 8),
					.functions = unwind_go_number(go, words + 32, 8) };
	return (first == GO_1_16 || first == GO_1_18 || first == GO_1_20) &&
	       unwind_go_number(go, 7, 1) == 8 && l->min_insn && l->names < go->size &&
	       l->units < go->size && l->files < go->size && l->pctab < go->size &&
	       l->functions < go->size &&
	       l->nfunc < (go->size - l->functions) / (first == GO_1_16 ? 16 : 8);
}

/* ---- functions */

/* Address of function @i, or where the last one ends; and the offset of what tells of it. */
static uint64_t entry_at(const struct unwind_go *go, const struct unwind_go_layout *l, uint64_t i,
			 uint64_t *described)
{
	const size_t len = l->magic == GO_1_16 ? 8 : 4;
	const uint64_t at = l->functions + 2 * len * i;

	/* What tells of it begins with its own address before 1.18, and an offset since. */
	*described = l->functions + unwind_go_number(go, at + len, len) + len;
	return unwind_go_number(go, at, len) + (len == 4 ? go->text : 0);
}

struct unwind_go_function unwind_go_function(const struct unwind_go *go,
					     const struct unwind_go_layout *l, uint64_t i)
{
	struct unwind_go_function f;
	uint64_t unused;

	f.start = entry_at(go, l, i, &f.at);
	f.end = entry_at(go, l, i + 1, &unused);
	return f;
}

uint64_t unwind_go_first(const struct unwind_go *go, const struct unwind_go_layout *l,
			 uint64_t vaddr)
{
	uint64_t lo = 0, hi = l->nfunc, unused;

	while (lo < hi) {
		const uint64_t mid = lo + (hi - lo) / 2;

		if (entry_at(go, l, mid, &unused) <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : 0;
}

bool unwind_go_find(const struct unwind_go *go, const struct unwind_go_layout *l, uint64_t vaddr,
		    struct unwind_go_function *out)
{
	if (!l->nfunc)
		return false;
	*out = unwind_go_function(go, l, unwind_go_first(go, l, vaddr));
	return vaddr >= out->start && vaddr < out->end;
}

int unwind_go_each(const struct unwind_go *go, unwind_go_function_fn *fn, void *ctx)
{
	struct unwind_go_layout l;
	const char *name;
	int err = 0;
	size_t len;

	if (!unwind_go_layout(go, &l))
		return 0;
	for (uint64_t i = 0; i < l.nfunc && !err; i++) {
		const struct unwind_go_function f = unwind_go_function(go, &l, i);
		const uint64_t at = l.names + unwind_go_number(go, f.at + GO_NAME, 4);

		if (f.start < f.end && unwind_go_string(go, at, &name, &len))
			err = fn(ctx, name, &f);
	}
	return err;
}

bool unwind_go_range(const struct unwind_go *go, uint64_t *start, uint64_t *end)
{
	struct unwind_go_layout l;
	uint64_t unused, first, last;

	if (!unwind_go_layout(go, &l) || !l.nfunc)
		return false;
	first = entry_at(go, &l, 0, &unused);
	last = entry_at(go, &l, l.nfunc, &unused);
	if (first >= last)
		return false;
	*start = first;
	*end = last;
	return true;
}

uint64_t unwind_go_flags(const struct unwind_go_layout *l, const struct unwind_go_function *f)
{
	return f->at + (l->magic == GO_1_20 ? 36 : 32); /* with the line that it starts at */
}

/* ---- what changes within a function */

static uint32_t read_varint(const struct unwind_go *go, uint64_t *at)
{
	uint32_t n = 0;

	for (int shift = 0; shift < 32 && *at < go->size; shift += 7) {
		const uint8_t byte = go->data[(*at)++];

		n |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return n;
}

struct unwind_go_steps unwind_go_steps(const struct unwind_go_layout *l,
				       const struct unwind_go_function *f, uint32_t table)
{
	/* No table begins where all of them do. */
	return (struct unwind_go_steps){ table ? l->pctab + table : UINT64_MAX, f->start, f->start,
					 -1 };
}

bool unwind_go_step(const struct unwind_go *go, const struct unwind_go_layout *l,
		    struct unwind_go_steps *s)
{
	const bool is_first = s->start == s->pc;
	uint32_t step;

	if (s->at >= go->size)
		return false;
	step = read_varint(go, &s->at);
	s->start = s->pc;
	s->pc += (uint64_t)l->min_insn * read_varint(go, &s->at);
	if ((!step && !is_first) || s->pc <= s->start)
		return false;
	s->value = (int32_t)((uint32_t)s->value + (step & 1 ? ~(step >> 1) : step >> 1));
	return true;
}
