/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts for a person: a line for each event, and the time it took. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "stat.h"

#define VALUE_WIDTH 18
#define MIN_NAME_WIDTH 22
#define METRIC_WIDTH 30

/* 1234567 as 1,234,567 */
static void put_grouped(char *text, size_t size, const char *digits)
{
	const size_t whole = strcspn(digits, ".");
	size_t used = 0;

	for (size_t i = 0; i < whole && used + 2 < size; i++) {
		text[used++] = digits[i];
		if ((whole - i) % 3 == 1 && i + 1 < whole && digits[i] != '-')
			text[used++] = ',';
	}
	snprintf(text + used, size - used, "%s", digits + whole);
}

static void put_value(FILE *f, const struct rp_event *e, const struct stat_sum *sum)
{
	const enum stat_status status = stat_status(sum);
	char digits[64], text[96];
	const char *unit;
	const double value = stat_shown(e, sum->mean, &unit);

	if (status != STAT_COUNTED) {
		snprintf(text, sizeof(text), "<%s>", stat_status_name(status));
		fprintf(f, "%*s      ", VALUE_WIDTH, text);
		return;
	}
	snprintf(digits, sizeof(digits), "%.*f", *unit ? 2 : 0, value);
	put_grouped(text, sizeof(text), digits);
	fprintf(f, "%*s %-5s", VALUE_WIDTH, text, stat_is_clock(e) ? "ms" : unit);
}

static void put_line(FILE *f, const struct stat_figures *figures, const struct stat_row *row,
		     size_t event, int name_width)
{
	const struct rp_event *e = &figures->events[event];
	const struct stat_sum *sum = &row->sum[event];
	const struct stat_metric m = stat_metric(figures, row, event);
	const double running = stat_running(sum);
	const bool part = stat_status(sum) == STAT_COUNTED &&
			  running<0.99995, repeated = figures->elapsed.n> 1 &&
			  stat_status(sum) == STAT_COUNTED;
	char metric[192] = "";

	put_value(f, e, sum);
	if (*m.unit)
		snprintf(metric, sizeof(metric), "%8.*f %s",
			 m.value >= 100	 ? 1
			 : m.value >= 10 ? 2
					 : 3,
			 m.value, m.unit);
	if (*metric || part || repeated)
		rp_text_print(f, "  %-*s", name_width, e->name);
	else
		rp_text_print(f, "  %s", e->name);
	if (part || repeated)
		fprintf(f, "  %-*s", METRIC_WIDTH, metric);
	else if (*metric)
		fprintf(f, "  %s", metric);
	if (repeated)
		fprintf(f, "  +-%6.2f %%", 100 * stat_spread(sum->runs, sum->mean, sum->m2));
	if (part)
		fprintf(f, "  counted %.2f %% of the time", 100 * running);
	fputc('\n', f);
}

/* ---- what stands before each line */

struct widths {
	int name, label;
};

static struct widths widths_of(const struct stat_figures *figures)
{
	struct widths w = { .name = MIN_NAME_WIDTH };

	for (size_t i = 0; i < figures->n; i++)
		if ((int)strlen(figures->events[i].name) > w.name)
			w.name = (int)strlen(figures->events[i].name);
	for (size_t i = 0; i < figures->nrows; i++)
		if ((int)strlen(figures->rows[i].label) > w.label)
			w.label = (int)strlen(figures->rows[i].label);
	return w;
}

static void put_rows(FILE *f, const struct stat_view *v, const struct stat_figures *figures)
{
	const struct widths w = widths_of(figures);

	for (size_t r = 0; r < figures->nrows; r++) {
		const struct stat_row *row = &figures->rows[r];

		for (size_t i = 0; i < figures->n; i++) {
			if (v->interval)
				fprintf(f, "%10.3f ", figures->time);
			if (w.label)
				rp_text_print(f, "%-*s", w.label, row->label);
			put_line(f, figures, row, i, w.name);
		}
	}
}

/* ---- the end */

static void put_seconds(FILE *f, const struct stat_series *s, const char *what)
{
	fprintf(f, "%*.6f s     %s", VALUE_WIDTH, s->mean, what);
	if (s->n > 1)
		fprintf(f, "  +-%.2f %%", 100 * stat_spread(s->n, s->mean, s->m2));
	fputc('\n', f);
}

static void put_end(FILE *f, const struct stat_figures *figures)
{
	fputc('\n', f);
	put_seconds(f, &figures->elapsed, "elapsed");
	if (!figures->user.n)
		return;
	put_seconds(f, &figures->user, "user");
	put_seconds(f, &figures->system, "system");
}

int stat_write_table(FILE *f, const struct stat_view *v, const struct stat_figures *figures,
		     bool first)
{
	int err = 0;

	if (first) {
		err = rp_text_print(f, "rawprof stat: %s", v->target);
		if (figures->elapsed.n > 1)
			fprintf(f, ", %llu runs", (unsigned long long)figures->elapsed.n);
		fputs("\n\n", f);
	}
	put_rows(f, v, figures);
	if (!v->interval)
		put_end(f, figures);
	return err ? err : ferror(f) ? -EIO : 0;
}
