/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts as JSON. One object, or with an interval one in each line:
 *
 *	{ "command": "stat", "target": "./prog args", "runs": 1, "exit_status": 0,
 *	  "time_s": 1.0,			with an interval: seconds from the beginning
 *	  "elapsed_s": 0.0038, "elapsed_spread": 0.01,
 *	  "user_s": 0.002, "system_s": 0.001,	of a program
 *	  "events": [ { "cpu": 0,		with --per-cpu; "tid" and "thread" with --per-thread
 *	      "event": "task-clock", "status": "counted", "value": 1520000, "unit": "nanoseconds",
 *	      "spread": 0.01,			with --repeat: the standard error by the mean
 *	      "enabled_ns": 1520000, "running_ns": 1520000,
 *	      "metric": { "value": 0.395, "unit": "CPUs utilized" } }, ... ] }
 *
 * value is the mean of the runs, scaled by enabled/running where counters took turns; these two
 * are sums over the runs and the places that were counted. It is missing unless the status is
 * "counted"; the others are "not counted" (no counter was free), "not supported" and "not
 * permitted".
 */
#include <errno.h>
#include <stdio.h>

#include "base/text.h"
#include "stat.h"

static void put_unit(FILE *f, const struct rp_event *e)
{
	fputs(", \"unit\": ", f);
	rp_text_print_json(f, stat_is_clock(e) ? "nanoseconds" : *e->unit ? e->unit : "count");
}

/* A count is a whole number unless it is a mean, was scaled or has a unit of its own. */
static void put_number(FILE *f, const struct rp_event *e, const struct stat_sum *sum)
{
	const double value = e->scale != 0 ? sum->mean * e->scale : sum->mean;

	if (sum->runs < 2 && e->scale == 0)
		fprintf(f, "%.0f", value);
	else
		fprintf(f, "%.9g", value);
}

static void put_metric(FILE *f, const struct stat_metric *m)
{
	if (!*m->unit)
		return;
	fprintf(f, ", \"metric\": { \"value\": %.6g, \"unit\": ", m->value);
	rp_text_print_json(f, m->unit);
	fputs(" }", f);
}

static void put_event(FILE *f, const struct stat_figures *figures, const struct stat_row *row,
		      size_t event)
{
	const struct rp_event *e = &figures->events[event];
	const struct stat_sum *sum = &row->sum[event];
	const enum stat_status status = stat_status(sum);
	const struct stat_metric m = stat_metric(figures, row, event);

	fputs("{ ", f);
	if (row->cpu >= 0)
		fprintf(f, "\"cpu\": %d, ", row->cpu);
	if (row->task >= 0) {
		fprintf(f, "\"tid\": %d, \"thread\": ", (int)row->task);
		rp_text_print_json(f, row->label);
		fputs(", ", f);
	}
	fputs("\"event\": ", f);
	rp_text_print_json(f, e->name);
	fprintf(f, ", \"status\": \"%s\"", stat_status_name(status));
	if (status == STAT_COUNTED) {
		fputs(", \"value\": ", f);
		put_number(f, e, sum);
		put_unit(f, e);
		if (figures->elapsed.n > 1)
			fprintf(f, ", \"spread\": %.6g",
				stat_spread(sum->runs, sum->mean, sum->m2));
	}
	fprintf(f, ", \"enabled_ns\": %llu, \"running_ns\": %llu",
		(unsigned long long)sum->enabled_ns, (unsigned long long)sum->running_ns);
	put_metric(f, &m);
	fputs(" }", f);
}

static void put_head(FILE *f, const struct stat_view *v, const struct stat_figures *figures)
{
	const struct stat_series *elapsed = &figures->elapsed;

	fputs("{ \"command\": \"stat\", \"target\": ", f);
	rp_text_print_json(f, v->target);
	if (v->interval)
		fprintf(f, ", \"time_s\": %.6f", figures->time);
	else
		fprintf(f, ", \"runs\": %llu, \"exit_status\": %d", (unsigned long long)elapsed->n,
			v->exit_status);
	fprintf(f, ", \"elapsed_s\": %.9f", elapsed->mean);
	if (elapsed->n > 1)
		fprintf(f, ", \"elapsed_spread\": %.6g",
			stat_spread(elapsed->n, elapsed->mean, elapsed->m2));
	if (figures->user.n)
		fprintf(f, ", \"user_s\": %.6f, \"system_s\": %.6f", figures->user.mean,
			figures->system.mean);
}

int stat_write_json(FILE *f, const struct stat_view *v, const struct stat_figures *figures)
{
	const char *between = "";

	put_head(f, v, figures);
	fputs(", \"events\": [", f);
	for (size_t r = 0; r < figures->nrows; r++)
		for (size_t i = 0; i < figures->n; i++, between = ",") {
			fputs(between, f);
			fputs(v->interval ? " " : "\n  ", f);
			put_event(f, figures, &figures->rows[r], i);
		}
	fputs(v->interval ? " ] }\n" : "\n] }\n", f);
	return ferror(f) ? -EIO : 0;
}
