/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much runs of the same program differ, seen from several of each side.
 *
 * Two runs differ by more than chance has samples vary: where code and data lie, what the machine
 * does beside. One pair cannot tell such a difference from a change; the runs of a side, which are
 * all of the same program, show it. Each run is divided by what half of the weight of its side says
 * that it is longer or shorter by, so that one function that varies does not make all others vary;
 * its weight of a name is compared with the mean of its side, and how much larger the squares are
 * than those of independent samples would be is what the name's weights are worth less by.
 *
 * Few runs know that badly: three a side may be alike by chance. So what a name shows counts
 * together with what most heavy functions show, as if that were known of PRIOR runs more; and
 * the test is Student's, of as many degrees of freedom as both have (report_diff_z).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "diff.h"

#define PRIOR 4.0   /* degrees of freedom that what is usual counts for */
#define HEAVY 0.01  /* of the weight of both sides: a function whose runs say what is usual */
#define LEAST 0.01  /* any two runs differ by that, relative to the weight */
#define FEWEST 40.0 /* events of a heavy function, on both sides together */

enum { SELF, TOTAL, WEIGHTS };

/* Of a name's weight: the sums over the runs of a side, and then over both sides. */
struct spread_seen {
	double sum, squares;  /* of a side's runs, each divided by its length */
	double off, expected; /* squares of relative distances from the mean; those of chance */
	double freedom;
};

struct name_seen {
	struct spread_seen of[WEIGHTS];
	double run[WEIGHTS]; /* of the run at hand */
	size_t met;	     /* the sample that was added last, of all runs, from 1 */
};

struct seen {
	struct report_diff *d;
	struct name_seen *names;
	size_t nsamples;
};

static void add_sample(struct seen *s, uint32_t leaf, double w)
{
	const struct report_diff *d = s->d;

	s->nsamples++;
	s->names[d->nodes[leaf].name].run[SELF] += w;
	for (uint32_t node = leaf; node; node = d->nodes[node].parent) {
		struct name_seen *name = &s->names[d->nodes[node].name];

		if (name->met != s->nsamples)
			name->run[TOTAL] += w;
		name->met = s->nsamples;
	}
}

struct ratio {
	double of_run, weight; /* what a run has of a name, by what its side has, and this */
};

static int by_ratio(const void *a, const void *b)
{
	const struct ratio *x = a, *y = b;

	if (x->of_run != y->of_run)
		return x->of_run < y->of_run ? -1 : 1;
	return x->weight < y->weight ? -1 : x->weight > y->weight;
}

/* How long the run at hand is, by its whole side: the weighted median of what the names say. */
static int find_length(const struct seen *s, int side, double *length)
{
	const struct report_diff *d = s->d;
	struct ratio *ratios = malloc(((size_t)d->names.count + 1) * sizeof(*ratios));
	double half = (double)d->whole.of[side].w / 2;
	size_t n = 0, i = 0;

	if (!ratios)
		return -ENOMEM;
	for (uint32_t name = 0; name < d->names.count; name++) {
		const double w = (double)d->rows[name].self.of[side].w;

		if (w > 0)
			ratios[n++] = (struct ratio){ s->names[name].run[SELF] / w, w };
	}
	qsort(ratios, n, sizeof(*ratios), by_ratio);
	while (i + 1 < n && half > ratios[i].weight)
		half -= ratios[i++].weight;
	*length = n ? ratios[i].of_run : 0;
	free(ratios);
	return 0;
}

static int add_run(struct seen *s, int side, const struct report *r, const uint32_t *leaf_of)
{
	const struct report_diff *d = s->d;
	double length;
	int err;

	for (uint32_t i = 0; i < r->samples.count; i++)
		if (leaf_of[i])
			add_sample(s, leaf_of[i], (double)value_of(r, i, d->weight[side]));
	err = find_length(s, side, &length);
	if (err)
		return err;
	for (uint32_t i = 0; i < d->names.count; i++) {
		for (int which = 0; which < WEIGHTS; which++) {
			struct spread_seen *seen = &s->names[i].of[which];
			const double w = length > 0 ? s->names[i].run[which] / length : 0;

			seen->sum += w;
			seen->squares += w * w;
			s->names[i].run[which] = 0;
		}
	}
	return 0;
}

static const struct diff_pair *pair_of(const struct diff_row *row, int which)
{
	return which == SELF ? &row->self : &row->total;
}

/* What the runs of a side, whose sums are there, say of a weight. */
static void end_side(const struct seen *s, int side, uint32_t name, int which)
{
	struct spread_seen *seen = &s->names[name].of[which];
	const struct diff_weight *w = &pair_of(&s->d->rows[name], which)->of[side];
	const double n = (double)s->d->runs[side].n, mean = seen->sum / n;

	if (n > 1 && mean > 0 && w->w) {
		const double off = seen->squares / (mean * mean) - n;

		seen->off += off > 0 ? off : 0;
		seen->expected += (n - 1) * n * w->spread / ((double)w->w * (double)w->w);
		seen->freedom += n - 1;
	}
	seen->sum = seen->squares = 0;
}

