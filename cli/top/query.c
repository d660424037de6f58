/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of a window as they are shown: those that were asked for, added up, sorted. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

static unsigned int kept_keys(const struct top_query *q)
{
	const struct top_table_spec *spec = &top_tables[q->panel];

	return (q->pid ? spec->by_in_process : spec->by) & ~q->hidden;
}

bool top_column_shown(const struct top_query *q, unsigned int column)
{
	const struct top_table_spec *spec = &top_tables[q->panel];

	if (column >= spec->nkeys)
		return true;
	/* Of one process its number says nothing. */
	return kept_keys(q) >> column & 1 && !(q->pid && (int)column == spec->pid);
}

uint64_t top_value(enum top_panel panel, const struct top_row *row, unsigned int column)
{
	const struct top_column *c = &top_tables[panel].column[column];

	if (c->unit != TOP_MEAN)
		return row->cell[column].number;
	return row->cell[c->count].number ? row->cell[c->sum].number / row->cell[c->count].number
					  : 0;
}

/* ---- which */

static bool matches(const struct top_table_spec *spec, const struct top_row *row,
		    const char *filter)
{
	char number[24];

	for (unsigned int i = 0; i < spec->ncolumns; i++) {
		const union top_value *cell = &row->cell[i];

		if (top_is_text(spec->column[i].unit) && cell->text &&
		    strcasestr(cell->text, filter))
			return true;
		if (spec->column[i].unit != TOP_ID)
			continue;
		snprintf(number, sizeof(number), "%llu", (unsigned long long)cell->number);
		if (!strcmp(number, filter))
			return true;
	}
	return false;
}

static bool wanted(const struct top_query *q, const struct top_row *row)
{
	const struct top_table_spec *spec = &top_tables[q->panel];

	if (q->pid && spec->pid >= 0 && row->cell[spec->pid].number != q->pid)
		return false; /* tables of no process stay those of the machine */
	return !q->filter || !*q->filter || matches(spec, row, q->filter);
}

/* ---- added up */

void top_row_add(const struct top_table_spec *spec, struct top_row *to, const struct top_row *from)
{
	for (unsigned int i = spec->nkeys; i < spec->ncolumns; i++) {
		const struct top_column *c = &spec->column[i];
		union top_value *a = &to->cell[i];
		const union top_value *b = &from->cell[i];

		if (top_is_text(c->unit))
			a->text = a->text ? a->text : b->text;
		else if (c->greatest)
			a->number = a->number > b->number ? a->number : b->number;
		else
			a->number += b->number;
	}
}

static int add_row(const struct top_query *q, struct top_rows *rows, const struct top_row *row)
{
	const struct top_table_spec *spec = &top_tables[q->panel];
	struct top_row key = *row, *to;

	for (unsigned int i = 0; i < spec->nkeys; i++)
		if (!(kept_keys(q) >> i & 1))
			key.cell[i].number = 0;
	to = rp_hash_add(&rows->map, &key);
	if (!to)
		return -ENOMEM;
	top_row_add(spec, to, row);
	return 0;
}

/* ---- sorted */

static int compare_cells(const struct top_query *q, unsigned int column, const struct top_row *a,
			 const struct top_row *b)
{
	const struct top_table_spec *spec = &top_tables[q->panel];
	const char *x = a->cell[column].text, *y = b->cell[column].text;
	uint64_t m, n;

	if (top_is_text(spec->column[column].unit))
		return strcmp(x ? x : "", y ? y : "");
	m = top_value(q->panel, a, column);
	n = top_value(q->panel, b, column);
	/* Numbers of things in their order, figures from the greatest on. */
	if (spec->column[column].unit == TOP_ID)
		return m < n ? -1 : m > n;
	return m > n ? -1 : m < n;
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct top_query *q = ctx;
	int order = compare_cells(q, q->sort, a, b);

	if (q->reverse)
		order = -order;
	for (unsigned int i = 0; !order && i < top_tables[q->panel].ncolumns; i++)
		order = compare_cells(q, i, a, b);
	return order;
}

int top_query(const struct top_window *w, const struct top_query *q, struct top_rows *out)
{
	const struct hash_map *map = &w->rows[q->panel];
	const struct top_row *rows = map->items;
	int err = 0;

	*out = (struct top_rows){ .map = { .key_size = map->key_size, .size = map->size } };
	for (uint32_t i = 0; !err && i < map->count; i++)
		if (wanted(q, &rows[i]))
			err = add_row(q, out, &rows[i]);
	if (err) {
		top_rows_free(out);
		return err;
	}
	out->row = out->map.items;
	out->n = out->map.count;
	if (out->n)
		qsort_r(out->row, out->n, sizeof(*out->row), compare, (void *)(uintptr_t)q);
	return 0;
}

void top_rows_free(struct top_rows *rows)
{
	rp_hash_free(&rows->map);
	*rows = (struct top_rows){ 0 };
}
