/* SPDX-License-Identifier: BSD-2-Clause */
/* What the sources of `rawprof top` may cost. */
#include <stdio.h>

#include "base/clock.h"
#include "sources.h"

/*
 * All programs together may take this part of one CPU, as a mean of three windows; in a single one
 * so many times that.
 */
#define BUDGET_NS (NS_PER_SECOND / 100)
#define BURST 2

/* ns by the second: what it has cost in this window, or in the mean of three. */
static uint64_t cost_of(const struct top_source *s, bool mean)
{
	return mean ? (s->cost[0] + s->cost[1] + s->cost[2]) / 3 : s->cost[0];
}

/*
 * One that is stopped is tried for a window now and then, for what made it dear may be over: so
 * rarely that it takes an eighth of the budget as a mean.
 */
#define LEAST_PAUSE 30

static void stop_for_now(struct top_source *s, uint64_t cost)
{
	const uint64_t pause = cost * 8 / BUDGET_NS;

	snprintf(s->why, sizeof(s->why), "stopped: takes %.1f%% of a CPU",
		 (double)cost * 100 / NS_PER_SECOND);
	top_source_close(s);
	s->state = TOP_SOURCE_STOPPED;
	s->again = s->all->windows + (pause > LEAST_PAUSE ? pause : LEAST_PAUSE);
}

static void try_again(struct top_sources *s)
{
	for (int i = 0; i < TOP_SOURCES; i++)
		if (s->source[i].state == TOP_SOURCE_STOPPED && s->source[i].again <= s->windows)
			top_source_open(&s->source[i], true);
}

/* All of it, or an even part for a while, which is as good as what it costs. */
static void make_cheaper(struct top_source *s, uint64_t cost)
{
	if (!top_slice_can(s))
		stop_for_now(s, cost);
	else if (top_slice_first(s))
		stop_for_now(s, cost);
	else
		for (int i = 0; i < 3; i++)
			s->cost[i] = 0;
}

/* Of what was not asked for the dearest becomes cheaper first, until all is within the budget. */
static void keep_below(struct top_sources *s, uint64_t budget, bool mean)
{
	for (;;) {
		struct top_source *dearest = NULL;
		uint64_t sum = 0;

		for (int i = 0; i < TOP_SOURCES; i++) {
			struct top_source *source = &s->source[i];

			if (source->state != TOP_SOURCE_ON || source->asked || source->slice.on)
				continue;
			sum += cost_of(source, mean);
			if (!source->kind->needed &&
			    (!dearest || cost_of(source, mean) > cost_of(dearest, mean)))
				dearest = source;
		}
		if (sum <= budget || !dearest)
			return;
		make_cheaper(dearest, cost_of(dearest, mean));
	}
}

void top_budget_keep(struct top_sources *s)
{
	keep_below(s, BURST * BUDGET_NS, false);
	keep_below(s, BUDGET_NS, true);
	try_again(s);
}
