/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows and columns of figures, for tops ("by process", "by lock"), and every shape they
 * leave in.
 *
 *	report_grid_new()	says which columns there are,
 *	report_grid_add()	adds rows,
 *	report_grid_sort()	by a column, so many rows,
 *	report_grid_set_*()	say what was recorded and close the ledger, as for a profile,
 *	report_grid_write_*()	write it; struct report_format knows which by name.
 *
 * The rules of report.h hold: 0 or a negative errno, -ENOMEM always may be one, texts are copied,
 * any byte is allowed in them, equal rows give byte-identical output.
 */
#ifndef RAWPROF_GRID_H
#define RAWPROF_GRID_H

#include <rawprof/hist.h>

#define REPORT_GRID_MAX_COLUMNS 24

struct report_column {
	const char *title; /* as it is shown: "BYTES" */
	const char *key;   /* for --sort, JSON and Prometheus: [A-Za-z_][A-Za-z0-9_]* */
	enum report_unit unit;
	bool per_second; /* the cells are real: a rate, shown with "/s" */
	bool adds;	 /* what is left out is shown as a sum: counts are, percentiles are not */
	/* Text: at most so many columns of the terminal, 0: as wide as it gets. When a line is too
	 * long for the terminal, the widest text gives way. */
	unsigned int width;
};

/* A cell is what its column says: text for REPORT_UNIT_TEXT, real for REPORT_UNIT_PERCENT and with
 * per_second, number for all others. */
struct report_cell {
	const char *text; /* NULL: not known, shown as "-"; in the other formats left out */
	uint64_t number;
	double real;
};

struct report_grid_spec {
	const char *title;  /* "block requests by process" */
	const char *metric; /* Prometheus: "io_top"; a gauge is rawprof_io_top_<key>_<unit> */
	const char *events; /* what the ledger counts: "requests" */
	const char *rows;   /* "processes", for "in 12 more processes"; NULL: "rows" */
	const struct report_column *columns;
	size_t ncolumns;
};

/* -EINVAL: no columns or too many, a key or the metric is no identifier, or a key occurs twice. */
int report_grid_new(const struct report_grid_spec *spec, struct report_grid **out);
void report_grid_free(struct report_grid *g); /* NULL is fine */

/* A row: a cell for each column. */
int report_grid_add(struct report_grid *g, const struct report_cell *cells);
size_t report_grid_rows(const struct report_grid *g);

/* Its columns; they stay the grid's. */
const struct report_column *report_grid_columns(const struct report_grid *g, size_t *n);
/* The column with this key; -ENOENT. */
int report_grid_column(const struct report_grid *g, const char *key);

/*
 * How rows are shown: by this column, figures the largest first, texts and ids the smallest first,
 * or the other way round; ties by the other columns from the left. At most top rows, 0: all; the
 * rest is said in one line, with its sums. Default: column 0, all. -EINVAL: no such column.
 */
int report_grid_sort(struct report_grid *g, unsigned int column, bool reverse, unsigned int top);

/* Drops all rows, for the next interval. */
void report_grid_clear(struct report_grid *g);

int report_grid_set_info(struct report_grid *g, const struct report_info *info);
int report_grid_set_ledger(struct report_grid *g, const struct report_ledger *ledger);
void report_grid_set_cost(struct report_grid *g, const struct report_cost *cost);

/*
 * The writers; as those of a profile they write one whole document and flush. Of the options count
 * width, utf8, color and part. JSON is one line with all rows, its shape is in report/grid/json.c.
 * Prometheus has a gauge for each column of figures, the texts and ids being its labels, by which
 * rows must differ, for all rows that the table would show.
 */
report_grid_writer report_grid_write_table;
report_grid_writer report_grid_write_json;
report_grid_writer report_grid_write_prometheus;

#endif
