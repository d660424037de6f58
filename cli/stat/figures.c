/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts as they are shown, and what follows from them. */
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "stat.h"

/* ---- rounds */

/* Mean and squares in one pass: Welford, "Note on a method for calculating corrected sums of
 * squares and products", Technometrics 4 (1962). */
void stat_series_add(struct stat_series *s, double value)
{
	const double before = value - s->mean;

	s->n++;
	s->mean += before / (double)s->n;
	s->m2 += before * (value - s->mean);
}

double stat_spread(uint64_t n, double mean, double m2)
{
	if (n < 2 || mean == 0)
		return 0;
	return sqrt(m2 / (double)(n - 1) / (double)n) / fabs(mean);
}

/* ---- one count */

enum stat_status stat_status(const struct stat_sum *sum)
{
	if (sum->state == RP_COUNTER_NOT_SUPPORTED)
		return STAT_NOT_SUPPORTED;
	if (sum->state == RP_COUNTER_NOT_PERMITTED)
		return STAT_NOT_PERMITTED;
	/* Never enabled: what it belongs to did not run, and there was nothing to count. */
	return sum->enabled_ns && !sum->running_ns ? STAT_NOT_COUNTED : STAT_COUNTED;
}

const char *stat_status_name(enum stat_status status)
{
	static const char *const names[] = {
		[STAT_COUNTED] = "counted",
		[STAT_NOT_COUNTED] = "not counted",
		[STAT_NOT_SUPPORTED] = "not supported",
		[STAT_NOT_PERMITTED] = "not permitted",
	};

	return names[status];
}

double stat_running(const struct stat_sum *sum)
{
	return sum->enabled_ns ? (double)sum->running_ns / (double)sum->enabled_ns : 1;
}

bool stat_is_clock(const struct rp_event *e)
{
	return e->type == PERF_TYPE_SOFTWARE &&
	       (e->config == PERF_COUNT_SW_CPU_CLOCK || e->config == PERF_COUNT_SW_TASK_CLOCK);
}

double stat_shown(const struct rp_event *e, double value, const char **unit)
{
	*unit = stat_is_clock(e) ? "msec" : e->unit;
	return stat_is_clock(e) ? value / 1e6 : e->scale != 0 ? value * e->scale : value;
}

/* ---- what follows */

static bool is_generic(const struct rp_event *e, uint64_t config)
{
	return e->type == PERF_TYPE_HARDWARE && e->config == config;
}

/* Of user mode as the other one, and so on: only then do they belong together. */
static bool same_side(const struct rp_event *a, const struct rp_event *b)
{
	return a->exclude_user == b->exclude_user && a->exclude_kernel == b->exclude_kernel &&
	       a->exclude_host == b->exclude_host && a->exclude_guest == b->exclude_guest;
}

/* The count of another event of the row; 0: it is not there. */
static double other(const struct stat_figures *f, const struct stat_row *row,
		    const struct rp_event *like, uint32_t type, uint64_t config)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct rp_event *e = &f->events[i];

		if (e->type == type && e->config == config && same_side(e, like) &&
		    stat_status(&row->sum[i]) == STAT_COUNTED)
			return row->sum[i].mean;
	}
	return 0;
}

/* Nanoseconds that the CPUs worked for it; below 0: no clock was counted. */
static double clock_of(const struct stat_figures *f, const struct stat_row *row)
{
	for (size_t i = 0; i < f->n; i++)
		if (stat_is_clock(&f->events[i]) && stat_status(&row->sum[i]) == STAT_COUNTED)
			return row->sum[i].mean;
	return -1;
}

struct ratio {
	uint64_t of, by;
	double times;
	const char *unit;
};

static const struct ratio ratios[] = {
	{ PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES, 1, "insn per cycle" },
	{ PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, PERF_COUNT_HW_CPU_CYCLES, 100,
	  "% frontend cycles idle" },
	{ PERF_COUNT_HW_STALLED_CYCLES_BACKEND, PERF_COUNT_HW_CPU_CYCLES, 100,
	  "% backend cycles idle" },
	{ PERF_COUNT_HW_BRANCH_MISSES, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 100,
	  "% of all branches" },
	{ PERF_COUNT_HW_CACHE_MISSES, PERF_COUNT_HW_CACHE_REFERENCES, 100, "% of all cache refs" },
};

static struct stat_metric made(double value, const char *unit)
{
	struct stat_metric m = { .value = value };

	snprintf(m.unit, sizeof(m.unit), "%s", unit);
	return m;
}

static bool ratio_of(const struct stat_figures *f, const struct stat_row *row, size_t event,
		     struct stat_metric *out)
{
	const struct rp_event *e = &f->events[event];
	const double count = row->sum[event].mean;
	double by;

	for (size_t i = 0; i < sizeof(ratios) / sizeof(*ratios); i++) {
		if (!is_generic(e, ratios[i].of))
			continue;
		by = other(f, row, e, PERF_TYPE_HARDWARE, ratios[i].by);
		if (by > 0)
			*out = made(ratios[i].times * count / by, ratios[i].unit);
		return by > 0;
	}
	if (e->type != PERF_TYPE_HW_CACHE || e->config >> 16 != PERF_COUNT_HW_CACHE_RESULT_MISS)
		return false;
	by = other(f, row, e, PERF_TYPE_HW_CACHE, e->config & 0xffff);
	if (by > 0) {
		/* "L1-dcache-load-misses" of "L1-dcache-load", all of them */
		*out = made(100 * count / by, "");
		snprintf(out->unit, sizeof(out->unit), "%% of all %.*ss",
			 (int)strcspn(e->name, ":") - 7, e->name);
	}
	return by > 0;
}

static struct stat_metric rate(double per_second, const char *of)
{
	static const char letters[] = " KMG";
	struct stat_metric m;
	int i = 0;

	for (; per_second >= 1000 && letters[i + 1]; i++)
		per_second /= 1000;
	m = made(per_second, "");
	if (i)
		snprintf(m.unit, sizeof(m.unit), "%c%s", letters[i], of);
	else
		snprintf(m.unit, sizeof(m.unit), "%s", of);
	return m;
}

struct stat_metric stat_metric(const struct stat_figures *f, const struct stat_row *row,
			       size_t event)
{
	const struct rp_event *e = &f->events[event];
	const struct stat_sum *sum = &row->sum[event];
	const double clock = clock_of(f, row), elapsed = f->elapsed.mean;
	struct stat_metric m = { .value = 0 };

	if (stat_status(sum) != STAT_COUNTED)
		return m;
	if (stat_is_clock(e))
		return elapsed > 0 ? made(sum->mean / NS_PER_SECOND / elapsed, "CPUs utilized") : m;
	if (ratio_of(f, row, event, &m))
		return m;
	if (is_generic(e, PERF_COUNT_HW_CPU_CYCLES) && clock > 0)
		return made(sum->mean / clock, "GHz");
	if (e->scale != 0 && elapsed > 0) {
		m = made(sum->mean * e->scale / elapsed, "");
		snprintf(m.unit, sizeof(m.unit), "%s%s/s", *e->unit ? e->unit : "",
			 *e->unit ? "" : "1");
		return m;
	}
	if (clock > 0)
		return rate(sum->mean / clock * NS_PER_SECOND, "/sec");
	return clock < 0 && elapsed > 0 ? rate(sum->mean / elapsed, "/sec elapsed") : m;
}
