/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A grid for a person: names to the left of their columns, figures to the right. What
 * does not fit on a terminal is taken from the widest text.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "grids.h"
#include "report/report.h"
#include "report/table/table.h"

enum { GAP = 2, MIN_TEXT = 8 };

struct grid_table {
	struct out out;
	const struct report_grid *g;
	struct report_options options;
	struct buf scratch, more;
	uint32_t *rows, shown;
	unsigned int width[REPORT_GRID_MAX_COLUMNS];
	unsigned int gap; /* spaces to be written in front of what comes next, if anything does */
	size_t more_at;	  /* the column that says how much is left out; ncolumns: behind the last */
};

static const struct report_column *column(const struct grid_table *t, size_t i)
{
	return &t->g->columns[i];
}

static void add_figure(struct buf *b, const struct report_column *c, const struct cell *cell)
{
	char s[NUMBER_SIZE];

	report_buf_puts(b, column_is_real(c) ? report_text_real(cell->real, c->unit, s)
					     : report_text_figure(cell->number, c->unit, s));
	if (c->per_second)
		report_buf_puts(b, "/s");
}

/* The figures that were left out, summed. */
static struct cell rest(const struct grid_table *t, size_t i)
{
	struct cell sum = { 0 };

	for (uint32_t k = t->shown; k < t->g->rows; k++) {
		const struct cell *cell = grid_cell(t->g, t->rows[k], i);

		if (column_is_real(column(t, i)))
			sum.real += cell->real;
		else
			sum.number = add_saturating(sum.number, cell->number);
	}
	return sum;
}

/* Row `shown` is the one for the rest. */
static void add_cell(struct grid_table *t, uint32_t row, size_t i)
{
	const struct report_column *c = column(t, i);
	struct buf *b = &t->scratch;

	report_buf_reset(b);
	if (row == t->shown) {
		struct cell sum = rest(t, i);

		if (i == t->more_at)
			report_buf_puts(b, t->more.s);
		else if (c->adds && c->unit != REPORT_UNIT_TEXT)
			add_figure(b, c, &sum);
	} else if (c->unit == REPORT_UNIT_TEXT) {
		const char *s = grid_text(t->g, t->rows[row], i);

		report_buf_clean(b, s ? s : "-", 0, 0);
	} else {
		add_figure(b, c, grid_cell(t->g, t->rows[row], i));
	}
}

static bool has_rest(const struct grid_table *t)
{
	return t->shown < t->g->rows;
}

static void say_rest(struct grid_table *t)
{
	const struct report_grid *g = t->g;
	char s[NUMBER_SIZE];

	if (has_rest(t)) {
		report_buf_printf(&t->more, "in %s more ",
				  report_text_number(g->rows - t->shown, s));
		report_buf_clean(&t->more, g->spec.rows, 0, 0);
	}
	for (size_t i = g->spec.ncolumns; i--;)
		if (column(t, i)->unit == REPORT_UNIT_TEXT)
			t->more_at = i;
}

static void measure(struct grid_table *t)
{
	const struct report_grid *g = t->g;
	unsigned int sum = 0;

	for (size_t i = 0; i < g->spec.ncolumns; i++) {
		const struct report_column *c = column(t, i);
		unsigned int width = report_text_columns(c->title);

		for (uint32_t row = 0; row < t->shown + has_rest(t) && !t->scratch.err; row++) {
			unsigned int n;

			add_cell(t, row, i);
			n = t->scratch.err ? 0 : report_text_columns(t->scratch.s);
			width = n > width ? n : width;
		}
		if (c->unit == REPORT_UNIT_TEXT && c->width && width > c->width)
			width = c->width;
		t->width[i] = width;
		sum += width + GAP;
	}
	while (t->options.width && sum > t->options.width + GAP) {
		size_t widest = g->spec.ncolumns;

		for (size_t i = 0; i < g->spec.ncolumns; i++)
			if (column(t, i)->unit == REPORT_UNIT_TEXT && t->width[i] > MIN_TEXT &&
			    (widest == g->spec.ncolumns || t->width[i] > t->width[widest]))
				widest = i;
		if (widest == g->spec.ncolumns)
			break;
		t->width[widest]--;
		sum--;
	}
}

