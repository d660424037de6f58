/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of a difference is certain.
 *
 * A function's weight is a count of events: samples that met it, or calls, for weights that are
 * sums of different things as many as would vary alike. Of the events that both profiles have of
 * it, B would have a share that the scale tells, if nothing had changed; how far the share is from
 * that is said in standard deviations, z. It is the signed root of the deviance, with half an event
 * taken off for counts being whole, which is near the exact test of a binomial even for a few.
 *
 * But two runs differ by more than chance: where code and data lie, what runs beside. So a weight
 * is allowed a relative error of its own (options.noise); if the heavy functions differ by more
 * than that, what they differ by; and if most functions differ by more than both explain, all of
 * them are allowed as much. And a sample that comes between two instructions may be counted to
 * either of them, so that by where code lies a light function has a few of the heavy one's beside
 * it: each is allowed an absolute error too (STRAYS).
 *
 * Several runs of each side show by themselves how much they differ (runs.c). What is known of so
 * few is not certain itself, and the test is Student's t.
 *
 * Many functions are tested at once, each by its own weight and with what it calls. p is corrected
 * by Holm's method: that anything is said to have changed where nothing has is less probable than
 * DIFF_CERTAIN, however the tests depend on each other. What has fewer events than could ever be
 * certain is not tested, and two tests of the same numbers are one.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "diff.h"

#define STRAYS 0.0003	 /* of all events: a function may have so many of its neighbours' */
#define CARRIES 0.05	 /* of a caller, when it is certain that what it calls has changed */
#define FEWEST 8	 /* events to test, on both sides together */
#define FEWEST_SPREAD 20 /* events of a function, and */
#define LEAST_SPREAD 16	 /*   functions, to see how much runs differ */
#define MEDIAN_CHI2 0.4549
#define FEWEST_NOISE 200  /* events of a function on each side, and */
#define LEAST_NOISE 5	  /*   functions, to see how much runs differ in the heavy ones */
#define BEYOND 0.375	  /* so many of them are looked at: more than may have changed */
#define BEYOND_SURE 1.645 /* standard deviations of how many are beyond by chance: one in twenty */
#define MOST_NOISE 0.5
#define MOST_GROWTH 10.0
#define NINE_OF_TEN 1.2816 /* standard deviations above a limit, to be beyond it so often */

void report_diff_events(const struct report_diff *d, const struct diff_pair *p, double n[SIDES],
			double unit[SIDES])
{
	for (int i = 0; i < SIDES; i++) {
		const struct diff_weight *w = &p->of[i], *other = &p->of[!i];
		const struct diff_weight *all = &d->whole.of[i], *all_other = &d->whole.of[!i];

		if (w->w)
			unit[i] = w->spread / (double)w->w;
		else if (other->w)
			unit[i] = other->spread / (double)other->w *
				  (all->spread / (double)all->w) /
				  (all_other->spread / (double)all_other->w);
		else
			unit[i] = 1;
		n[i] = (double)w->w / unit[i];
	}
}

/* n ln(n / expected), 0 if n is. */
static double deviance(double n, double expected)
{
	return n > 0 ? n * log(n / expected) : 0;
}

/* The variance that strays add to B's events of those that both have, of which it has this part. */
static double strays(const struct report_diff *d, const double unit[SIDES], double part)
{
	const double a = STRAYS * (double)d->whole.of[SIDE_A].w / unit[SIDE_A],
		     b = STRAYS * (double)d->whole.of[SIDE_B].w / unit[SIDE_B];

	return part * part * a * a + (1 - part) * (1 - part) * b * b;
}

/*
 * The normal deviate that is as probable as t (D. L. Wallace, Bounds on normal approximations to
 * Student's and the chi-square distributions, 1959).
 */
static double as_normal(double t, double freedom)
{
	return (8 * freedom + 1) / (8 * freedom + 3) * sqrt(freedom * log(1 + t * t / freedom));
}

double report_diff_z(const struct report_diff *d, const struct diff_pair *p)
{
	double n[SIDES], unit[SIDES], all, expected, shift, a, b, z, variance, noise = d->noise;

	report_diff_events(d, p, n, unit);
	all = n[SIDE_A] + n[SIDE_B];
	if (!(all > 0))
		return 0;
	expected = all * (d->scale / unit[SIDE_B]) / (1 / unit[SIDE_A] + d->scale / unit[SIDE_B]);
	shift = n[SIDE_B] > expected ? -0.5 : 0.5;
	if (fabs(n[SIDE_B] - expected) <= 0.5)
		return 0;
	a = n[SIDE_A] - shift;
	b = n[SIDE_B] + shift;
	z = deviance(a, all - expected) + deviance(b, expected);
	z = z > 0 ? sqrt(2 * z) : 0;
	variance = expected * (all - expected) / all;
	z /= sqrt(d->inflation *
		  (1 + 2 * noise * noise * variance + strays(d, unit, expected / all) / variance));
	if (d->freedom > 0)
		z = as_normal(z, d->freedom);
	return shift < 0 ? z : -z;
}