static int add_side(struct seen *s, int side, uint32_t *const *leaf_of)
{
	const struct report_runs *runs = &s->d->runs[side];
	int err = 0;

	for (size_t i = 0; !err && i < runs->n; i++)
		err = add_run(s, side, runs->runs[i], leaf_of[i]);
	for (uint32_t i = 0; i < s->d->names.count; i++)
		for (int which = 0; which < WEIGHTS; which++)
			end_side(s, side, i, which);
	return err;
}

static bool is_heavy(const struct report_diff *d, const struct diff_pair *p)
{
	double n[SIDES], unit[SIDES], share = 0;

	report_diff_events(d, p, n, unit);
	for (int side = 0; side < SIDES; side++)
		share += (double)p->of[side].w / (double)d->whole.of[side].w / SIDES;
	return share >= HEAVY && n[SIDE_A] + n[SIDE_B] >= FEWEST;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The relative error of one run that is usual, squared: three of four heavy functions have less. */
static int find_usual(const struct seen *s, double *usual)
{
	double *errors = malloc(((size_t)s->d->names.count + 1) * sizeof(*errors));
	size_t n = 0;

	if (!errors)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->d->names.count; i++) {
		const struct spread_seen *seen = &s->names[i].of[SELF];

		if (seen->freedom > 0 && is_heavy(s->d, &s->d->rows[i].self))
			errors[n++] = (seen->off - seen->expected) / seen->freedom;
	}
	qsort(errors, n, sizeof(*errors), by_size);
	*usual = n && errors[n * 3 / 4] > LEAST * LEAST ? errors[n * 3 / 4] : LEAST * LEAST;
	free(errors);
	return 0;
}

/*
 * The relative variance of one run's weight by chance alone: the mean of both sides, each by how
 * many runs say it.
 */
static double chance_of_run(const struct report_diff *d, const struct diff_pair *p)
{
	double sum = 0, weights = 0;

	for (int side = 0; side < SIDES; side++) {
		const struct diff_weight *w = &p->of[side];
		const double n = (double)d->runs[side].n;

		if (!w->w)
			continue;
		sum += n * n * w->spread / ((double)w->w * (double)w->w);
		weights += n;
	}
	return weights > 0 ? sum / weights : 0;
}

double report_diff_usual(const struct report_diff *d, const struct diff_pair *p)
{
	const double chance = d->freedom > 0 ? chance_of_run(d, p) : 0;

	return chance > 0 ? 1 + d->between * d->between / chance : 1;
}

/* How many times what chance has it vary by. */
static double variance_of(const struct report_diff *d, const struct spread_seen *seen,
			  const struct diff_pair *p)
{
	const double usual = report_diff_usual(d, p), chance = chance_of_run(d, p);
	const double least = chance > 0 ? 1 + LEAST * LEAST / chance : 1;
	double own = usual;

	if (seen->expected > 0)
		own = (seen->off * seen->freedom / seen->expected + PRIOR * usual) /
		      (seen->freedom + PRIOR);
	return own > least ? own : least;
}

static void widen(struct diff_pair *p, double by)
{
	for (int side = 0; side < SIDES; side++)
		p->of[side].spread *= by;
}

static void widen_all(const struct seen *s)
{
	struct report_diff *d = s->d;

	for (uint32_t i = 0; i < d->names.count; i++) {
		struct diff_row *row = &d->rows[i];
		struct spread_seen *of = s->names[i].of;

		/* The sums are done with: a place for what nodes are widened by. */
		of[SELF].sum = variance_of(d, &of[SELF], &row->self);
		widen(&row->total, variance_of(d, &of[TOTAL], &row->total));
		widen(&row->self, of[SELF].sum);
	}
	for (uint32_t i = 1; i < d->nnodes; i++)
		widen(&d->nodes[i].self, s->names[d->nodes[i].name].of[SELF].sum);
}

int report_diff_compare_runs(struct report_diff *d, uint32_t *const *const leaf_of[SIDES])
{
	struct seen s = { .d = d };
	double usual;
	int err = 0;

	s.names = calloc((size_t)d->names.count + 1, sizeof(*s.names));
	if (!s.names)
		return -ENOMEM;
	for (int side = 0; !err && side < SIDES; side++)
		err = add_side(&s, side, leaf_of[side]);
	if (!err)
		err = find_usual(&s, &usual);
	if (!err) {
		d->between = sqrt(usual);
		d->freedom = (double)d->runs[SIDE_A].n + (double)d->runs[SIDE_B].n - SIDES + PRIOR;
		widen_all(&s);
	}
	free(s.names);
	return err;
}
