/* SPDX-License-Identifier: BSD-2-Clause */
/* Unwind tables: one piece of memory each, and the look-ups in it. */
#include <errno.h>
#include <stdlib.h>

#include "table.h"

size_t unwind_counts_size(const struct unwind_counts *c)
{
	return c->nrules * sizeof(struct unwind_rule) + c->nindex * sizeof(uint32_t) +
	       c->nrows * sizeof(struct unwind_row) + (c->nfdes + c->ngaps) * sizeof(uint32_t);
}

struct unwind_table *unwind_table_new(const struct unwind_counts *c, struct unwind_arrays *a)
{
	size_t parts = c->nparts * sizeof(struct unwind_part);
	struct unwind_table *t = malloc(sizeof(*t) + parts + unwind_counts_size(c));

	if (!t)
		return NULL;
	a->parts = (struct unwind_part *)(t + 1);
	a->rules = (struct unwind_rule *)(a->parts + c->nparts);
	a->index = (uint32_t *)(a->rules + c->nrules);
	a->rows = (struct unwind_row *)(a->index + c->nindex);
	a->fdes = (uint32_t *)(a->rows + c->nrows);
	a->gaps = a->fdes + c->nfdes;
	*t = (struct unwind_table){ .machine = c->machine,
				    .nparts = c->nparts,
				    .nrules = c->nrules,
				    .nfdes = c->nfdes,
				    .parts = a->parts,
				    .rules = a->rules,
				    .fdes = a->fdes,
				    .ngaps = c->ngaps,
				    .gaps = a->gaps,
				    .jumped_to = c->jumped_to };
	return t;
}

void unwind_table_free(struct unwind_table *t)
{
	free(t);
}

size_t unwind_table_size(const struct unwind_table *t)
{
	struct unwind_counts c = { .nrules = t->nrules, .nfdes = t->nfdes, .ngaps = t->ngaps };

	for (uint32_t i = 0; i < t->nparts; i++) {
		c.nindex += t->parts[i].npages + 1;
		c.nrows += t->parts[i].nrows;
	}
	return unwind_counts_size(&c);
}

const struct unwind_part *unwind_table_part(const struct unwind_table *t, uint64_t vaddr)
{
	uint32_t lo = 0, hi = t->nparts;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->parts[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || (vaddr - t->parts[lo - 1].start) / UNWIND_PAGE >= t->parts[lo - 1].npages)
		return NULL;
	return &t->parts[lo - 1];
}

const struct unwind_rule *unwind_table_rule(const struct unwind_table *t, uint64_t vaddr)
{
	const struct unwind_part *p = unwind_table_part(t, vaddr);
	uint16_t low = vaddr % UNWIND_PAGE;
	uint32_t row, n, page;

	if (!p)
		return &t->rules[0];
	page = (vaddr - p->start) / UNWIND_PAGE;
	row = p->index[page] - 1;
	n = p->index[page + 1] - row;
	for (int i = 0; i < UNWIND_SEARCH_STEPS; i++) {
		uint32_t half = n / 2;

		if (half && p->rows[row + half].pc_low <= low)
			row += half;
		n -= half;
	}
	return &t->rules[p->rows[row].rule];
}

int unwind_table_fde_start(const struct unwind_table *t, uint64_t vaddr, uint64_t *start)
{
	uint64_t at = vaddr - t->parts->start;
	uint32_t lo = 0, hi = t->nfdes;

	const struct unwind_rule *rule = unwind_table_rule(t, vaddr);

	if (rule->kind == UNWIND_NO_ROW || rule->flags & UNWIND_COMPUTED)
		return -ENOENT;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->fdes[mid] <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return -ENOENT;
	*start = t->parts->start + t->fdes[lo - 1];
	return 0;
}

/* ---- tables from elsewhere */

static bool is_sound_part(const struct unwind_table *t, const struct unwind_part *p)
{
	if (p->start % UNWIND_PAGE || !p->npages || !p->nrows || p->rows[0].rule ||
	    p->start + (uint64_t)p->npages * UNWIND_PAGE - 1 < p->start || p->index[0] != 1 ||
	    p->index[p->npages] != p->nrows)
		return false;
	for (uint32_t i = 0; i < p->npages; i++) {
		if (p->index[i + 1] < p->index[i] ||
		    p->index[i + 1] - p->index[i] >= 1 << UNWIND_SEARCH_STEPS)
			return false;
	}
	for (uint32_t i = 0; i < p->nrows; i++) {
		if (p->rows[i].pc_low >= UNWIND_PAGE || p->rows[i].rule >= t->nrules)
			return false;
	}
	return true;
}

bool unwind_table_is_sound(const struct unwind_table *t)
{
	if (!t->nparts || !t->nrules || t->nrules > 65536 || t->rules[0].kind != UNWIND_NO_ROW ||
	    (t->jumped_to.kind != UNWIND_NO_ROW && t->jumped_to.kind != UNWIND_SP))
		return false;
	for (uint32_t i = 0; i < t->nrules; i++) {
		const struct unwind_rule *r = &t->rules[i];

		if (r->kind >= UNWIND_KINDS || (r->kind == UNWIND_REG && (uint16_t)r->arg >= 32) ||
		    ((r->flags & UNWIND_RA_REG) && (uint16_t)r->ra_off >= 32))
			return false;
	}
	for (uint32_t i = 0; i < t->nparts; i++) {
		const struct unwind_part *p = &t->parts[i], *last = p - 1;

		if (!is_sound_part(t, p) ||
		    (i && (p->start <= last->start ||
			   (p->start - last->start) / UNWIND_PAGE < last->npages)))
			return false;
	}
	for (uint32_t i = 1; i < t->nfdes; i++) {
		if (t->fdes[i] <= t->fdes[i - 1])
			return false;
	}
	return true;
}