/* A series for a small part of it, squared. */
double report_diff_exp_minus(double x)
{
	double y = -x / 65536, e;

	if (x > 700)
		return 0;
	e = 1 + y * (1 + y / 2 * (1 + y / 3 * (1 + y / 4)));
	for (int i = 0; i < 16; i++)
		e *= e;
	return e;
}

double report_diff_chance(double z)
{
	const double density =
		report_diff_exp_minus(z * z / 2) * 0.79788456080286536; /* 2 / sqrt(2 pi) */
	double sum = 0, term;

	z = fabs(z);
	if (z > 3) { /* the continued fraction of Mills' ratio, from behind */
		for (int i = 60; i; i--)
			sum = i / (z + sum);
		return density / (z + sum);
	}
	term = z;
	for (int i = 3; term > 1e-18; i += 2) {
		sum += term;
		term *= z * z / i;
	}
	sum = 1 - density * sum;
	return sum > 0 ? sum : 0;
}

/* ---- how much runs differ */

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Half of all squares of z are below MEDIAN_CHI2 if chance and noise explain them. */
static int find_inflation(struct report_diff *d)
{
	double *squares = malloc(((size_t)d->names.count + 1) * sizeof(*squares)), n[SIDES],
	       unit[SIDES], median;
	size_t count = 0;

	if (!squares)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->names.count; i++) {
		double z = report_diff_z(d, &d->rows[i].self);

		report_diff_events(d, &d->rows[i].self, n, unit);
		if (n[SIDE_A] + n[SIDE_B] >= FEWEST_SPREAD)
			squares[count++] = z * z;
	}
	qsort(squares, count, sizeof(*squares), by_size);
	median = count >= LEAST_SPREAD ? squares[count / 2] / MEDIAN_CHI2 : 1;
	d->inflation = median > 1 ? median : 1;
	free(squares);
	return 0;
}

/*
 * How much runs differ beyond chance, in those functions that are heavy enough to show it: the
 * least relative error at which that three of eight are so far from the scale may be chance. What
 * has changed is less than that, or nothing can be said of any. Of few functions three of eight may
 * be far off by chance alone, and the error at which they would be the usual three would be large.
 */
struct off {
	double squared, variance;
};

static size_t beyond(size_t n)
{
	return (size_t)ceil(BEYOND * (double)n);
}

/* How probable it is that a function is as far off as the one that so many are further than. */
static double chance_beyond(const struct off *offs, size_t n, double noise, double *room)
{
	for (size_t i = 0; i < n; i++)
		room[i] = offs[i].squared / (offs[i].variance + 2 * noise * noise);
	qsort(room, n, sizeof(*room), by_size);
	return report_diff_chance(sqrt(room[n - beyond(n)]));
}

/* Of the heaviest functions; how many. */
static size_t find_offs(const struct report_diff *d, struct off *offs)
{
	size_t n = 0;

	for (uint32_t i = 0; i < d->names.count; i++) {
		const struct diff_pair *p = &d->rows[i].self;
		double events[SIDES], unit[SIDES], off;

		report_diff_events(d, p, events, unit);
		if (!p->of[SIDE_A].w || !p->of[SIDE_B].w || events[SIDE_A] < FEWEST_NOISE ||
		    events[SIDE_B] < FEWEST_NOISE)
			continue;
		off = log((double)p->of[SIDE_B].w / (double)p->of[SIDE_A].w / d->scale);
		offs[n++] = (struct off){ off * off, 1 / events[SIDE_A] + 1 / events[SIDE_B] };
	}
	return n;
}

static int find_noise(struct report_diff *d)
{
	const bool both_seen = d->scatter[SIDE_A] > 0 && d->scatter[SIDE_B] > 0;
	struct off *offs = malloc(((size_t)d->names.count + 1) * sizeof(*offs));
	double *room = malloc(((size_t)d->names.count + 1) * sizeof(*room));
	double least = d->options.noise, most = MOST_NOISE;
	const size_t n = both_seen && offs && room ? find_offs(d, offs) : 0;
	const int err = offs && room ? 0 : -ENOMEM;
	const double part = n ? (double)beyond(n) / (double)n : 0;
	const double sure = part - BEYOND_SURE * sqrt(part * (1 - part) / (n ? (double)n : 1));

	if (n >= LEAST_NOISE && chance_beyond(offs, n, least, room) < sure)
		for (int round = 0; round < 20; round++) {
			const double noise = (least + most) / 2;

			if (chance_beyond(offs, n, noise, room) < sure)
				least = noise;
			else
				most = noise;
		}
	d->noise = least;
	free(offs);
	free(room);
	return err;
}

/* ---- many at once */

struct test {
	double z; /* without its sign */
	const struct diff_pair *pair;
	double *p;
};

static int by_certainty(const void *a, const void *b)
{
	const struct test *x = a, *y = b;

	if (x->z != y->z)
		return x->z > y->z ? -1 : 1;
	for (int side = 0; side < SIDES; side++)
		if (x->pair->of[side].w != y->pair->of[side].w)
			return x->pair->of[side].w > y->pair->of[side].w ? -1 : 1;
	return 0;
}

