/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A source that costs more than its share is measured in slices: it runs for a moment, every few
 * seconds. What was counted in the last one stands for the time until the next.
 *
 *	|<- slice ->|<---------- nothing is attached, events cost nothing ---------->|<- slice ->|
 *
 * What a slice costs is two things: to attach, to detach and to read what was counted, which is
 * much the same for each, and what runs meanwhile. A slice is so long that the second comes to as
 * much as the first, and they are so far apart that both are no more than the share.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "sources.h"

/* Of one CPU, for each source that is sliced. */
#define SHARE 500
/* What is cheaper than this by now runs all the time; so much, or it would not for long. */
#define CHEAP (0.5 / SHARE)
#define LEAST_SLICE (5 * NS_PER_SECOND / 1000)
#define MOST_SLICE (NS_PER_SECOND / 2)
/* The first, when nobody knows what an event costs here, or how many there are. */
#define FIRST_SLICE (20 * NS_PER_SECOND / 1000)

bool top_slice_can(const struct top_source *s)
{
	return s->kind->forget && !s->asked && !s->kind->needed;
}

/* ---- one of them */

static uint64_t own_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

static uint64_t programs_ns(const struct top_source *s)
{
	return record_runs(&s->rec, NULL, RECORD_ALL_ROLES).ns;
}

static int stop(struct top_source *s)
{
	const int err = s->profiler.stop ? s->profiler.stop(&s->rec) : 0;

	record_detach_list(&s->rec, NULL);
	s->slice.fires = false;
	return err;
}

/* What threads were in the middle of before is not known any more. */
static int begin(struct top_source *s)
{
	int err = s->kind->forget(s);

	if (!err)
		err = record_attach_list(&s->rec, NULL);
	s->slice.begun = rp_monotonic_ns();
	if (!err && s->profiler.start)
		err = s->profiler.start(&s->rec);
	if (!err && s->profiler.begin)
		err = s->profiler.begin(&s->rec);
	s->slice.fires = true;
	return err;
}

/* So long from one beginning to the next; not always the same, for what happens once a second. */
static uint64_t pause_ns(const struct top_slice *slice)
{
	const uint64_t mean = slice->period_ns - slice->planned_ns;

	return mean / 4 * 3 + (uint64_t)random() % (mean / 2 + 1);
}

static void plan(struct top_slice *slice, uint64_t paid_ns)
{
	const double rate = slice->length_ns ? (double)paid_ns / (double)slice->length_ns : 0;
	uint64_t length = MOST_SLICE, period;

	slice->rate = slice->rate ? (slice->rate + rate) / 2 : rate;
	if (slice->rate * (double)length > (double)slice->fixed_ns)
		length = (uint64_t)((double)slice->fixed_ns / slice->rate);
	length = length < LEAST_SLICE ? LEAST_SLICE : length;
	period = (slice->fixed_ns + (uint64_t)(slice->rate * (double)length)) * SHARE;
	slice->planned_ns = length;
	slice->period_ns = period > 2 * length ? period : 2 * length;
}

static int end(struct top_source *s)
{
	struct top_window *w = top_sources_window(s->all);
	const uint64_t own = own_ns();
	uint64_t paid;
	int err = w ? stop(s) : -ENOMEM;

	s->slice.length_ns = rp_monotonic_ns() - s->slice.begun;
	paid = programs_ns(s) - s->slice.paid_ns;
	if (!err)
		err = record_drain(&s->rec);
	if (!err)
		err = s->kind->read(s, w);
	if (err) {
		top_window_free(w);
		return err;
	}
	top_window_free(s->slice.kept);
	s->slice.kept = w;
	s->slice.fixed_ns += own_ns() - own;
	plan(&s->slice, paid);
	s->slice.edge = rp_monotonic_ns() + pause_ns(&s->slice);
	return 0;
}

int top_slice_turn(struct top_source *s)
{
	const uint64_t own = own_ns();
	int err;

	if (s->slice.fires)
		return end(s);
	if (s->slice.kept && s->slice.rate < CHEAP)
		return top_slice_none(s);
	s->slice.paid_ns = programs_ns(s);
	err = begin(s);
	s->slice.fixed_ns = own_ns() - own;
	s->slice.edge = s->slice.begun + s->slice.planned_ns;
	return err;
}

/* ---- from now on, and not any more */

int top_slice_first(struct top_source *s)
{
	s->slice = (struct top_slice){ .on = true, .planned_ns = FIRST_SLICE };
	s->slice.edge = rp_monotonic_ns();
	return stop(s);
}

int top_slice_none(struct top_source *s)
{
	top_slice_free(s);
	return begin(s);
}

void top_slice_free(struct top_source *s)
{
	top_window_free(s->slice.kept);
	s->slice = (struct top_slice){ .edge = UINT64_MAX, .begun = s->slice.begun };
}

/* ---- what the last one stands for */

static bool is_sum(const struct top_column *c)
{
	return !c->greatest && (c->unit == TOP_COUNT || c->unit == TOP_NS || c->unit == TOP_BYTES ||
				c->unit == TOP_CPU);
}

static int add_row(struct top_window *w, enum top_panel panel, const struct top_row *from,
		   double times)
{
	const struct top_table_spec *spec = &top_tables[panel];
	const uint32_t pid = spec->pid < 0 ? 0 : (uint32_t)from->cell[spec->pid].number;
	struct top_row row = *from, *to;

	for (unsigned int c = 0; c < spec->ncolumns; c++) {
		union top_value *cell = &row.cell[c];

		if (top_is_text(spec->column[c].unit) && cell->text)
			cell->text = top_text_of(w, spec->column[c].unit, pid, cell->text);
		else if (c >= spec->nkeys && is_sum(&spec->column[c]))
			cell->number = (uint64_t)((double)cell->number * times + 0.5);
	}
	to = top_row(w, panel, row.cell);
	if (to)
		top_row_add(spec, to, &row);
	return 0;
}

int top_slice_add(const struct top_source *s, struct top_window *w)
{
	static const enum top_figure queue[] = { TOP_QUEUE_P50, TOP_QUEUE_P90, TOP_QUEUE_P99,
						 TOP_QUEUE_MAX };
	const struct top_window *kept = s->slice.kept;
	const enum top_panel panel = s->kind->panel;
	const double times = kept ? (double)w->ns / (double)s->slice.length_ns : 0;
	int err = 0;

	if (!kept)
		return 0;
	if (panel < TOP_PANELS) {
		const struct top_row *row = kept->rows[panel].items;

		for (uint32_t i = 0; !err && i < kept->rows[panel].count; i++)
			err = add_row(w, panel, &row[i], times);
		return err;
	}
	w->figure[TOP_QUEUED] = (uint64_t)((double)kept->figure[TOP_QUEUED] * times + 0.5);
	for (size_t i = 0; i < sizeof(queue) / sizeof(queue[0]); i++)
		w->figure[queue[i]] = kept->figure[queue[i]];
	return 0;
}

double top_slice_part(const struct top_source *s, uint64_t window_ns)
{
	const struct top_slice *slice = &s->slice;
	const uint64_t since = rp_monotonic_ns() - slice->begun;

	if (!slice->on)
		return since < window_ns ? (double)since / (double)window_ns : 1;
	return slice->kept
		       ? (double)slice->length_ns /
				 (double)(slice->period_ns + slice->length_ns - slice->planned_ns)
		       : 0;
}
