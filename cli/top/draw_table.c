/* SPDX-License-Identifier: BSD-2-Clause */
/* A table in a rectangle: the columns that fit, the rows around the one that is selected. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "view.h"

/* ---- figures */

static void with_unit(char *text, double value, const char *const *units, double step)
{
	while (value >= step && units[1]) {
		value /= step;
		units++;
	}
	if (value <= 0)
		snprintf(text, TOP_NUMBER, "0");
	else if (value >= 99.95 || (value < 10 && value == (double)(uint64_t)value && !**units))
		snprintf(text, TOP_NUMBER, "%.0f%s", value, *units);
	else
		snprintf(text, TOP_NUMBER, "%.*f%s", value < 9.995 ? 2 : 1, value, *units);
}

void top_number(char text[TOP_NUMBER], enum top_unit unit, uint64_t value, uint64_t ns)
{
	static const char *const times[] = { "ns", "us", "ms", "s", NULL },
				 *const bytes[] = { "B", "K", "M", "G", "T", NULL },
				 *const counts[] = { "", "k", "M", "G", "T", NULL };
	const double seconds = ns ? (double)ns / NS_PER_SECOND : 1;

	switch (unit) {
	case TOP_CPU:
		snprintf(text, TOP_NUMBER, "%.1f%%", ns ? 100.0 * (double)value / (double)ns : 0);
		break;
	case TOP_COUNT:
		with_unit(text, (double)value / seconds, counts, 1000);
		break;
	case TOP_BYTES:
		with_unit(text, (double)value / seconds, bytes, 1024);
		break;
	case TOP_NS:
	case TOP_MEAN:
		with_unit(text, (double)value, times, 1000);
		break;
	case TOP_TOTAL:
		with_unit(text, (double)value, counts, 1000);
		break;
	default:
		snprintf(text, TOP_NUMBER, "%" PRIu64, value);
	}
}

/* ---- columns */

struct layout {
	unsigned int width[TOP_COLUMNS]; /* 0: not shown */
};

static unsigned int needed(const struct top_query *q, unsigned int order, unsigned int *texts)
{
	const struct top_table_spec *spec = &top_tables[q->panel];
	unsigned int sum = 0;

	*texts = 0;
	for (unsigned int i = 0; i < spec->ncolumns; i++) {
		if (!top_column_shown(q, i) || spec->column[i].order > order)
			continue;
		sum += spec->column[i].width + 1u;
		*texts += top_is_text(spec->column[i].unit);
	}
	return sum ? sum - 1 : 0;
}

#define LAST_ORDER 5
#define WIDEST_TEXT 48

/* As many columns as fit; texts share what is left. */
static void lay_out(const struct top_query *q, unsigned int columns, struct layout *l)
{
	const struct top_table_spec *spec = &top_tables[q->panel];
	unsigned int order = LAST_ORDER, texts, sum = needed(q, order, &texts), spare;

	while (order && sum > columns)
		sum = needed(q, --order, &texts);
	spare = columns > sum ? columns - sum : 0;
	for (unsigned int i = 0; i < spec->ncolumns; i++) {
		const struct top_column *c = &spec->column[i];
		unsigned int more;

		l->width[i] = 0;
		if (!top_column_shown(q, i) || c->order > order)
			continue;
		l->width[i] = c->width;
		if (!top_is_text(c->unit) || !texts)
			continue;
		more = spare / texts--;
		if (c->width + more > WIDEST_TEXT)
			more = WIDEST_TEXT > c->width ? WIDEST_TEXT - c->width : 0;
		l->width[i] += more;
		spare -= more;
	}
}

/* Rows that differ only in what there is no room for would look like the same one twice. */
static unsigned int hidden_columns(const struct top_query *q, const struct layout *l)
{
	unsigned int bits = 0;

	for (unsigned int i = 0; i < top_tables[q->panel].ncolumns; i++)
		bits |= l->width[i] ? 0 : 1u << i;
	return bits;
}

/* ---- drawing */

static void draw_cell(struct top_screen *s, unsigned int row, unsigned int column,
		      unsigned int width, bool is_text, unsigned int style, const char *text)
{
	size_t n = strlen(text);

	if (!is_text && n < width)
		column += width - (unsigned int)n;
	top_screen_text(s, row, column, width, style, text);
}

