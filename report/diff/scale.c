/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the weights of B are divided by, to be compared with those of A.
 *
 * By the total alone a function that became slower makes all others look faster. STABLE looks for
 * the factor at which most functions take the same: each function's distance from it counts, in
 * standard deviations squared, but not above LIMIT, so that what has changed has no say. The
 * factors tried are those of the functions themselves, that of the totals, and none.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "diff.h"

enum {
	MOST = 400,  /* functions, the heaviest */
	FEWEST = 10, /* events of one, on both sides */
	LEAST = 3,   /* functions that have to agree */
};
#define LIMIT 9.0
/* What speaks for a factor that needs no functions to be known. */
#define FOR_NONE 2.0
#define FOR_TOTAL 1.0

struct ratio {
	double log;	 /* of B's weight by A's */
	double variance; /* of that */
	double events;
};

static int by_events(const void *a, const void *b)
{
	const struct ratio *x = a, *y = b;

	if (x->events != y->events)
		return x->events > y->events ? -1 : 1;
	return x->log < y->log ? -1 : x->log > y->log;
}

/* The heaviest functions first. */
static size_t find_ratios(const struct report_diff *d, struct ratio *ratios)
{
	const double noise = d->options.noise;
	size_t count = 0;

	for (uint32_t i = 0; i < d->names.count; i++) {
		const struct diff_pair *p = &d->rows[i].self;
		double n[SIDES], unit[SIDES];

		report_diff_events(d, p, n, unit);
		if (!p->of[SIDE_A].w || !p->of[SIDE_B].w || n[SIDE_A] + n[SIDE_B] < FEWEST)
			continue;
		ratios[count++] = (struct ratio){
			.log = log((double)p->of[SIDE_B].w / (double)p->of[SIDE_A].w),
			.variance = 1 / n[SIDE_A] + 1 / n[SIDE_B] + 2 * noise * noise,
			.events = n[SIDE_A] + n[SIDE_B],
		};
	}
	qsort(ratios, count, sizeof(*ratios), by_events);
	return count < MOST ? count : MOST;
}

static double cost_of(const struct ratio *ratios, size_t n, double log_scale, size_t *agree)
{
	double sum = 0;

	*agree = 0;
	for (size_t i = 0; i < n; i++) {
		const double off = ratios[i].log - log_scale;
		const double squared = off * off / ratios[i].variance;

		sum += squared < LIMIT ? squared : LIMIT;
		*agree += squared < LIMIT;
	}
	return sum;
}

/* The mean of those that agree, each by how well it is known, until they stay the same. */
static double refine(const struct ratio *ratios, size_t n, double log_scale)
{
	for (int round = 0; round < 8; round++) {
		double sum = 0, weights = 0;

		for (size_t i = 0; i < n; i++) {
			const double off = ratios[i].log - log_scale;

			if (off * off >= LIMIT * ratios[i].variance)
				continue;
			sum += ratios[i].log / ratios[i].variance;
			weights += 1 / ratios[i].variance;
		}
		if (!(weights > 0))
			break;
		log_scale = sum / weights;
	}
	return log_scale;
}

static void find_stable(struct report_diff *d, const struct ratio *ratios, size_t n, double total)
{
	double best = log(total), least, cost;
	size_t agree;

	d->scale = total;
	least = cost_of(ratios, n, best, &agree) - FOR_TOTAL;
	for (size_t i = 0; i <= n; i++) {
		/* i == n: none, which needs no refining. */
		const double at = i < n ? refine(ratios, n, ratios[i].log) : 0;

		cost = cost_of(ratios, n, at, &agree) - (i < n ? 0 : FOR_NONE);
		if (cost >= least || agree < LEAST)
			continue;
		least = cost;
		best = at;
		d->scale = at > 0 ? 1 / report_diff_exp_minus(at) : report_diff_exp_minus(-at);
	}
	cost_of(ratios, n, best, &agree);
	d->nstable = agree < LEAST ? 0 : (uint32_t)agree;
}

int report_diff_find_scale(struct report_diff *d)
{
	const double total = (double)d->whole.of[SIDE_B].w / (double)d->whole.of[SIDE_A].w;
	const uint64_t a = diff_duration(d, SIDE_A), b = diff_duration(d, SIDE_B);
	struct ratio *ratios;

	switch (d->options.scale) {
	case REPORT_DIFF_NONE:
		d->scale = 1;
		return 0;
	case REPORT_DIFF_TOTAL:
		d->scale = total;
		return 0;
	case REPORT_DIFF_TIME:
		d->scale = a ? (double)b / (double)a : 0;
		return a && b ? 0 : -ENOENT;
	default:
		break;
	}
	ratios = malloc(((size_t)d->names.count + 1) * sizeof(*ratios));
	if (!ratios)
		return -ENOMEM;
	find_stable(d, ratios, find_ratios(d, ratios), total);
	free(ratios);
	return 0;
}
