/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of processes: rows added up from stacks, once or as a series. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "processes.h"
#include "cli/views.h"

struct rows {
	struct mem_row *row;
	size_t n;
};

static int by_process(const void *a, const void *b)
{
	const struct mem_row *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return strcmp(x->comm, y->comm);
}

/* One for each process and name of it: threads have names of their own, an exec changes them. */
static void merge_rows(struct rows *rows)
{
	size_t n = 0;

	if (rows->n)
		qsort(rows->row, rows->n, sizeof(*rows->row), by_process);
	for (size_t i = 0; i < rows->n; i++) {
		if (n && !by_process(&rows->row[n - 1], &rows->row[i]))
			for (int v = 0; v < STACK_VALUES; v++)
				rows->row[n - 1].value[v] += rows->row[i].value[v];
		else
			rows->row[n++] = rows->row[i];
	}
	rows->n = n;
}

static int collect_rows(struct recording *rec, const struct mem_processes *view, struct rows *rows)
{
	const struct stack *stack = NULL;
	int taken = 0;

	rows->row = calloc(record_stacks_count(rec->stacks) + 1, sizeof(*rows->row));
	if (!rows->row)
		return -ENOMEM;
	while (taken >= 0 && (stack = record_stacks_next(rec->stacks, stack))) {
		const struct stack_record *r = stack->record;
		struct mem_row *row = &rows->row[rows->n];

		*row = (struct mem_row){ .pid = (uint32_t)(r->pid_tgid >> 32), .comm = r->comm };
		taken = view->take(rec, stack, row);
		rows->n += taken > 0;
	}
	merge_rows(rows);
	return taken < 0 ? taken : 0;
}

enum { PID, COMM, ALLOCS, BYTES, RATE, LIVE, LIVE_BYTES, COLUMNS };

/* Rows count from the beginning; a series shows what has been added since its last part. */
static bool since_last(const struct mem_series *series, struct mem_row *row)
{
	const struct mem_row *last =
		series->n ? bsearch(row, series->row, series->n, sizeof(*row), by_process) : NULL;

	for (int v = MEM_ROW_ALLOCS; last && v <= MEM_ROW_BYTES; v++)
		row->value[v] -= last->value[v];
	return row->value[MEM_ROW_ALLOCS] || row->value[MEM_ROW_LIVE];
}

static int add_cells(struct report_grid *g, const struct mem_row *row, double seconds)
{
	const struct report_cell cells[COLUMNS] = {
		[PID] = { .number = row->pid },
		[COMM] = { .text = row->comm },
		[ALLOCS] = { .number = row->value[MEM_ROW_ALLOCS] },
		[BYTES] = { .number = row->value[MEM_ROW_BYTES] },
		[RATE] = { .real = seconds > 0 ? (double)row->value[MEM_ROW_BYTES] / seconds : 0 },
		[LIVE] = { .number = row->value[MEM_ROW_LIVE] },
		[LIVE_BYTES] = { .number = row->value[MEM_ROW_LIVE_BYTES] },
	};

	return report_grid_add(g, cells);
}

static int fill_grid(struct recording *rec, const struct mem_processes *view,
		     struct mem_series *series, uint64_t ns, struct report_grid *g)
{
	double seconds = (double)ns / NS_PER_SECOND;
	struct rows rows = { 0 };
	int err = collect_rows(rec, view, &rows);

	for (size_t i = 0; !err && i < rows.n; i++) {
		struct mem_row row = rows.row[i];

		if (!series || since_last(series, &row))
			err = add_cells(g, &row, seconds);
	}
	if (series) {
		free(series->row);
		series->row = rows.row;
		series->n = rows.n;
	} else {
		free(rows.row);
	}
	return err;
}

int mem_processes_empty(struct recording *rec, const struct mem_processes *view,
			struct report_grid **g)
{
	const struct report_column columns[COLUMNS] = {
		[PID] = { "PID", "pid", REPORT_UNIT_ID },
		[COMM] = { "COMMAND", "comm", REPORT_UNIT_TEXT },
		[ALLOCS] = { "ALLOCATIONS", "allocations", REPORT_UNIT_COUNT, .adds = true },
		[BYTES] = { "BYTES", "bytes", REPORT_UNIT_BYTES, .adds = true },
		[RATE] = { "RATE", "rate", REPORT_UNIT_BYTES, .per_second = true, .adds = true },
		[LIVE] = view->live,
		[LIVE_BYTES] = view->live_bytes,
	};
	const struct report_grid_spec spec = { .title = view->title,
					       .metric = view->metric,
					       .events = "allocations",
					       .rows = "processes",
					       .columns = columns,
					       .ncolumns = COLUMNS };

	return grid_new(options_of(rec), &spec, view->by_live ? view->live_bytes.key : "bytes", 0,
			g);
}

int mem_processes_report(struct recording *rec, const struct mem_processes *view)
{
	struct report_grid *g = NULL;
	int err = mem_processes_empty(rec, view, &g);

	if (!err)
		err = fill_grid(rec, view, NULL, rec->end_ns - rec->begin_ns, g);
	if (!err)
		err = grid_report(rec, g);
	report_grid_free(g);
	return err;
}

/* ---- a series */

static int fill_part(struct recording *rec, const struct mem_processes *view,
		     struct mem_series *series, struct report_grid *g)
{
	struct record_info info;
	int err = record_info_since(rec, &series->since, &info);

	if (err)
		return err;
	err = fill_grid(rec, view, series, info.info.duration_ns, g);
	if (!err)
		err = report_grid_set_info(g, &info.info);
	record_info_free(&info);
	return err;
}

static int write_part(struct recording *rec, const struct mem_processes *view,
		      struct mem_series *series, bool last)
{
	struct report_grid *g = NULL;
	int err = mem_processes_empty(rec, view, &g);

	if (!err)
		err = fill_part(rec, view, series, g);
	if (!err)
		err = last ? grid_end(rec, 0, g) : grid_part(rec, g);
	report_grid_free(g);
	return err;
}

int mem_processes_part(struct recording *rec, const struct mem_processes *view,
		       struct mem_series *series)
{
	return write_part(rec, view, series, false);
}

int mem_processes_end(struct recording *rec, const struct mem_processes *view,
		      struct mem_series *series)
{
	const int err = write_part(rec, view, series, true);

	free(series->row);
	series->row = NULL;
	series->n = 0;
	return err;
}