/* Which part of the time was measured, in the head of the first text that has room for it. */
static bool draw_part(const struct top_window *w, const struct top_query *q, unsigned int column,
		      unsigned int width, const char *title, struct top_screen *s, unsigned int row)
{
	const uint64_t measured = w->measured_ns[q->panel];
	const size_t n = strlen(title);
	char text[16];

	if (!measured || measured > w->ns / 100 * 95)
		return true;
	snprintf(text, sizeof(text), "~%.*f%%", measured < w->ns / 10 ? 1 : 0,
		 100.0 * (double)measured / (double)w->ns);
	if (n + 1 + strlen(text) > width)
		return false;
	top_screen_text(s, row, column + (unsigned int)n + 1, width, TOP_UNDERLINE | TOP_YELLOW,
			text);
	return true;
}

static void draw_head(const struct top_window *w, const struct top_query *q, const struct layout *l,
		      const struct top_rect *at, struct top_screen *s)
{
	const struct top_table_spec *spec = &top_tables[q->panel];
	unsigned int column = at->column;
	bool said = false;

	top_screen_style(s, at->row, at->column, at->columns, TOP_UNDERLINE);
	for (unsigned int i = 0; i < spec->ncolumns; i++) {
		const struct top_column *c = &spec->column[i];
		const unsigned int style =
			i == q->sort ? TOP_UNDERLINE | TOP_BOLD : TOP_UNDERLINE | TOP_CYAN;

		if (!l->width[i] || column >= at->column + at->columns)
			continue;
		draw_cell(s, at->row, column, l->width[i], top_is_text(c->unit), style, c->title);
		if (top_is_text(c->unit) && !said)
			said = draw_part(w, q, column, l->width[i], c->title, s, at->row);
		column += l->width[i] + 1;
	}
}

static void draw_row(const struct top_window *w, const struct top_query *q, const struct layout *l,
		     const struct top_row *row, const struct top_rect *at, struct top_screen *s)
{
	const struct top_table_spec *spec = &top_tables[q->panel];
	unsigned int column = at->column;

	for (unsigned int i = 0; i < spec->ncolumns; i++) {
		const struct top_column *c = &spec->column[i];
		const char *text = top_is_text(c->unit) ? row->cell[i].text : NULL;
		unsigned int left = at->column + at->columns - column;
		char number[TOP_NUMBER];

		if (!l->width[i] || column >= at->column + at->columns)
			continue;
		if (!top_is_text(c->unit))
			top_number(number, c->unit, top_value(q->panel, row, i), w->ns);
		draw_cell(s, at->row, column, l->width[i] < left ? l->width[i] : left,
			  top_is_text(c->unit), TOP_PLAIN,
			  !top_is_text(c->unit) ? number
			  : text		? text
						: "");
		column += l->width[i] + 1;
	}
}

static void draw_nothing(const struct top_window *w, const struct top_query *q,
			 const struct top_rect *at, struct top_screen *s)
{
	const char *state = w->state[q->panel];

	if (at->rows < 2)
		return;
	if (w->running[q->panel])
		top_screen_text(s, at->row + 1, at->column, at->columns, TOP_PLAIN,
				q->filter && *q->filter ? "(nothing that the filter wants)"
							: "(nothing)");
	else
		top_screen_print(s, at->row + 1, at->column, at->columns, TOP_YELLOW, "%s",
				 state ? state : "not asked for");
}

void top_draw_table(const struct top_window *w, const struct top_query *q, size_t selected,
		    const struct top_rect *at, struct top_screen *s)
{
	struct layout l;
	struct top_query shown = *q;
	struct top_rows rows;
	size_t first = 0;

	if (!at->rows || !at->columns)
		return;
	lay_out(q, at->columns, &l);
	draw_head(w, q, &l, at, s);
	if (selected == SIZE_MAX)
		shown.hidden = hidden_columns(q, &l);
	if (top_query(w, &shown, &rows))
		return;
	if (!rows.n)
		draw_nothing(w, q, at, s);
	if (selected != SIZE_MAX && rows.n && selected >= rows.n)
		selected = rows.n - 1;
	if (selected != SIZE_MAX && selected >= at->rows - 1)
		first = selected - (at->rows - 2);
	for (unsigned int i = 1; i < at->rows && first + i - 1 < rows.n; i++) {
		const struct top_rect line = { at->row + i, at->column, 1, at->columns };

		draw_row(w, q, &l, &rows.row[first + i - 1], &line, s);
		if (first + i - 1 == selected)
			for (unsigned int c = 0; c < at->columns; c++)
				top_screen_style(s, line.row, at->column + c, 1, TOP_REVERSE);
	}
	top_rows_free(&rows);
}
