/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of system calls: by latency, and by error. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/views.h"
#include "record/events/call.h"
#include "record/probes/syscalls.h"
#include "syscalls.h"
#include "trace.h"

#define ROWS 30

enum { NAME, COMMAND, PID, ERROR, CALLS, ERRORS, TOTAL, SHARE, AVERAGE, P50, P99, MAX, COLUMNS };
static const struct report_column columns[COLUMNS] = {
	[NAME] = { "SYSCALL", "syscall", REPORT_UNIT_TEXT },
	[COMMAND] = { "COMMAND", "comm", REPORT_UNIT_TEXT },
	[PID] = { "PID", "pid", REPORT_UNIT_ID },
	[ERROR] = { "ERROR", "error", REPORT_UNIT_TEXT },
	[CALLS] = { "CALLS", "calls", REPORT_UNIT_COUNT, .adds = true },
	[ERRORS] = { "ERRORS", "errors", REPORT_UNIT_COUNT, .adds = true },
	[TOTAL] = { "TOTAL", "total", REPORT_UNIT_NS, .adds = true },
	[SHARE] = { "SHARE", "share", REPORT_UNIT_PERCENT, .adds = true },
	[AVERAGE] = { "AVERAGE", "average", REPORT_UNIT_NS },
	[P50] = { "P50", "p50", REPORT_UNIT_NS },
	[P99] = { "P99", "p99", REPORT_UNIT_NS },
	[MAX] = { "MAX", "max", REPORT_UNIT_NS },
};

/* Which of them a table has, in this order. */
static bool shows(const struct syscalls *sys, int column)
{
	switch (column) {
	case COMMAND:
	case PID:
		return sys->config.by_process;
	case ERROR:
		return sys->own->errors;
	case NAME:
	case CALLS:
		return true;
	default:
		return !sys->own->errors;
	}
}

/* What is printed is of one's own making: names that nobody knows are numbers. */
static const char *name_of(uint32_t number, char text[32])
{
	const char *name = record_syscall_name(number);

	snprintf(text, 32, "syscall_%u", number);
	return name ? name : text;
}

static const char *error_name(uint32_t error, char text[16])
{
	static const char *const of_kernel[] = { [0] = "ERESTARTSYS",
						 [1] = "ERESTARTNOINTR",
						 [2] = "ERESTARTNOHAND",
						 [3] = "ENOIOCTLCMD",
						 [4] = "ERESTART_RESTARTBLOCK" };
	const char *name = record_call_error(-(int64_t)error);

	if (!name && error >= 512 && error < 517)
		name = of_kernel[error - 512];
	snprintf(text, 16, "%u", error);
	return name ? name : text;
}

static int summarize(const struct syscalls_row *row, struct report_hists *scratch,
		     struct report_hist_summary *out)
{
	struct report_hist *hist;
	int err;

	report_hists_clear(scratch);
	err = report_hists_get(scratch, (const char *const[]){ "" }, &hist);
	for (unsigned int i = 0; !err && i < SYSCALLS_HIST_SLOTS; i++)
		if (row->slots[i])
			err = report_hist_add_slot(hist, i, row->slots[i]);
	if (err)
		return err;
	report_hist_add_sum(hist, row->sum, row->least, row->greatest);
	report_hist_summary(hist, out);
	return 0;
}

