/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows and columns of figures in memory, and their order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "grids.h"
#include "report/prometheus.h"

static bool spec_makes_sense(const struct report_grid_spec *spec)
{
	if (!spec->title || !spec->events || !spec->metric || !report_prometheus_name(spec->metric))
		return false;
	if (!spec->ncolumns || spec->ncolumns > REPORT_GRID_MAX_COLUMNS)
		return false;
	for (size_t i = 0; i < spec->ncolumns; i++) {
		const struct report_column *c = &spec->columns[i];

		if (!c->title || !c->key || !report_prometheus_name(c->key) ||
		    (unsigned int)c->unit > REPORT_UNIT_TEXT)
			return false;
		for (size_t k = 0; k < i; k++)
			if (!strcmp(c->key, spec->columns[k].key))
				return false;
	}
	return true;
}

/* Texts that could not be copied stay NULL. */
static int copy_spec(struct report_grid *g, const struct report_grid_spec *spec)
{
	struct report_grid_spec *own = &g->spec;
	bool whole;

	*own = *spec;
	own->title = strdup(spec->title);
	own->metric = strdup(spec->metric);
	own->events = strdup(spec->events);
	own->rows = strdup(spec->rows ? spec->rows : "rows");
	own->columns = g->columns;
	whole = own->title && own->metric && own->events && own->rows;
	for (size_t i = 0; i < spec->ncolumns; i++) {
		g->columns[i] = spec->columns[i];
		g->columns[i].title = strdup(spec->columns[i].title);
		g->columns[i].key = strdup(spec->columns[i].key);
		whole = whole && g->columns[i].title && g->columns[i].key;
	}
	return whole ? 0 : -ENOMEM;
}

int report_grid_new(const struct report_grid_spec *spec, struct report_grid **out)
{
	struct report_grid *g;
	int err;

	if (!spec_makes_sense(spec))
		return -EINVAL;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	err = copy_spec(g, spec);
	if (!err)
		err = report_strings_init(&g->strings);
	if (err)
		report_grid_free(g);
	else
		*out = g;
	return err;
}

void report_grid_free(struct report_grid *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < REPORT_GRID_MAX_COLUMNS; i++) {
		free((char *)g->columns[i].title);
		free((char *)g->columns[i].key);
	}
	free((char *)g->spec.title);
	free((char *)g->spec.metric);
	free((char *)g->spec.events);
	free((char *)g->spec.rows);
	report_strings_free(&g->strings);
	report_meta_free(&g->meta);
	free(g->cells);
	free(g);
}

int report_grid_add(struct report_grid *g, const struct report_cell *cells)
{
	size_t n = g->spec.ncolumns;
	struct cell *row;
	int err = RP_GROW_TO(g->cells, ((size_t)g->rows + 1) * n, g->cap);

	if (err)
		return err;
	row = &g->cells[(size_t)g->rows * n];
	for (size_t i = 0; i < n && !err; i++) {
		row[i] = (struct cell){ 0 };
		if (g->columns[i].unit == REPORT_UNIT_TEXT)
			err = report_strings_add(&g->strings, cells[i].text, &row[i].text);
		else if (column_is_real(&g->columns[i]))
			row[i].real = cells[i].real;
		else
			row[i].number = cells[i].number;
	}
	if (!err)
		g->rows++;
	return err;
}

size_t report_grid_rows(const struct report_grid *g)
{
	return g->rows;
}

const struct report_column *report_grid_columns(const struct report_grid *g, size_t *n)
{
	*n = g->spec.ncolumns;
	return g->columns;
}

int report_grid_column(const struct report_grid *g, const char *key)
{
	for (size_t i = 0; i < g->spec.ncolumns; i++)
		if (!strcmp(g->columns[i].key, key))
			return (int)i;
	return -ENOENT;
}

int report_grid_sort(struct report_grid *g, unsigned int column, bool reverse, unsigned int top)
{
	if (column >= g->spec.ncolumns)
		return -EINVAL;
	g->by = column;
	g->reverse = reverse;
	g->top = top;
	return 0;
}

void report_grid_clear(struct report_grid *g)
{
	g->rows = 0;
}

/* What is no number comes last, so that it does not upset the order of the others. */
static int compare_real(double x, double y)
{
	if (x != x || y != y)
		return (x != x) - (y != y);
	return x > y ? -1 : x < y;
}

/* Negative if row a comes first: figures the largest first, names the smallest. */
static int compare(const struct report_grid *g, uint32_t a, uint32_t b, size_t column)
{
	const struct report_column *c = &g->columns[column];
	const struct cell *x = grid_cell(g, a, column), *y = grid_cell(g, b, column);

	if (c->unit == REPORT_UNIT_TEXT) {
		if (!x->text || !y->text)
			return !x->text - !y->text;
		return strverscmp(grid_text(g, a, column), grid_text(g, b, column));
	}
	if (column_is_real(c))
		return compare_real(x->real, y->real);
	if (x->number == y->number)
		return 0;
	return (x->number > y->number) == (c->unit != REPORT_UNIT_ID) ? -1 : 1;
}

static int by_column(const void *a, const void *b, void *arg)
{
	const struct report_grid *g = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = compare(g, x, y, g->by);

	if (g->reverse)
		order = -order;
	for (size_t i = 0; i < g->spec.ncolumns && !order; i++)
		order = compare(g, x, y, i);
	return order;
}

uint32_t *grid_sorted(const struct report_grid *g)
{
	uint32_t *sorted = malloc(((size_t)g->rows + 1) * sizeof(*sorted));

	if (!sorted)
		return NULL;
	for (uint32_t i = 0; i < g->rows; i++)
		sorted[i] = i;
	qsort_r(sorted, g->rows, sizeof(*sorted), by_column, (void *)g);
	return sorted;
}

int report_grid_set_info(struct report_grid *g, const struct report_info *info)
{
	return report_meta_set_info(&g->meta, info);
}

int report_grid_set_ledger(struct report_grid *g, const struct report_ledger *ledger)
{
	return report_meta_set_ledger(&g->meta, ledger);
}

void report_grid_set_cost(struct report_grid *g, const struct report_cost *cost)
{
	report_meta_set_cost(&g->meta, cost);
}
