/* SPDX-License-Identifier: BSD-2-Clause */
/* How a grid lies in memory; for its writers. */
#ifndef REPORT_GRIDS_H
#define REPORT_GRIDS_H

#include <rawprof/grid.h>

#include "report/meta.h"
#include "report/intern.h"

/* Which member counts, the column says. */
struct cell {
	union {
		uint64_t number;
		double real;
		uint32_t text; /* a string of the grid; 0: not known */
	};
};

struct report_grid {
	struct report_meta meta;
	struct report_grid_spec spec; /* texts are owned */
	struct report_column columns[REPORT_GRID_MAX_COLUMNS];
	struct strings strings;
	struct cell *cells; /* rows one after the other */
	uint32_t rows, cap; /* cap: in cells */
	unsigned int by, top;
	bool reverse;
};

static inline const struct cell *grid_cell(const struct report_grid *g, uint32_t row, size_t column)
{
	return &g->cells[(size_t)row * g->spec.ncolumns + column];
}

static inline bool column_is_real(const struct report_column *c)
{
	return c->per_second || c->unit == REPORT_UNIT_PERCENT;
}

/* Names a row rather than measuring it. */
static inline bool column_is_label(const struct report_column *c)
{
	return c->unit == REPORT_UNIT_TEXT || (c->unit == REPORT_UNIT_ID && !c->per_second);
}

static inline const char *grid_text(const struct report_grid *g, uint32_t row, size_t column)
{
	return strings_get(&g->strings, grid_cell(g, row, column)->text);
}

/* The rows as they are to be shown, all of them; to be freed. NULL if memory ran out. */
uint32_t *grid_sorted(const struct report_grid *g);

/* How many of them the table shows. */
static inline uint32_t grid_shown(const struct report_grid *g)
{
	return g->top && g->top < g->rows ? g->top : g->rows;
}

#endif
