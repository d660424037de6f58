/* SPDX-License-Identifier: BSD-2-Clause */
/* When the samples of a profile were. They come nearly in order, and are sorted when first read. */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "report.h"

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
	if (s->n && s->moments[s->n - 1].time_ns > moment->time_ns)
		s->is_unsorted = true;
	s->moments[s->n++] = *moment;
	s->present = true;
	return 0;
}

#define COMPARE(a, b)                                                                              \
	do {                                                                                       \
		if ((a) != (b))                                                                    \
			return (a) < (b) ? -1 : 1;                                                 \
	} while (0)

/* Two that differ in the sample alone have no order that would not depend on who came first. */
int report_moment_compare(const void *a, const void *b)
{
	const struct report_moment *x = a, *y = b;

	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->cpu, y->cpu);
	COMPARE(x->kind, y->kind);
	COMPARE(x->weight, y->weight);
	COMPARE(x->count, y->count);
	COMPARE(x->sample, y->sample);
	return 0;
}

const struct report_moment *report_moments(const struct report *r, size_t *n)
{
	struct report_stream *s = r->stream;

	if (s->is_unsorted)
		qsort(s->moments, s->n, sizeof(*s->moments), report_moment_compare);
	s->is_unsorted = false;
	*n = s->n;
	return s->moments;
}
