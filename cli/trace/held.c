/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records in the order of their times. A program takes the time and then a place in the ring, and
 * another CPU may come between: so records wait until none can come that is older.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "trace.h"

int trace_hold(struct trace_held *held, const void *record, size_t size)
{
	const struct trace_record *r = record;
	const size_t room = (size + 7) & ~(size_t)7;
	int err = RP_GROW_TO(held->bytes, held->nbytes + room, held->bytes_capacity);

	if (!err)
		err = RP_PUSH(held->records, held->n, held->capacity,
			      (struct trace_held_record){ r->time, held->nbytes });
	if (err)
		return err;
	memcpy(held->bytes + held->nbytes, record, size);
	held->nbytes += room;
	return 0;
}

/* Those of one time in the order in which they came. */
static int compare(const void *a, const void *b)
{
	const struct trace_held_record *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

static void sort(struct trace_held *held)
{
	for (size_t i = 1; i < held->n; i++)
		if (held->records[i].time < held->records[i - 1].time) {
			qsort(held->records, held->n, sizeof(*held->records), compare);
			return;
		}
}

/* Those that stay move to the beginning. */
static void forget(struct trace_held *held, size_t n)
{
	struct trace_held rest = { 0 };
	int err = 0;

	if (n == held->n) {
		held->n = held->nbytes = 0;
		return;
	}
	for (size_t i = n; !err && i < held->n; i++) {
		const struct trace_record *r = (const void *)(held->bytes + held->records[i].at);

		err = trace_hold(&rest, r, sizeof(*r) + r->bytes);
	}
	if (err) { /* they stay where they are, and take their place */
		memmove(held->records, held->records + n, (held->n - n) * sizeof(*held->records));
		held->n -= n;
		trace_held_free(&rest);
		return;
	}
	trace_held_free(held);
	*held = rest;
}

/* So many lines take about a tenth of a millisecond. */
#define MORE_EVERY 128

int trace_release(struct trace_held *held, uint64_t before, const struct trace_release_to *to)
{
	const size_t n = held->n; /* more() adds behind them */
	size_t i = 0;
	int err = 0;

	sort(held);
	for (; !err && i < n && held->records[i].time < before; i++) {
		err = to->fn(to->ctx, (const void *)(held->bytes + held->records[i].at));
		if (!err && i % MORE_EVERY == MORE_EVERY - 1)
			err = to->more(to->ctx);
	}
	if (i)
		forget(held, i);
	return err;
}

void trace_held_free(struct trace_held *held)
{
	free(held->records);
	free(held->bytes);
	*held = (struct trace_held){ 0 };
}