static int add_row(const struct syscalls *sys, struct report_grid *g,
		   const struct syscalls_row *row, uint64_t total, struct report_hists *scratch)
{
	struct report_cell all[COLUMNS] = { 0 }, cells[COLUMNS];
	struct report_hist_summary sum = { 0 };
	char name[32], error[16], comm[17] = "";
	size_t n = 0;
	int err = sys->own->errors ? 0 : summarize(row, scratch, &sum);

	memcpy(comm, row->key.comm, sizeof(row->key.comm));
	all[NAME].text = name_of(row->key.number, name);
	all[COMMAND].text = comm;
	all[PID].number = row->key.process;
	all[ERROR].text = error_name(row->key.error, error);
	all[CALLS].number = row->count;
	all[ERRORS].number = row->errors;
	all[TOTAL].number = row->sum;
	all[SHARE].real = total ? 100.0 * (double)row->sum / (double)total : 0;
	all[AVERAGE].number = row->count ? row->sum / row->count : 0;
	all[P50].number = sum.p50;
	all[P99].number = sum.p99;
	all[MAX].number = sum.greatest;
	for (int i = 0; i < COLUMNS; i++)
		if (shows(sys, i))
			cells[n++] = all[i];
	return err ? err : report_grid_add(g, cells);
}

static int new_scratch(struct report_hists **out)
{
	static const char *const keys[] = { "syscall" };
	const struct report_hists_spec spec = { .title = "system calls",
						.metric = "syscalls",
						.events = "calls",
						.unit = REPORT_UNIT_NS,
						.bits = SYSCALLS_HIST_BITS,
						.keys = keys,
						.nkeys = 1 };

	return report_hists_new(&spec, out);
}

static int fill(struct recording *rec, bool part, const struct syscalls_rows *rows,
		struct report_grid *g)
{
	struct syscalls *sys = rec->ctx;
	struct report_hists *scratch = NULL;
	struct record_info info;
	uint64_t total = 0;
	int err = part ? record_info_since(rec, &sys->earlier_ns, &info)
		       : record_info(rec, NULL, &info);

	if (err)
		return err;
	err = report_grid_set_info(g, &info.info);
	record_info_free(&info);
	if (!err)
		err = new_scratch(&scratch);
	for (size_t i = 0; i < rows->n; i++)
		total += rows->row[i].sum;
	for (size_t i = 0; !err && i < rows->n; i++)
		err = add_row(sys, g, &rows->row[i], total, scratch);
	report_hists_free(scratch);
	return err;
}

/* Also where errors alone are shown: kept are all calls. */
static int count_kept(struct recording *rec)
{
	struct syscalls *sys = rec->ctx;
	struct syscalls_rows rows;
	int err = syscalls_rows(rec, SYSCALLS_MAP_SUMS, false, &rows);

	if (err)
		return err;
	sys->kept = 0;
	for (size_t i = 0; i < rows.n; i++)
		sys->kept += rows.row[i].count;
	free(rows.row);
	return 0;
}

int syscalls_empty_grid(struct recording *rec, struct report_grid **out)
{
	const struct syscalls *sys = rec->ctx;
	const bool errors = sys->own->errors;
	struct report_column shown[COLUMNS];
	struct report_grid_spec spec = { .title = errors ? "system calls that failed, by error"
							 : "system calls by time",
					 .metric = "syscalls",
					 .events = "calls",
					 .columns = shown };

	for (int i = 0; i < COLUMNS; i++)
		if (shows(sys, i))
			shown[spec.ncolumns++] = columns[i];
	return grid_new(options_of(rec), &spec, errors ? "calls" : "total", ROWS, out);
}

static int report(struct recording *rec, bool part)
{
	struct syscalls *sys = rec->ctx;
	struct syscalls_rows rows = { 0 };
	struct report_grid *g = NULL;
	int err = syscalls_rows(rec, sys->own->errors ? SYSCALLS_MAP_ERRORS : SYSCALLS_MAP_SUMS,
				part, &rows);

	if (!err && !part)
		err = count_kept(rec);
	if (!err)
		err = syscalls_empty_grid(rec, &g);
	if (!err)
		err = fill(rec, part, &rows, g);
	if (!err)
		err = part ? grid_part(rec, g) : grid_end(rec, sys->kept, g);
	report_grid_free(g);
	free(rows.row);
	return err;
}

int syscalls_report(struct recording *rec)
{
	return report(rec, false);
}

int syscalls_report_interval(struct recording *rec)
{
	return report(rec, true);
}
