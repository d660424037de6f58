/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a program had its CPUs to itself, seen from when its samples were: how much of the time
 * from a thread's first sample to its last its samples stand for. One that others interrupt, or
 * that waits, finds its caches cold, which slows what lives from them and not the rest.
 */
#include <errno.h>

#include "diff.h"

enum { FEWEST = 32 }; /* samples of a thread */

struct thread {
	int32_t pid, tid;
	uint64_t first, last, n;
};

static bool is_time(const struct report_info *info)
{
	return info->period > 1 && info->period_type.unit &&
	       !strcmp(info->period_type.unit, "nanoseconds");
}

static double part_of(const struct hash_map *threads, uint64_t period)
{
	const struct thread *t = threads->items;
	double ran = 0, all = 0;

	for (uint32_t i = 0; i < threads->count; i++) {
		if (t[i].n < FEWEST)
			continue;
		ran += (double)t[i].n * (double)period;
		all += (double)(t[i].last - t[i].first) + (double)period;
	}
	if (!(all > 0))
		return 0;
	return ran < all ? ran / all : 1;
}

int report_diff_alone(const struct report *r, double *part)
{
	struct hash_map threads = HASH_MAP(struct thread, tid);
	size_t n;
	const struct report_moment *moments = report_moments(r, &n);

	*part = 0;
	for (size_t i = 0; moments && is_time(&r->meta.info) && i < n; i++) {
		const struct sample *s = sample_of(r, moments[i].sample);
		struct thread *t;

		if (!moments[i].count)
			continue;
		t = rp_hash_add(&threads, &(struct thread){ .pid = s->pid, .tid = s->tid });
		if (!t) {
			rp_hash_free(&threads);
			return -ENOMEM;
		}
		if (!t->n)
			t->first = moments[i].time_ns;
		t->last = moments[i].time_ns;
		t->n += moments[i].count;
	}
	*part = part_of(&threads, r->meta.info.period);
	rp_hash_free(&threads);
	return 0;
}
