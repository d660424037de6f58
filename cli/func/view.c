/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables and histograms of calls. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/grid.h>
#include <rawprof/hist.h>

#include "base/clock.h"
#include "func.h"
#include "cli/views.h"

#define ROWS 20

static const struct {
	const char *title, *key, *rows, *name;
} who[] = {
	[FUNC_BY_FUNCTION] = { NULL, NULL, "functions", "function" },
	[FUNC_BY_THREAD] = { "THREAD", "tid", "threads", "thread" },
	[FUNC_BY_PROCESS] = { "PID", "pid", "processes", "process" },
	[FUNC_BY_COMM] = { NULL, NULL, "commands", "command" },
};

/* ---- histograms */

static int add_to_hist(struct report_hist *hist, const struct func_row *row)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < FUNC_HIST_SLOTS; i++)
		if (row->slots[i])
			err = report_hist_add_slot(hist, i, row->slots[i]);
	if (!err)
		report_hist_add_sum(hist, row->all.sum, row->all.least, row->all.greatest);
	return err;
}

static int new_hists(const struct func *f, struct report_hists **out)
{
	static const char *const keys[] = { "function", "comm", "who" };
	static const char *const of_threads[] = { "function", "comm", "tid" };
	static const char *const of_processes[] = { "function", "comm", "pid" };
	const struct report_hists_spec spec = { .title = "time in calls",
						.metric = "func",
						.events = "calls",
						.unit = REPORT_UNIT_NS,
						.bits = FUNC_HIST_BITS,
						.keys = f->by == FUNC_BY_THREAD	   ? of_threads
							: f->by == FUNC_BY_PROCESS ? of_processes
										   : keys,
						.nkeys = f->by == FUNC_BY_FUNCTION ? 1
							 : f->by == FUNC_BY_COMM   ? 2
										   : 3 };

	return report_hists_new(&spec, out);
}

static int fill_hists(const struct func *f, const struct func_rows *rows, struct report_hists *set)
{
	int err = 0;

	for (size_t i = 0; !err && i < rows->n; i++) {
		const struct func_row *row = &rows->row[i];
		char id[16];
		const char *labels[] = { func_name(f, row->function), row->comm, id };
		struct report_hist *hist;

		snprintf(id, sizeof(id), "%u", row->who);
		if (!row->all.count)
			continue;
		err = report_hists_get(set, labels, &hist);
		if (!err)
			err = add_to_hist(hist, row);
	}
	return err;
}

/* They have no time, and so no histogram. */
static void say_untimed(const struct func *f, const struct func_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct func_row *row = &rows->row[i];
		const uint64_t n = row->left + row->untimed + row->under_way;

		if (n && !row->all.count)
			rp_log(RP_WARN,
			       "%s: no histogram, as none of its %" PRIu64 " calls returned",
			       func_name(f, row->function), n);
	}
}

static int set_hists_info(struct recording *rec, bool part, struct report_hists *set)
{
	struct func *f = rec->ctx;
	struct record_info info;
	int err = part ? record_info_since(rec, &f->earlier_ns, &info)
		       : record_info(rec, NULL, &info);

	if (err)
		return err;
	err = report_hists_set_info(set, &info.info);
	record_info_free(&info);
	return err;
}

static int report_hists(struct recording *rec, bool part)
{
	struct func_rows rows = { 0 };
	struct report_hists *set = NULL;
	int err = new_hists(rec->ctx, &set);

	if (!err)
		err = func_rows(rec, part, &rows);
	if (!err)
		err = fill_hists(rec->ctx, &rows, set);
	if (!err && !part)
		say_untimed(rec->ctx, &rows);
	if (!err)
		err = set_hists_info(rec, part, set);
	if (!err)
		err = part ? hists_part(rec, set) : hists_end(rec, 0, set);
	report_hists_free(set);
	func_rows_free(&rows);
	return err;
}

int func_report_hists(struct recording *rec)
{
	return report_hists(rec, false);
}

int func_report_hists_interval(struct recording *rec)
{
	return report_hists(rec, true);
}

/* ---- tables */

enum { CALLS, RATE, TOTAL, SELF, AVERAGE, LEAST, MAX, P50, P90, P99, LEFT, FIGURES };
static const struct report_column figures[FIGURES] = {
	[CALLS] = { "CALLS", "calls", REPORT_UNIT_COUNT, .adds = true },
	[RATE] = { "RATE", "rate", REPORT_UNIT_COUNT, .per_second = true, .adds = true },
	[TOTAL] = { "TOTAL", "total", REPORT_UNIT_NS, .adds = true },
	[SELF] = { "SELF", "self", REPORT_UNIT_NS, .adds = true },
	[AVERAGE] = { "AVERAGE", "average", REPORT_UNIT_NS },
	[LEAST] = { "MIN", "min", REPORT_UNIT_NS },
	[MAX] = { "MAX", "max", REPORT_UNIT_NS },
	[P50] = { "P50", "p50", REPORT_UNIT_NS },
	[P90] = { "P90", "p90", REPORT_UNIT_NS },
	[P99] = { "P99", "p99", REPORT_UNIT_NS },
	[LEFT] = { "LEFT", "left", REPORT_UNIT_COUNT, .adds = true },
};

/* The columns of a view; with --count there are no times, without calls that were left no LEFT. */
struct shape {
	struct report_column columns[REPORT_GRID_MAX_COLUMNS];
	size_t n, nkeys;
	bool times, left;
};

