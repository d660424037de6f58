/* SPDX-License-Identifier: BSD-2-Clause */
/* Two profiles beside each other: names and stacks of both, their weights, what is certain. */
#ifndef REPORT_DIFF_DIFF_H
#define REPORT_DIFF_DIFF_H

#include "report/write.h"

enum { SIDE_A, SIDE_B, SIDES };

/*
 * A weight, and what it is worth as a count: spread is the sum of w * w / n over what it is made
 * of, weights w of n events each. So spread / w is the weight of one event, and w * w / spread the
 * number of them.
 */
struct diff_weight {
	uint64_t w;
	double spread;
};

/* Its weights on both sides. */
struct diff_pair {
	struct diff_weight of[SIDES];
};

/* Frames, and processes, of one name are one. */
struct diff_name {
	uint32_t text; /* in names.strings */
	uint32_t is_comm;
};
SET_ELEMENT(struct diff_name, 2 * 4);

#define DIFF_CERTAIN 0.002 /* that any of the functions said to have changed has not */

/* Between runs, also of a program that is alone: where code lies, how warm the machine is. */
#define DIFF_NOISE 0.02
#define DIFF_NOISE_OF_RUNS 0.005 /* of the sums of several, beside what these show */

enum diff_verdict {
	DIFF_SAME,    /* not beyond chance */
	DIFF_SELF,    /* its own weight changed */
	DIFF_TOTAL,   /* its weight with what it calls changed, and no function in it by itself */
	DIFF_CARRIED, /* it calls what changed */
};

struct diff_row {
	struct diff_pair self, total;
	struct diff_pair carried[2]; /* of functions below it that grew and that shrank */
	double z_self, z_total;	     /* positive: it grew */
	double p_self, p_total;	     /* corrected for how many were tested; 1: not tested */
	enum diff_verdict verdict;
	uint32_t kind;	    /* KIND_COMM or enum report_frame_kind, of the first frame with it */
	const char *module; /* a report's; NULL */
};

/* Stacks of both, a tree: node 0 is the root, a parent has a smaller number than its children. */
struct diff_node {
	uint32_t parent, name;
	struct diff_pair self;
};

struct report_diff {
	struct report_runs runs[SIDES]; /* the reports are the caller's */
	const struct report *r[SIDES];	/* the first ones */
	unsigned int weight[SIDES];
	struct report_diff_options options;

	struct strings strings;
	struct hash_map names; /* of struct diff_name */
	struct diff_row *rows; /* of each name */
	uint32_t *order;       /* of names: as they are shown */
	uint32_t *rank;	       /* of names: by text */
	struct diff_node *nodes;
	uint32_t nnodes, nodes_cap;
	struct hash_index index; /* of nodes, while they are added */

	struct diff_pair whole;
	double scatter[SIDES]; /* what spreads were multiplied by, from 1 on; 0: it was not seen */
	double between;	       /* relative, usual between runs of a side */
	double freedom;	       /* degrees of it that the test has; 0: as many as are needed */
	double basis;	       /* what points are percent of: A's total */
	double scale;	       /* a weight of B divided by it compares with one of A */
	uint32_t nstable;      /* functions that say so; 0: it was not found so */
	double noise;	       /* relative, between runs: options.noise or more */
	double inflation;      /* of variances, beyond chance and noise */
	uint32_t ntests;       /* different ones */
	uint32_t verdicts[DIFF_CARRIED + 1]; /* how many rows have each */
};

static inline const struct diff_name *diff_name_of(const struct report_diff *d, uint32_t name)
{
	return (const struct diff_name *)d->names.items + name;
}

static inline const char *diff_text(const struct report_diff *d, uint32_t name)
{
	return strings_get(&d->strings, diff_name_of(d, name)->text);
}

static inline bool diff_has_runs(const struct report_diff *d)
{
	return d->runs[SIDE_A].n > 1 || d->runs[SIDE_B].n > 1;
}

/* Of all runs together; 0: not known. */
static inline uint64_t diff_duration(const struct report_diff *d, int side)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < d->runs[side].n; i++) {
		const uint64_t ns = d->runs[side].runs[i]->meta.info.duration_ns;

		if (!ns)
			return 0;
		sum = add_saturating(sum, ns);
	}
	return sum;
}

/* In percent of A's total. */
static inline double diff_points(const struct report_diff *d, const struct diff_pair *p)
{
	return 100 * ((double)p->of[SIDE_B].w / d->scale - (double)p->of[SIDE_A].w) / d->basis;
}

static inline bool diff_row_shown(const struct report_diff *d, const struct diff_row *row)
{
	double self = diff_points(d, &row->self), total = diff_points(d, &row->total);

	self = self < 0 ? -self : self;
	total = total < 0 ? -total : total;
	return (row->verdict != DIFF_SAME || d->options.all) &&
	       (self >= d->options.min || total >= d->options.min);
}

/* merge.c: names, nodes, rows' weights. 0 or -ENOMEM. */
int report_diff_merge(struct report_diff *d);

/*
 * scatter.c: spreads are multiplied by how much more than chance samples scatter, where a stream
 * shows it. leaf_of: of each sample the node of its stack. 0 or -ENOMEM.
 */
int report_diff_find_scatter(struct report_diff *d, uint32_t *const *const leaf_of[SIDES]);

/*
 * runs.c: spreads are multiplied by how much more than chance runs of a side differ, where there
 * are several. leaf_of: of each run, of each sample the node of its stack. 0 or -ENOMEM.
 */
int report_diff_compare_runs(struct report_diff *d, uint32_t *const *const leaf_of[SIDES]);
/* What a spread would be multiplied by of which no run says anything. */
double report_diff_usual(const struct report_diff *d, const struct diff_pair *p);

/* scale.c: what B is divided by. 0, -ENOENT or -ENOMEM. */
int report_diff_find_scale(struct report_diff *d);

/* stats.c */
/* How many events a weight is worth; those of a weight 0 would be as large as on the other side. */
void report_diff_events(const struct report_diff *d, const struct diff_pair *p, double n[SIDES],
			double unit[SIDES]);
/* How many standard deviations B is above what A and the scale let expect. */
double report_diff_z(const struct report_diff *d, const struct diff_pair *p);
/* exp(-x), x >= 0: without 3 KB of libm's tables. */
double report_diff_exp_minus(double x);
/* That a normal variable is as far from 0 as z, on either side. */
double report_diff_chance(double z);
/*
 * By how much a function that takes that part of A has to grow to be found nine times of ten, of 1;
 * 0: not by ten times either. After report_diff_judge.
 */
double report_diff_least(const struct report_diff *d, double part);
/* Fills what the rows are certain of, and the verdicts. 0 or -ENOMEM. */
int report_diff_judge(struct report_diff *d);

#endif
