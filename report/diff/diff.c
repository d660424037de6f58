/* SPDX-License-Identifier: BSD-2-Clause */
/* Two profiles beside each other, from the beginning to the end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"

static double magnitude(double v)
{
	return v < 0 ? -v : v;
}

/* What changed by itself first, then what it is in; the largest change first. */
static int by_change(const void *a, const void *b, void *arg)
{
	const struct report_diff *d = arg;
	const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct diff_row *x = &d->rows[i], *y = &d->rows[j];
	const bool self = x->verdict == DIFF_SELF, other = y->verdict == DIFF_SELF;
	const bool same = x->verdict == DIFF_SAME, other_same = y->verdict == DIFF_SAME;
	double by_x, by_y;

	if (self != other)
		return self ? -1 : 1;
	if (same != other_same)
		return same ? 1 : -1;
	by_x = magnitude(diff_points(d, self || same ? &x->self : &x->total));
	by_y = magnitude(diff_points(d, self || same ? &y->self : &y->total));
	if (by_x != by_y)
		return by_x > by_y ? -1 : 1;
	return d->rank[i] < d->rank[j] ? -1 : d->rank[i] > d->rank[j];
}

struct ranking {
	const struct report_diff *d;
	const uint32_t *texts;
};

static int by_text(const void *a, const void *b, void *arg)
{
	const struct ranking *by = arg;
	const struct diff_name *x = diff_name_of(by->d, *(const uint32_t *)a);
	const struct diff_name *y = diff_name_of(by->d, *(const uint32_t *)b);

	if (x->text != y->text)
		return by->texts[x->text] < by->texts[y->text] ? -1 : 1;
	return x->is_comm < y->is_comm ? -1 : x->is_comm > y->is_comm;
}

static int sort(struct report_diff *d)
{
	const size_t n = d->names.count;
	struct ranking by = { d, report_strings_rank(&d->strings) };
	int err = -ENOMEM;

	d->order = malloc((n + 1) * sizeof(*d->order));
	d->rank = malloc((n + 1) * sizeof(*d->rank));
	if (by.texts && d->order && d->rank) {
		for (uint32_t i = 0; i < n; i++)
			d->order[i] = i;
		qsort_r(d->order, n, sizeof(*d->order), by_text, &by);
		for (uint32_t i = 0; i < n; i++)
			d->rank[d->order[i]] = i;
		qsort_r(d->order, n, sizeof(*d->order), by_change, d);
		err = 0;
	}
	free((void *)by.texts);
	return err;
}

static int fill(struct report_diff *d)
{
	const struct report_diff *whole = d->options.part_of;
	int err = report_strings_init(&d->strings);

	if (!err)
		err = report_diff_merge(d);
	if (!err && (!d->whole.of[SIDE_A].w || !d->whole.of[SIDE_B].w))
		err = -ENODATA;
	if (!(d->options.noise > 0))
		d->options.noise = diff_has_runs(d) ? DIFF_NOISE_OF_RUNS : DIFF_NOISE;
	d->basis = whole ? whole->basis : (double)d->whole.of[SIDE_A].w;
	if (!err && whole) {
		d->scale = whole->scale;
		d->nstable = whole->nstable;
	} else if (!err) {
		err = report_diff_find_scale(d);
	}
	if (!err)
		err = report_diff_judge(d);
	return err ? err : sort(d);
}

static bool have_weight(const struct report_runs *runs, unsigned int weight)
{
	for (size_t i = 0; i < runs->n; i++)
		if (weight >= runs->runs[i]->ntypes)
			return false;
	return runs->n;
}

static int copy_runs(struct report_runs *to, const struct report_runs *from)
{
	const struct report **runs = malloc(from->n * sizeof(*runs));

	if (!runs)
		return -ENOMEM;
	memcpy(runs, from->runs, from->n * sizeof(*runs));
	*to = (struct report_runs){ runs, from->n };
	return 0;
}

int report_diff_new(const struct report_runs *a, const struct report_runs *b,
		    const struct report_diff_options *options, struct report_diff **out)
{
	struct report_diff *d;
	int err;

	if (!have_weight(a, options->weight_a) || !have_weight(b, options->weight_b))
		return -EINVAL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	err = copy_runs(&d->runs[SIDE_A], a);
	if (!err)
		err = copy_runs(&d->runs[SIDE_B], b);
	d->r[SIDE_A] = a->runs[0];
	d->r[SIDE_B] = b->runs[0];
	d->weight[SIDE_A] = options->weight_a;
	d->weight[SIDE_B] = options->weight_b;
	d->options = *options;
	d->names = HASH_SET(struct diff_name);
	if (!err)
		err = fill(d);
	if (err)
		report_diff_free(d);
	else
		*out = d;
	return err;
}

void report_diff_free(struct report_diff *d)
{
	if (!d)
		return;
	report_strings_free(&d->strings);
	rp_hash_free(&d->names);
	rp_index_free(&d->index);
	for (int side = 0; side < SIDES; side++)
		free((void *)d->runs[side].runs);
	free(d->rows);
	free(d->order);
	free(d->rank);
	free(d->nodes);
	free(d);
}

/*
 * A function that grew by itself says more than one that calls it; of those that only grew with
 * what they call the innermost does, which is the one of the least total.
 */
static bool is_worse(const struct diff_row *row, double points, const struct diff_row *than,
		     double than_points)
{
	if (!than || (row->verdict == DIFF_SELF) != (than->verdict == DIFF_SELF))
		return !than || row->verdict == DIFF_SELF;
	if (row->verdict == DIFF_SELF)
		return points > than_points;
	return row->total.of[SIDE_B].w < than->total.of[SIDE_B].w;
}

bool report_diff_worst(const struct report_diff *d, double above, struct report_diff_growth *growth)
{
	const struct diff_row *worst = NULL;

	for (uint32_t i = 0; i < d->names.count; i++) {
		const uint32_t name = d->order[i];
		const struct diff_row *row = &d->rows[name];
		const bool self = row->verdict == DIFF_SELF;
		const struct diff_pair *p = self ? &row->self : &row->total;
		const double points = diff_points(d, p),
			     p_value = self ? row->p_self : row->p_total;

		/* That there was more to do for a process is no function's fault. */
		if (row->kind == KIND_COMM || row->verdict == DIFF_SAME ||
		    p_value >= DIFF_CERTAIN || points <= above || points <= 0 ||
		    (worst && !is_worse(row, points, worst, growth->points)))
			continue;
		worst = row;
		*growth = (struct report_diff_growth){
			.name = diff_text(d, name),
			.points = points,
			.relative = p->of[SIDE_A].w ? (double)p->of[SIDE_B].w / d->scale /
							      (double)p->of[SIDE_A].w
						    : 0,
			.p = p_value,
			.with_calls = !self,
		};
	}
	return worst;
}
