/* SPDX-License-Identifier: BSD-2-Clause */
/* Histograms and grids as sections of a saved file, to and fro. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/grid/grids.h"
#include "report/hist/hists.h"
#include "saved.h"

/* ---- histograms */

static void put_hist(struct buf *b, const struct report_hist *h)
{
	unsigned int n = report_hist_slots(h->bits), used = 0, before = 0;

	report_proto_add_varint(b, h->open);
	report_proto_add_varint(b, h->sum);
	report_proto_add_varint(b, h->least);
	report_proto_add_varint(b, h->greatest);
	for (unsigned int i = 0; i < n; i++)
		used += h->slots[i] != 0;
	report_proto_add_varint(b, used);
	for (unsigned int i = 0; i < n; i++) {
		if (!h->slots[i])
			continue;
		report_proto_add_varint(b, i - before);
		report_proto_add_varint(b, h->slots[i]);
		before = i;
	}
}

int report_saved_put_hists(struct saved_document *d, const struct report_hists *set)
{
	struct buf *b = report_saved_section(d, SAVED_HIST);
	const struct report_hists_spec *spec = &set->spec;
	uint32_t n, *sorted = report_hists_sorted(set, &n);

	if (!sorted)
		return -ENOMEM;
	report_saved_put_meta(d, &set->meta);
	report_put_text(b, spec->title);
	report_put_text(b, spec->metric);
	report_put_text(b, spec->events);
	report_proto_add_varint(b, (uint64_t)spec->unit);
	report_proto_add_varint(b, spec->bits);
	report_proto_add_varint(b, spec->nkeys);
	for (size_t i = 0; i < spec->nkeys; i++)
		report_put_text(b, spec->keys[i]);
	report_proto_add_varint(b, n);
	for (uint32_t i = 0; i < n; i++) {
		for (size_t key = 0; key < spec->nkeys; key++)
			report_put_text(b, hists_label(set, sorted[i], key));
		put_hist(b, set->hists[sorted[i]]);
	}
	free(sorted);
	return 0;
}

/* The slots first: they make the count, and what is said beside stays as it is. */
static void get_hist(struct saved_input *in, struct report_hist *h)
{
	const unsigned int slots = report_hist_slots(h->bits);
	uint32_t open = report_get_below(in, 1ull << 32), used, slot = 0;
	uint64_t sum = report_get_number(in), least = report_get_number(in);
	uint64_t greatest = report_get_number(in);

	used = report_get_below(in, slots + 1);
	in->bad = in->bad || !used;
	for (uint32_t i = 0; i < used && !in->bad; i++) {
		uint32_t step = report_get_below(in, slots - slot);
		uint64_t count = report_get_number(in);

		slot += step;
		in->bad = in->bad || !count || (i && !step) || report_hist_add_slot(h, slot, count);
	}
	h->open = open;
	h->sum = sum;
	h->least = least;
	h->greatest = greatest;
}

static int get_hists(struct saved_input *in, struct report_hists *set, uint64_t *room)
{
	/* An empty one has many slots too. */
	const uint64_t each = report_hist_slots(set->spec.bits) * sizeof(uint64_t);
	uint32_t n = report_get_below(in, *room / each + 1);
	int err = 0;

	*room -= n * each;
	set->most = UINT32_MAX; /* but for the room, as many as there are */

	for (uint32_t i = 0; i < n && !err && !in->bad; i++) {
		const char *labels[REPORT_HISTS_MAX_KEYS];
		struct report_hist *h;

		for (size_t key = 0; key < set->spec.nkeys; key++) {
			labels[key] = report_get_text(in);
			in->bad = in->bad || !labels[key];
		}
		if (in->bad)
			break;
		err = report_hists_get(set, labels, &h);
		if (!err && set->tuples.count != i + 1) /* twice the same labels */
			in->bad = true;
		else if (!err)
			get_hist(in, h);
	}
	return err ? err : in->bad || in->at != in->end ? -EINVAL : 0;
}

int report_saved_get_hists(struct saved_input *in, struct report_meta *meta, uint64_t *room,
			   struct report_hists **out)
{
	const char *keys[REPORT_HISTS_MAX_KEYS];
	struct report_hists_spec spec = { .keys = keys };
	struct report_hists *set;
	int err;

	spec.title = report_get_text(in);
	spec.metric = report_get_text(in);
	spec.events = report_get_text(in);
	spec.unit = (enum report_unit)report_get_below(in, REPORT_UNIT_BYTES + 1);
	spec.bits = report_get_below(in, REPORT_HIST_MAX_BITS + 1);
	spec.nkeys = report_get_below(in, REPORT_HISTS_MAX_KEYS + 1);
	for (size_t i = 0; i < spec.nkeys; i++)
		keys[i] = report_get_text(in);
	err = in->bad ? -EINVAL : report_hists_new(&spec, &set);
	if (err) {
		report_meta_free(meta);
		return err;
	}
	set->meta = *meta;
	err = get_hists(in, set, room);
	if (err)
		report_hists_free(set);
	else
		*out = set;
	return err;
}

