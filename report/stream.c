/* SPDX-License-Identifier: BSD-2-Clause */
/* When the samples of a profile were. They come nearly in order, and are sorted when first read. */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "report.h"
#include "write.h"

int report_set_stream(struct report *r, unsigned int value, uint64_t missed)
{
	if (value >= r->ntypes)
		return -EINVAL;
	r->stream->present = true;
	r->stream->value = value;
	r->stream->missed = missed;
	return 0;
}

int report_add_moment(struct report *r, const struct report_moment *moment)
{
	struct report_stream *s = r->stream;

	if (moment->sample >= r->samples.count || moment->kind > REPORT_WOKEN)
		return -EINVAL;
	if (RP_GROW(s->moments, s->n, s->capacity))
		return -ENOMEM;
	if (s->n && s->moments[s->n - 1].time_ns >= moment->time_ns)
		s->is_unsorted = true;
	s->moments[s->n++] = *moment;
	s->present = true;
	return 0;
}

static int by_time(const void *a, const void *b, void *arg)
{
	const struct report_moment *x = a, *y = b;
	const uint32_t *rank = arg;

	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->cpu, y->cpu);
	COMPARE(x->kind, y->kind);
	COMPARE(x->weight, y->weight);
	COMPARE(x->count, y->count);
	COMPARE(rank ? rank[x->sample] : x->sample, rank ? rank[y->sample] : y->sample);
	return 0;
}

/*
 * The place of each sample among all, by what it is: moments that differ in nothing but the sample
 * have the same order whoever came first. NULL if memory ran out, which costs no more than that.
 */
static uint32_t *rank_samples(const struct report *r)
{
	uint32_t *rank = malloc(((size_t)r->samples.count + 1) * sizeof(*rank));
	struct order order;

	if (!rank || report_order_make(r, true, &order)) {
		free(rank);
		return NULL;
	}
	for (uint32_t i = 0; i < r->samples.count; i++)
		rank[order.samples[i]] = i;
	report_order_free(&order);
	return rank;
}

const struct report_moment *report_moments(const struct report *r, size_t *n)
{
	struct report_stream *s = r->stream;

	if (s->is_unsorted) {
		uint32_t *rank = rank_samples(r);

		qsort_r(s->moments, s->n, sizeof(*s->moments), by_time, rank);
		free(rank);
	}
	s->is_unsorted = false;
	*n = s->n;
	return s->moments;
}
