/* SPDX-License-Identifier: BSD-2-Clause */
/* Overlapping ranges made disjoint: a sweep over starts and ends with a heap of what is open. */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "spans.h"

/* A max-heap by id of spans whose start was passed. Some below the top may have ended already. */
struct heap {
	const struct sym_span **item;
	size_t count, capacity;
};

struct list {
	struct sym_span *span;
	size_t count, capacity;
};

static uint64_t end_of(const struct sym_span *s)
{
	return s->start + s->len;
}

static int push(struct heap *h, const struct sym_span *s)
{
	size_t i = h->count;
	int err = RP_PUSH(h->item, h->count, h->capacity, s);

	if (err)
		return err;
	for (; i > 0 && h->item[(i - 1) / 2]->id < s->id; i = (i - 1) / 2)
		h->item[i] = h->item[(i - 1) / 2];
	h->item[i] = s;
	return 0;
}

static void pop(struct heap *h)
{
	const struct sym_span *last = h->item[--h->count];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < h->count; i = child) {
		if (child + 1 < h->count && h->item[child + 1]->id > h->item[child]->id)
			child++;
		if (h->item[child]->id <= last->id)
			break;
		h->item[i] = h->item[child];
	}
	h->item[i] = last;
}

static int emit(struct list *l, uint64_t start, uint64_t end, uint32_t id)
{
	struct sym_span *last = l->count ? &l->span[l->count - 1] : NULL;

	if (last && last->id == id && end_of(last) == start) {
		last->len = end - last->start;
		return 0;
	}
	return RP_PUSH(l->span, l->count, l->capacity,
		       (struct sym_span){ .start = start, .len = end - start, .id = id });
}

static int sweep(const struct sym_span *in, size_t n, struct heap *h, struct list *l)
{
	uint64_t at = 0;
	size_t i = 0;
	int err = 0;

	while (!err && (h->count || i < n)) {
		const struct sym_span *top;
		uint64_t end;

		if (!h->count)
			at = in[i].start;
		for (; !err && i < n && in[i].start == at; i++)
			err = in[i].len ? push(h, &in[i]) : 0;
		while (h->count && end_of(h->item[0]) <= at)
			pop(h);
		if (err || !h->count)
			continue;
		top = h->item[0];
		end = end_of(top);
		if (i < n && in[i].start < end)
			end = in[i].start;
		err = emit(l, at, end, top->id);
		at = end;
	}
	return err;
}

int sym_spans_flatten(const struct sym_span *in, size_t n, struct sym_span **out, size_t *out_n)
{
	struct heap h = { 0 };
	struct list l = { .capacity = n };
	int err = 0;

	if (n) {
		l.span = malloc(n * sizeof(*l.span));
		err = l.span ? sweep(in, n, &h, &l) : -ENOMEM;
	}
	free(h.item);
	if (err) {
		free(l.span);
		return err;
	}
	if (l.count && l.count < l.capacity) {
		void *p = realloc(l.span, l.count * sizeof(*l.span));

		if (p)
			l.span = p;
	}
	*out = l.span;
	*out_n = l.count;
	return 0;
}

const struct sym_span *sym_spans_find(const struct sym_span *spans, size_t n, uint64_t addr)
{
	size_t lo = 0, hi = n; /* spans before lo start at or below addr */

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (spans[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr - spans[lo - 1].start < spans[lo - 1].len ? &spans[lo - 1] : NULL;
}