/* ---- a grid */

enum { PER_SECOND = 1, ADDS = 2, COLUMN_FLAGS = 4 };

static void put_cell(struct buf *b, const struct report_grid *g, uint32_t row, size_t column)
{
	const struct report_column *c = &g->columns[column];

	if (c->unit == REPORT_UNIT_TEXT)
		report_put_text(b, grid_text(g, row, column));
	else if (column_is_real(c))
		report_put_double(b, grid_cell(g, row, column)->real);
	else
		report_proto_add_varint(b, grid_cell(g, row, column)->number);
}

int report_saved_put_grid(struct saved_document *d, const struct report_grid *g)
{
	struct buf *b = report_saved_section(d, SAVED_GRID);
	uint32_t *sorted = grid_sorted(g);

	if (!sorted)
		return -ENOMEM;
	report_saved_put_meta(d, &g->meta);
	report_put_text(b, g->spec.title);
	report_put_text(b, g->spec.metric);
	report_put_text(b, g->spec.events);
	report_put_text(b, g->spec.rows);
	report_proto_add_varint(b, g->spec.ncolumns);
	for (size_t i = 0; i < g->spec.ncolumns; i++) {
		const struct report_column *c = &g->columns[i];

		report_put_text(b, c->title);
		report_put_text(b, c->key);
		report_proto_add_varint(b, (uint64_t)c->unit);
		report_proto_add_varint(b, (c->per_second ? PER_SECOND : 0) | (c->adds ? ADDS : 0));
		report_proto_add_varint(b, c->width);
	}
	report_proto_add_varint(b, g->by);
	report_proto_add_varint(b, g->reverse);
	report_proto_add_varint(b, g->top);
	report_proto_add_varint(b, g->rows);
	for (uint32_t i = 0; i < g->rows; i++)
		for (size_t c = 0; c < g->spec.ncolumns; c++)
			put_cell(b, g, sorted[i], c);
	free(sorted);
	return 0;
}

static struct report_column get_column(struct saved_input *in)
{
	struct report_column c = { 0 };
	uint32_t flags;

	c.title = report_get_text(in);
	c.key = report_get_text(in);
	c.unit = (enum report_unit)report_get_below(in, REPORT_UNIT_TEXT + 1);
	flags = report_get_below(in, COLUMN_FLAGS);
	c.per_second = flags & PER_SECOND;
	c.adds = flags & ADDS;
	c.width = report_get_below(in, 1ull << 32);
	return c;
}

static int get_rows(struct saved_input *in, struct report_grid *g, uint64_t *room)
{
	/* Of a row, and of its place in the order. */
	const uint64_t each = g->spec.ncolumns * sizeof(struct report_cell) + sizeof(void *);
	struct report_cell cells[REPORT_GRID_MAX_COLUMNS];
	uint32_t by = report_get_below(in, g->spec.ncolumns), n;
	bool reverse = report_get_flag(in);
	uint32_t top = report_get_below(in, 1ull << 32);
	int err = in->bad ? -EINVAL : report_grid_sort(g, by, reverse, top);

	n = report_get_below(in, *room / each + 1);
	*room -= n * each;
	for (uint32_t i = 0; i < n && !err; i++) {
		for (size_t c = 0; c < g->spec.ncolumns; c++) {
			cells[c] = (struct report_cell){ 0 };
			if (g->columns[c].unit == REPORT_UNIT_TEXT)
				cells[c].text = report_get_text(in);
			else if (column_is_real(&g->columns[c]))
				cells[c].real = report_get_double(in);
			else
				cells[c].number = report_get_number(in);
		}
		err = in->bad ? -EINVAL : report_grid_add(g, cells);
	}
	return err ? err : in->bad || in->at != in->end ? -EINVAL : 0;
}

int report_saved_get_grid(struct saved_input *in, struct report_meta *meta, uint64_t *room,
			  struct report_grid **out)
{
	struct report_column columns[REPORT_GRID_MAX_COLUMNS];
	struct report_grid_spec spec = { .columns = columns };
	struct report_grid *g;
	int err;

	spec.title = report_get_text(in);
	spec.metric = report_get_text(in);
	spec.events = report_get_text(in);
	spec.rows = report_get_text(in);
	spec.ncolumns = report_get_below(in, REPORT_GRID_MAX_COLUMNS + 1);
	for (size_t i = 0; i < spec.ncolumns; i++)
		columns[i] = get_column(in);
	err = in->bad ? -EINVAL : report_grid_new(&spec, &g);
	if (err) {
		report_meta_free(meta);
		return err;
	}
	g->meta = *meta;
	err = get_rows(in, g, room);
	if (err)
		report_grid_free(g);
	else
		*out = g;
	return err;
}