static void add_test(struct report_diff *d, struct test *tests, size_t *n,
		     const struct diff_pair *pair, double *z, double *p)
{
	double events[SIDES], unit[SIDES];

	*p = 1;
	*z = report_diff_z(d, pair);
	report_diff_events(d, pair, events, unit);
	if (events[SIDE_A] + events[SIDE_B] >= FEWEST)
		tests[(*n)++] = (struct test){ fabs(*z), pair, p };
}

/* Holm: the least p is multiplied by the number of tests, the next by one less, and so on. */
static int test_all(struct report_diff *d)
{
	struct test *tests = malloc((2 * (size_t)d->names.count + 1) * sizeof(*tests));
	double p = 0;
	size_t n = 0;
	uint32_t left;

	if (!tests)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->names.count; i++) {
		struct diff_row *row = &d->rows[i];

		add_test(d, tests, &n, &row->self, &row->z_self, &row->p_self);
		add_test(d, tests, &n, &row->total, &row->z_total, &row->p_total);
	}
	qsort(tests, n, sizeof(*tests), by_certainty);
	for (size_t i = 0; i < n; i++)
		d->ntests += !i || by_certainty(&tests[i - 1], &tests[i]);
	left = d->ntests + 1;
	for (size_t i = 0; i < n; i++) {
		double corrected;

		left -= !i || by_certainty(&tests[i - 1], &tests[i]);
		corrected = report_diff_chance(tests[i].z) * left;
		p = corrected > p ? corrected : p;
		*tests[i].p = p < 1 ? p : 1;
	}
	free(tests);
	return 0;
}

/* ---- verdicts */

static void add_pair(struct diff_pair *to, const struct diff_pair *p)
{
	for (int side = 0; side < SIDES; side++) {
		to->of[side].w = add_saturating(to->of[side].w, p->of[side].w);
		to->of[side].spread += p->of[side].spread;
	}
}

/* What functions that changed by themselves have below each name that calls them. */
static int carry(struct report_diff *d)
{
	uint32_t *seen = calloc((size_t)d->names.count + 1, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	for (uint32_t leaf = 1; leaf < d->nnodes; leaf++) {
		const struct diff_row *row = &d->rows[d->nodes[leaf].name];

		if (row->verdict != DIFF_SELF)
			continue;
		for (uint32_t node = leaf; node; node = d->nodes[node].parent) {
			const uint32_t name = d->nodes[node].name;

			if (seen[name] != leaf)
				add_pair(&d->rows[name].carried[row->z_self < 0],
					 &d->nodes[leaf].self);
			seen[name] = leaf;
		}
	}
	free(seen);
	return 0;
}

static bool is_carried(const struct report_diff *d, const struct diff_row *row)
{
	for (int shrank = 0; shrank < 2; shrank++) {
		const double z = report_diff_z(d, &row->carried[shrank]);

		if ((shrank ? z < 0 : z > 0) && report_diff_chance(z) < CARRIES)
			return true;
	}
	return false;
}

/* ---- what would have been seen */

static double z_of_growth(const struct report_diff *d, double part, double growth)
{
	const struct diff_weight *a = &d->whole.of[SIDE_A], *b = &d->whole.of[SIDE_B];
	const double w = part * (double)a->w, grown = w * d->scale * (1 + growth);
	struct diff_pair p = { { { (uint64_t)w, part * a->spread },
				 { (uint64_t)grown, grown * b->spread / (double)b->w } } };
	const double usual = report_diff_usual(d, &p);

	for (int side = 0; side < SIDES; side++)
		p.of[side].spread *= usual;
	return report_diff_z(d, &p);
}

double report_diff_least(const struct report_diff *d, double part)
{
	const uint32_t tests = d->ntests ? d->ntests : 1;
	double low = 0, high = MOST_GROWTH, z = 0;

	while (report_diff_chance(z) * tests > DIFF_CERTAIN)
		z += 0.01;
	z += NINE_OF_TEN;
	for (int round = 0; round < 40; round++) {
		const double growth = (low + high) / 2;

		if (z_of_growth(d, part, growth) < z)
			low = growth;
		else
			high = growth;
	}
	return high < MOST_GROWTH ? high : 0;
}

int report_diff_judge(struct report_diff *d)
{
	int err;

	d->inflation = 1;
	err = find_noise(d);
	if (!err)
		err = find_inflation(d);
	if (!err)
		err = test_all(d);
	for (uint32_t i = 0; !err && i < d->names.count; i++)
		if (d->rows[i].p_self < DIFF_CERTAIN)
			d->rows[i].verdict = DIFF_SELF;
	if (!err)
		err = carry(d);
	for (uint32_t i = 0; !err && i < d->names.count; i++) {
		struct diff_row *row = &d->rows[i];

		if (row->verdict == DIFF_SAME && is_carried(d, row))
			row->verdict = DIFF_CARRIED;
		else if (row->verdict == DIFF_SAME && row->p_total < DIFF_CERTAIN)
			row->verdict = DIFF_TOTAL;
		d->verdicts[row->verdict]++;
	}
	return err;
}
