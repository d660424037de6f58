/* SPDX-License-Identifier: BSD-2-Clause */
/* Orders that depend on what is in a profile, not on the order in which it came. */
#include <errno.h>
#include <stdlib.h>

#include "write.h"

struct ordering {
	const struct report *r;
	const struct order *order;
};

static int by_function(const void *a, const void *b, void *arg)
{
	const struct ordering *by = arg;
	const uint32_t *rank = by->order->strings;
	const struct function *x = function_of(by->r, *(const uint32_t *)a);
	const struct function *y = function_of(by->r, *(const uint32_t *)b);

	COMPARE(rank[x->name], rank[y->name]);
	COMPARE(rank[x->path], rank[y->path]);
	COMPARE(x->kind, y->kind);
	return 0;
}

static int compare_mapping(const struct ordering *by, uint32_t a, uint32_t b)
{
	const uint32_t *rank = by->order->strings;
	const struct mapping *x = mapping_of(by->r, a), *y = mapping_of(by->r, b);

	COMPARE(rank[x->path], rank[y->path]);
	COMPARE(rank[x->build_id], rank[y->build_id]);
	COMPARE(x->start, y->start);
	COMPARE(x->end, y->end);
	COMPARE(x->offset, y->offset);
	return 0;
}

static int by_frame(const void *a, const void *b, void *arg)
{
	const struct ordering *by = arg;
	const struct frame *x = frame_of(by->r, *(const uint32_t *)a);
	const struct frame *y = frame_of(by->r, *(const uint32_t *)b);

	COMPARE(by->order->functions[x->function], by->order->functions[y->function]);
	COMPARE(x->address, y->address);
	COMPARE(x->module_addr, y->module_addr);
	COMPARE(x->symbol_offset, y->symbol_offset);
	COMPARE(x->is_return, y->is_return);
	COMPARE(by->order->strings[x->file], by->order->strings[y->file]);
	COMPARE(x->line, y->line);
	return compare_mapping(by, x->mapping, y->mapping);
}

/* From the leaf; the nodes of equal callers are one, so what is common is never walked. */
static int compare_stack(const struct ordering *by, uint32_t a, uint32_t b)
{
	const struct node *nodes = by->r->nodes;

	for (; a != b; a = nodes[a].parent, b = nodes[b].parent) {
		if (!a || !b)
			return a ? 1 : -1;
		COMPARE(by->order->frames[nodes[a].frame], by->order->frames[nodes[b].frame]);
	}
	return 0;
}

static int compare_labels(const struct ordering *by, uint32_t a, uint32_t b)
{
	const struct label_set *x = labels_of(by->r, a), *y = labels_of(by->r, b);
	const uint32_t *rank = by->order->strings;

	COMPARE(x->count, y->count);
	for (uint64_t i = 0; i < x->count; i++) {
		COMPARE(rank[x->labels[i].key], rank[y->labels[i].key]);
		COMPARE(rank[x->labels[i].str], rank[y->labels[i].str]);
		COMPARE(x->labels[i].num, y->labels[i].num);
		COMPARE(rank[x->labels[i].unit], rank[y->labels[i].unit]);
	}
	return 0;
}

static int by_sample(const void *a, const void *b, void *arg)
{
	const struct ordering *by = arg;
	const struct sample *x = sample_of(by->r, *(const uint32_t *)a);
	const struct sample *y = sample_of(by->r, *(const uint32_t *)b);
	int stack;

	COMPARE(by->order->strings[x->comm], by->order->strings[y->comm]);
	stack = compare_stack(by, x->node, y->node);
	if (stack)
		return stack;
	COMPARE(x->pid, y->pid);
	COMPARE(x->tid, y->tid);
	return compare_labels(by, x->label_set, y->label_set);
}

/* The ids 0 … n-1 sorted, or NULL. */
static uint32_t *sorted_ids(uint32_t n, int (*compare)(const void *, const void *, void *),
			    struct ordering *by)
{
	uint32_t *ids = malloc(((size_t)n + 1) * sizeof(*ids));

	for (uint32_t i = 0; ids && i < n; i++)
		ids[i] = i;
	if (ids)
		qsort_r(ids, n, sizeof(*ids), compare, by);
	return ids;
}

static uint32_t *ranks(uint32_t n, int (*compare)(const void *, const void *, void *),
		       struct ordering *by)
{
	uint32_t *ids = sorted_ids(n, compare, by);
	uint32_t *rank = malloc(((size_t)n + 1) * sizeof(*rank));

	for (uint32_t i = 0; ids && rank && i < n; i++)
		rank[ids[i]] = i;
	if (!ids) {
		free(rank);
		rank = NULL;
	}
	free(ids);
	return rank;
}

int report_order_make(const struct report *r, bool samples, struct order *order)
{
	struct order o = { 0 };
	struct ordering by = { r, &o };
	bool ok;

	o.strings = report_strings_rank(&r->strings);
	ok = o.strings && (o.functions = ranks(r->functions.count, by_function, &by));
	if (ok && samples) {
		ok = (o.frames = ranks(r->frames.count, by_frame, &by)) &&
		     (o.samples = sorted_ids(r->samples.count, by_sample, &by));
	}
	if (!ok) {
		report_order_free(&o);
		return -ENOMEM;
	}
	*order = o;
	return 0;
}

void report_order_free(struct order *order)
{
	free(order->strings);
	free(order->functions);
	free(order->frames);
	free(order->samples);
	*order = (struct order){ 0 };
}