/* s is printable. */
static void put_padded(struct grid_table *t, size_t i, const char *s)
{
	unsigned int columns = report_text_columns(s);
	unsigned int pad = columns < t->width[i] ? t->width[i] - columns : 0;
	bool left = column(t, i)->unit == REPORT_UNIT_TEXT;

	if (i)
		t->gap += GAP;
	if (!left)
		t->gap += pad;
	if (*s) {
		report_out_fill(&t->out, ' ', t->gap);
		report_out_puts(&t->out, s);
		t->gap = 0;
	}
	if (left)
		t->gap += pad;
}

static void end_line(struct grid_table *t, bool styled)
{
	report_out_printf(&t->out, "%s\n", styled ? color_code(&t->options, TABLE_RESET) : "");
	t->gap = 0;
}

static void put_titles(struct grid_table *t)
{
	struct buf *b = &t->scratch;

	report_out_printf(&t->out, "\n%s", color_code(&t->options, TABLE_BOLD));
	for (size_t i = 0; i < t->g->spec.ncolumns; i++) {
		report_buf_reset(b);
		report_buf_elide(b, column(t, i)->title, t->width[i],
				 t->options.utf8 ? "…" : "...");
		put_padded(t, i, b->err ? "" : b->s);
	}
	end_line(t, true);
}

static void put_row(struct grid_table *t, uint32_t row)
{
	struct buf cut = { 0 };

	for (size_t i = 0; i < t->g->spec.ncolumns && !t->scratch.err && !cut.err; i++) {
		add_cell(t, row, i);
		report_buf_reset(&cut);
		if (!t->scratch.err)
			report_buf_elide(&cut, t->scratch.s, t->width[i],
					 t->options.utf8 ? "…" : "...");
		put_padded(t, i, cut.err || t->scratch.err ? "" : cut.s);
	}
	if (row == t->shown && t->more_at == t->g->spec.ncolumns) {
		report_out_fill(&t->out, ' ', t->gap + GAP);
		report_out_puts(&t->out, t->more.s);
	}
	end_line(t, row == t->shown);
	if (cut.err)
		t->scratch.err = cut.err;
	report_buf_free(&cut);
}

static void put_rows(struct grid_table *t)
{
	put_titles(t);
	for (uint32_t row = 0; row < t->shown; row++)
		put_row(t, row);
	if (!has_rest(t))
		return;
	report_out_puts(&t->out, color_code(&t->options, TABLE_DIM));
	put_row(t, t->shown);
}

int report_grid_write_table(const struct report_grid *g, FILE *file,
			    const struct report_options *options)
{
	struct grid_table t = { .out = { .file = file },
				.g = g,
				.options = options ? *options : (struct report_options){ 0 },
				.shown = grid_shown(g),
				.rows = grid_sorted(g),
				.more_at = g->spec.ncolumns };
	int err;

	if (!t.rows)
		return -ENOMEM;
	report_table_head(&t.out, &t.options, &g->meta, g->spec.title, g->rows, g->spec.rows);
	say_rest(&t);
	if (t.more.err)
		t.scratch.err = t.more.err;
	measure(&t);
	if (!g->rows)
		report_table_nothing(&t.out, g->spec.events);
	else if (!t.scratch.err)
		put_rows(&t);
	if (t.options.part)
		report_out_putc(&t.out, '\n');
	else
		report_meta_print(&t.out, &g->meta, g->spec.events);
	err = t.scratch.err;
	report_buf_free(&t.scratch);
	report_buf_free(&t.more);
	free(t.rows);
	return err ? err : report_out_end(&t.out);
}
