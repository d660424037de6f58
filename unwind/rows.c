/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows, rules and pages of a table that is being built, in order of address. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "rows.h"
#include "table.h"

enum {
	RULE_END = 0,
	RULE_UNSUP = 1, /* in place, should there be no number left for another */
	RULES_MAX = 65536,
	ROWS_MAX = 16 << 20, /* 64 MB; of libraries with 100 MB of code some 4 million */
	PAGE_ROWS_MAX = (1 << UNWIND_SEARCH_STEPS) - 1,
	GAP_MAX = 64 << 10, /* pages without code that are worth a part of their own */
};

/* Appends to the array member @name; -ENOMEM. */
#define PUSH(r, name, count, capacity, item) RP_PUSH((r)->name, (r)->count, (r)->capacity, item)

/* ---- rules */

static int rule_number(struct unwind_rows *r, const struct unwind_rule *rule, uint16_t *number)
{
	uint32_t n = RULE_UNSUP;
	int err = 0;

	if (r->rules.count < RULES_MAX || rp_hash_find(&r->rules, rule))
		err = rp_hash_number(&r->rules, rule, &n);
	*number = n;
	return err;
}

int unwind_rows_init(struct unwind_rows *r)
{
	static const struct unwind_rule first[] = {
		[RULE_END] = { .kind = UNWIND_NO_ROW }, [RULE_UNSUP] = { .kind = UNWIND_UNSUP }
	};
	uint16_t number;
	int err = 0;

	*r = (struct unwind_rows){ .part_rows = UNWIND_PART_ROWS,
				   .rules = HASH_SET(struct unwind_rule) };
	for (int i = 0; i < 2 && !err; i++)
		err = rule_number(r, &first[i], &number);
	if (err)
		unwind_rows_free(r);
	return err;
}

void unwind_rows_free(struct unwind_rows *r)
{
	free(r->parts);
	free(r->rows);
	free(r->index);
	free(r->fdes);
	rp_hash_free(&r->rules);
	*r = (struct unwind_rows){ 0 };
}

/* ---- pages and parts */

static int push_row(struct unwind_rows *r, uint64_t addr, uint16_t rule)
{
	struct unwind_row row = { addr % UNWIND_PAGE, rule };
	int err = r->nrows < ROWS_MAX ? PUSH(r, rows, nrows, row_capacity, row) : -EFBIG;

	if (!err)
		r->parts[r->nparts - 1].nrows++;
	return err;
}

/* Lets the open part's index cover @npages pages and say where the page after them begins. */
static int cover(struct unwind_rows *r, uint32_t npages)
{
	struct unwind_open_part *p = &r->parts[r->nparts - 1];

	while (p->npages < npages) {
		int err = PUSH(r, index, nindex, index_capacity, p->nrows);

		if (err)
			return err;
		p->npages++;
	}
	return 0;
}

/* The index of a part has one number more than it has pages. */
static int close_part(struct unwind_rows *r)
{
	return PUSH(r, index, nindex, index_capacity, r->parts[r->nparts - 1].nrows);
}

static int open_part(struct unwind_rows *r, uint64_t start)
{
	struct unwind_open_part part = { .start = start,
					 .first_index = r->nindex,
					 .first_row = r->nrows };
	int err = PUSH(r, parts, nparts, part_capacity, part);

	return err ? err : push_row(r, start, RULE_END);
}

/*
 * Before a row that begins on another page than the one before: a new part if this one is full, or
 * if there is a long way without code. What spills over into the page begins the new part.
 */
static int begin_page(struct unwind_rows *r, uint64_t addr)
{
	uint64_t start = addr & -(uint64_t)UNWIND_PAGE;
	struct unwind_open_part *p = r->nparts ? &r->parts[r->nparts - 1] : NULL;
	uint16_t spills = p ? r->rows[r->nrows - 1].rule : RULE_END;
	uint64_t page;
	int err;

	if (!p)
		return open_part(r, start);
	page = (start - p->start) / UNWIND_PAGE;
	if (spills == RULE_END && page - p->npages >= GAP_MAX) {
		err = close_part(r);
	} else if (p->nrows + 2 + PAGE_ROWS_MAX > r->part_rows) {
		err = cover(r, page);
		err = err ? err : close_part(r);
	} else {
		return 0;
	}
	err = err ? err : open_part(r, start);
	if (err || spills == RULE_END || start == addr)
		return err;
	err = cover(r, 1);
	return err ? err : push_row(r, start, spills);
}

int unwind_rows_add(struct unwind_rows *r, uint64_t addr, const struct unwind_rule *rule)
{
	struct unwind_open_part *p;
	uint16_t number;
	uint64_t page;
	int err = rule_number(r, rule, &number);

	if (err)
		return err;
	r->stats.raw_rows++;
	r->stats.unsup += rule->kind == UNWIND_UNSUP;
	if (r->nparts ? r->rows[r->nrows - 1].rule == number : number == RULE_END)
		return 0;
	if (r->nparts && addr - r->parts->start > UINT32_MAX)
		return -EFBIG;
	if (!r->nparts || addr / UNWIND_PAGE != r->last / UNWIND_PAGE)
		err = begin_page(r, addr);
	if (err)
		return err;
	p = &r->parts[r->nparts - 1];
	page = (addr - p->start) / UNWIND_PAGE;
	err = cover(r, page + 1);
	if (err)
		return err;
	r->last = addr;
	if (p->nrows - r->index[p->first_index + page] < PAGE_ROWS_MAX)
		return push_row(r, addr, number);
	r->rows[r->nrows - 1].rule = RULE_UNSUP;
	return 0;
}

int unwind_rows_add_fde(struct unwind_rows *r, uint64_t addr)
{
	uint32_t from_start = addr - r->parts->start;

	r->stats.fdes++;
	return PUSH(r, fdes, nfdes, fde_capacity, from_start);
}

/* ---- the table */

int unwind_rows_finish(struct unwind_rows *r, uint16_t machine, struct unwind_table **out)
{
	struct unwind_counts counts = { .machine = machine };
	struct unwind_table *t;
	struct unwind_arrays a;
	int err;

	if (!r->nparts)
		return -ENODATA;
	err = close_part(r);
	if (err)
		return err;
	counts.nparts = r->nparts;
	counts.nrules = r->rules.count;
	counts.nindex = r->nindex;
	counts.nrows = r->nrows;
	counts.nfdes = r->nfdes;
	counts.ngaps = r->ngaps;
	counts.jumped_to = r->jumped_to;
	t = unwind_table_new(&counts, &a);
	if (!t)
		return -ENOMEM;
	memcpy(a.rules, r->rules.items, r->rules.count * sizeof(*a.rules));
	memcpy(a.index, r->index, r->nindex * sizeof(*r->index));
	memcpy(a.rows, r->rows, r->nrows * sizeof(*r->rows));
	if (r->nfdes)
		memcpy(a.fdes, r->fdes, r->nfdes * sizeof(*r->fdes));
	if (r->ngaps)
		memcpy(a.gaps, r->gaps, r->ngaps * sizeof(*r->gaps));
	for (size_t i = 0; i < r->nparts; i++)
		a.parts[i] = (struct unwind_part){ .start = r->parts[i].start,
						   .npages = r->parts[i].npages,
						   .nrows = r->parts[i].nrows,
						   .index = a.index + r->parts[i].first_index,
						   .rows = a.rows + r->parts[i].first_row };
	t->stats = r->stats;
	*out = t;
	return 0;
}
