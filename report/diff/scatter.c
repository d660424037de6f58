/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much samples scatter, seen from when they were.
 *
 * Samples that are independent of each other make counts that vary as chance has it. Not all are:
 * a clock that ticks unevenly, or work that comes in bursts, makes them vary more, and then there
 * are fewer events to be certain by than there are samples. A profile with a stream shows it by
 * itself: it is cut into BLOCKS of as many events each, and how much a name's weight differs from
 * a block to the next says what it varies by. Neighbours are compared, and the largest differences
 * left out, because a program that does first one thing and then another is the same each time.
 *
 * The mean of all names that have enough is what a side's weights are worth less by; a name that
 * varies far more than that by itself is believed. What differs from run to run and not within one
 * no stream shows: for this there is the noise.
 */
#include <errno.h>
#include <stdlib.h>

#include "diff.h"

enum {
	BLOCKS = 32,
	TRIMMED = 3,		     /* differences between blocks that are left out */
	FEWEST = 20 * BLOCKS,	     /* events of a stream to look at it, and */
	FEWEST_OF_NAME = 5 * BLOCKS, /* of a name to be measured by it */
};
/*
 * The mean of squares of a normal variable below the quantile that 28 of 31 are: the integral is
 * the distribution of chi squared with three degrees of freedom there.
 */
#define TRIMMED_MEAN 0.630
#define LEAST_PART 0.9 /* of the whole weight that the stream has to have */
#define MOST_PART 0.95 /* of it that a name may be: what is always there does not vary */
#define SEEN 1.25      /* a mean up to it may be chance */
#define SURE 2.0       /* times the mean that a name varies by itself; it is known to a third */

struct blocks {
	double self[BLOCKS], total[BLOCKS];
	size_t seen; /* the moment that was added last, from 1 */
};

struct scatter {
	struct report_diff *d;
	int side;
	const uint32_t *leaf_of; /* of each sample, the node */
	struct blocks *of_name;
	double sum, weights; /* of the names measured */
};

/* One that is of another value weighs what its sample's events weigh on average. */
static double weight_of(const struct scatter *s, const struct report_moment *m)
{
	const struct report *r = s->d->r[s->side];
	const unsigned int weight = s->d->weight[s->side];
	const uint64_t events = value_of(r, m->sample, 0);

	if (!weight)
		return m->count;
	if (weight == r->stream->value)
		return (double)m->weight;
	return events ? (double)m->count * (double)value_of(r, m->sample, weight) / (double)events
		      : 0;
}

static void add_moment(struct scatter *s, const struct report_moment *m, int block, size_t number)
{
	const struct report_diff *d = s->d;
	const double w = weight_of(s, m);
	const uint32_t leaf = s->leaf_of[m->sample];

	if (leaf)
		s->of_name[d->nodes[leaf].name].self[block] += w;
	for (uint32_t node = leaf; node; node = d->nodes[node].parent) {
		struct blocks *b = &s->of_name[d->nodes[node].name];

		if (b->seen != number)
			b->total[block] += w;
		b->seen = number;
	}
}

/* False: it is not what the sums are of, or too little. */
static bool cut(struct scatter *s, const struct report_moment *moments, size_t n)
{
	double events = 0, weight = 0, before = 0;

	for (size_t i = 0; i < n; i++) {
		events += moments[i].count;
		weight += weight_of(s, &moments[i]);
	}
	if (events < FEWEST || weight < LEAST_PART * (double)s->d->whole.of[s->side].w)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (moments[i].count)
			add_moment(s, &moments[i], (int)(before / events * BLOCKS), i + 1);
		before += moments[i].count;
	}
	return true;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* How many times what chance has it vary by; 0: not known. */
static double scatter_of(const struct scatter *s, const double block[BLOCKS],
			 const struct diff_weight *w)
{
	const double part = (double)w->w / (double)s->d->whole.of[s->side].w;
	double squares[BLOCKS - 1], sum = 0;

	if (!w->w || (double)w->w * (double)w->w / w->spread < FEWEST_OF_NAME || part > MOST_PART)
		return 0;
	for (int i = 0; i + 1 < BLOCKS; i++)
		squares[i] = (block[i + 1] - block[i]) * (block[i + 1] - block[i]);
	qsort(squares, BLOCKS - 1, sizeof(squares[0]), by_size);
	for (int i = 0; i < BLOCKS - 1 - TRIMMED; i++)
		sum += squares[i];
	sum /= (BLOCKS - 1 - TRIMMED) * TRIMMED_MEAN;
	return sum / (2 * w->spread * (1 - part) / BLOCKS);
}

static void add_mean(struct scatter *s, double scatter, const struct diff_weight *w)
{
	if (!(scatter > 0))
		return;
	s->sum += scatter * (double)w->w;
	s->weights += (double)w->w;
}

static void widen(struct diff_weight *w, double by, double own)
{
	w->spread *= own > SURE * by ? own : by;
}

static void widen_all(const struct scatter *s)
{
	struct report_diff *d = s->d;
	const double by = d->scatter[s->side] > SEEN ? d->scatter[s->side] : 1;

	for (uint32_t i = 0; i < d->names.count; i++) {
		struct diff_weight *self = &d->rows[i].self.of[s->side],
				   *total = &d->rows[i].total.of[s->side];

		widen(self, by, scatter_of(s, s->of_name[i].self, self));
		widen(total, by, scatter_of(s, s->of_name[i].total, total));
	}
	for (uint32_t i = 0; i < d->nnodes; i++)
		d->nodes[i].self.of[s->side].spread *= by;
	d->whole.of[s->side].spread *= by;
}

static int measure(struct scatter *s)
{
	const struct report_diff *d = s->d;
	size_t n;
	const struct report_moment *moments = report_moments(d->r[s->side], &n);

	if (!moments)
		return 0;
	s->of_name = calloc((size_t)d->names.count + 1, sizeof(*s->of_name));
	if (!s->of_name)
		return -ENOMEM;
	if (cut(s, moments, n)) {
		for (uint32_t i = 0; i < d->names.count; i++) {
			const struct diff_row *row = &d->rows[i];

			add_mean(s, scatter_of(s, s->of_name[i].self, &row->self.of[s->side]),
				 &row->self.of[s->side]);
		}
	}
	if (s->weights > 0) {
		s->d->scatter[s->side] = s->sum > s->weights ? s->sum / s->weights : 1;
		widen_all(s);
	}
	free(s->of_name);
	return 0;
}

int report_diff_find_scatter(struct report_diff *d, uint32_t *const *const leaf_of[SIDES])
{
	int err = 0;

	for (int side = 0; !err && side < SIDES; side++)
		err = measure(
			&(struct scatter){ .d = d, .side = side, .leaf_of = leaf_of[side][0] });
	return err;
}