static void make_shape(const struct func *f, const struct func_rows *rows, bool left,
		       struct shape *s)
{
	*s = (struct shape){ .times = !f->own->count, .left = left };
	for (size_t i = 0; i < rows->n; i++)
		s->left |= rows->row[i].left != 0;
	s->columns[s->n++] = (struct report_column){ "FUNCTION", "function", REPORT_UNIT_TEXT };
	if (f->by != FUNC_BY_FUNCTION)
		s->columns[s->n++] = (struct report_column){ "COMMAND", "comm", REPORT_UNIT_TEXT };
	if (who[f->by].title)
		s->columns[s->n++] =
			(struct report_column){ who[f->by].title, who[f->by].key, REPORT_UNIT_ID };
	s->nkeys = s->n;
	for (int i = 0; i < FIGURES; i++)
		if (s->times ? i != RATE && (i != LEFT || s->left) : i <= RATE)
			s->columns[s->n++] = figures[i];
}

/* Of a row, by the place of each figure in `figures`. */
struct cells {
	struct report_cell of[FIGURES];
};

static int time_cells(const struct func_row *row, struct report_hists *scratch, struct cells *c)
{
	const uint64_t n = row->all.count, inner = row->inner_ns;
	struct report_hist_summary sum = { 0 };
	struct report_hist *hist;
	int err;

	report_hists_clear(scratch);
	err = report_hists_get(scratch, (const char *const[]){ "" }, &hist);
	if (!err)
		err = add_to_hist(hist, row);
	if (err)
		return err;
	report_hist_summary(hist, &sum);
	c->of[TOTAL].number = row->all.sum;
	c->of[SELF].number = row->all.sum > inner ? row->all.sum - inner : 0;
	c->of[AVERAGE].number = n ? row->all.sum / n : 0;
	c->of[LEAST].number = sum.least;
	c->of[MAX].number = sum.greatest;
	c->of[P50].number = sum.p50;
	c->of[P90].number = sum.p90;
	c->of[P99].number = sum.p99;
	return 0;
}

static int add_row(const struct func *f, struct report_grid *g, const struct shape *s,
		   const struct func_row *row, double seconds, struct report_hists *scratch)
{
	struct report_cell cells[REPORT_GRID_MAX_COLUMNS] = { 0 };
	struct cells c = { 0 };
	size_t n = 0;
	int err = time_cells(row, scratch, &c);

	c.of[CALLS].number =
		row->entered + row->all.count + row->left + row->untimed + row->under_way;
	c.of[RATE].real = seconds > 0 ? (double)c.of[CALLS].number / seconds : 0;
	c.of[LEFT].number = row->left;
	cells[n++].text = func_name(f, row->function);
	if (f->by != FUNC_BY_FUNCTION)
		cells[n++].text = row->comm;
	if (who[f->by].title)
		cells[n++].number = row->who;
	for (int i = 0; i < FIGURES; i++)
		if (s->times ? i != RATE && (i != LEFT || s->left) : i <= RATE)
			cells[n++] = c.of[i];
	return err ? err : report_grid_add(g, cells);
}

static int fill_grid(struct recording *rec, bool part, const struct func_rows *rows,
		     const struct shape *s, struct report_grid *g)
{
	struct func *f = rec->ctx;
	struct report_hists *scratch = NULL;
	struct record_info info;
	double seconds;
	int err = part ? record_info_since(rec, &f->earlier_ns, &info)
		       : record_info(rec, NULL, &info);

	if (err)
		return err;
	seconds = (double)info.info.duration_ns / NS_PER_SECOND;
	err = report_grid_set_info(g, &info.info);
	record_info_free(&info);
	if (!err)
		err = new_hists(&(struct func){ .by = FUNC_BY_FUNCTION }, &scratch);
	for (size_t i = 0; !err && i < rows->n; i++)
		err = add_row(f, g, s, &rows->row[i], seconds, scratch);
	report_hists_free(scratch);
	return err;
}

static int new_grid(const struct recording *rec, const struct func_rows *rows, struct shape *shape,
		    struct report_grid **out)
{
	const struct func *f = rec->ctx;
	const struct options *opt = options_of(rec);
	char title[64];
	struct report_grid_spec spec = { .title = title,
					 .metric = "func",
					 .events = "calls",
					 .rows = who[f->by].rows,
					 .columns = shape->columns };

	make_shape(f, rows, opt->sort && !strcmp(opt->sort, "left") && !f->own->count, shape);
	spec.ncolumns = shape->n;
	snprintf(title, sizeof(title), "calls by %s", who[f->by].name);
	return grid_new(opt, &spec, shape->times ? "total" : "calls", ROWS, out);
}

int func_empty_grid(struct recording *rec, struct report_grid **out)
{
	const struct func_rows none = { 0 };
	struct shape shape;

	return new_grid(rec, &none, &shape, out);
}

static int report_grid(struct recording *rec, bool part)
{
	struct func_rows rows = { 0 };
	struct report_grid *g = NULL;
	struct shape shape;
	int err = func_rows(rec, part, &rows);

	if (err)
		return err;
	err = new_grid(rec, &rows, &shape, &g);
	if (!err)
		err = fill_grid(rec, part, &rows, &shape, g);
	if (!err)
		err = part ? grid_part(rec, g) : grid_end(rec, 0, g);
	report_grid_free(g);
	func_rows_free(&rows);
	return err;
}

int func_report_grid(struct recording *rec)
{
	return report_grid(rec, false);
}

int func_report_interval(struct recording *rec)
{
	return report_grid(rec, true);
}
