/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts as fields, in the order of perf-stat(1), "CSV FORMAT": with an interval its end in
 * seconds; with --per-cpu or --per-thread whose it is; the count, its unit, the event, with
 * --repeat the spread in percent; nanoseconds that it counted, in percent of the time that it was
 * to count; a metric and its unit.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "stat.h"

/* A separator or a quote within a field: the reader could not tell where it ends (RFC 4180). */
static void put_text(FILE *f, const char *text, const char *sep)
{
	const bool quoted = strstr(text, sep) || strchr(text, '"');
	const char *quote = quoted ? "\"" : "";

	fputs(quote, f);
	for (const char *next; (next = strchr(text, '"')); text = next + 1)
		rp_text_print(f, "%.*s\"\"", (int)(next - text), text);
	rp_text_print(f, "%s%s", text, quote);
}

static void put_count(FILE *f, const struct rp_event *e, const struct stat_sum *sum,
		      const char *sep)
{
	const enum stat_status status = stat_status(sum);
	const char *unit;
	const double value = stat_shown(e, sum->mean, &unit);

	if (status != STAT_COUNTED)
		fprintf(f, "<%s>", stat_status_name(status));
	else
		fprintf(f, "%.*f", *unit ? 2 : 0, value);
	fprintf(f, "%s%s%s", sep, unit, sep);
	put_text(f, e->name, sep);
}

static void put_line(FILE *f, const struct stat_view *v, const struct stat_figures *figures,
		     const struct stat_row *row, size_t event)
{
	const char *sep = v->own->separator;
	const struct stat_sum *sum = &row->sum[event];
	const struct stat_metric m = stat_metric(figures, row, event);

	if (v->interval)
		fprintf(f, "%.9f%s", figures->time, sep);
	if (*row->label) {
		put_text(f, row->label, sep);
		fputs(sep, f);
	}
	put_count(f, &figures->events[event], sum, sep);
	if (v->own->repeat > 1)
		fprintf(f, "%s%.2f%%", sep, 100 * stat_spread(sum->runs, sum->mean, sum->m2));
	fprintf(f, "%s%llu%s%.2f%s", sep, (unsigned long long)sum->running_ns, sep,
		100 * stat_running(sum), sep);
	if (*m.unit)
		fprintf(f, "%.3f", m.value);
	fprintf(f, "%s%s\n", sep, m.unit);
}

int stat_write_csv(FILE *f, const struct stat_view *v, const struct stat_figures *figures)
{
	for (size_t r = 0; r < figures->nrows; r++)
		for (size_t i = 0; i < figures->n; i++)
			put_line(f, v, figures, &figures->rows[r], i);
	return ferror(f) ? -EIO : 0;
}
