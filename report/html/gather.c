/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of a profile the page shows. Samples are taken in an order that depends on what is in them
 * alone, and all else is numbered as they first use it.
 */
#include <errno.h>
#include <stdlib.h>

#include "html.h"

struct gathering {
	struct html *h;
	uint32_t *node_of;   /* the page's node for each node of the report, or NONE */
	uint32_t *place_of;  /* likewise, of frames */
	uint32_t *sample_of; /* likewise, of samples */
};

static uint32_t *numbers(size_t n)
{
	uint32_t *p = malloc((n + 1) * sizeof(*p));

	if (p)
		memset(p, 0xff, (n + 1) * sizeof(*p));
	return p;
}

static void use_string(struct html *h, uint32_t string)
{
	if (!string || h->string_number[string] != NONE)
		return;
	h->string_number[string] = h->nstrings;
	h->string[h->nstrings++] = string;
}

static int find_place(struct gathering *g, uint32_t frame, uint32_t *place)
{
	struct html *h = g->h;
	const struct frame *f = frame_of(h->r, frame);
	struct html_place p = { h->names.of_frame[frame], function_of(h->r, f->function)->path,
				f->file, f->line };
	int err;

	if (g->place_of[frame] == NONE) {
		use_string(h, p.module);
		use_string(h, p.file);
		err = rp_hash_number(&h->places, &p, &g->place_of[frame]);
		if (err)
			return err;
	}
	*place = g->place_of[frame];
	return 0;
}

/* Down from the caller that is known, which may be the root. */
static int find_node(struct gathering *g, uint32_t node, uint32_t *found)
{
	struct html *h = g->h;
	const struct node *nodes = h->r->nodes;
	uint32_t path[REPORT_MAX_STACK], depth = 0;
	struct html_node n;
	int err = 0;

	for (; g->node_of[node] == NONE; node = nodes[node].parent)
		path[depth++] = node;
	n.parent = g->node_of[node];
	while (depth && !err) {
		node = path[--depth];
		err = find_place(g, nodes[node].frame, &n.place);
		if (!err)
			err = rp_hash_number(&h->nodes, &n, &g->node_of[node]);
		n.parent = g->node_of[node];
	}
	*found = n.parent;
	return err;
}

static int find_empty_stack(struct html *h, uint32_t *found)
{
	struct html_place p = { .name = h->names.empty_stack };
	struct html_node n = { 0 };
	int err = rp_hash_number(&h->places, &p, &n.place);

	return err ? err : rp_hash_number(&h->nodes, &n, found);
}

static int add_sample(struct gathering *g, uint32_t sample)
{
	struct html *h = g->h;
	const struct sample *s = sample_of(h->r, sample);
	struct html_thread thread = { s->pid, s->tid, h->names.of_comm[s->comm] };
	struct html_sample own = { .label = NONE };
	uint32_t number;
	int err = s->node ? find_node(g, s->node, &own.node) : find_empty_stack(h, &own.node);

	if (h->names.of_labels)
		own.label = h->names.of_labels[s->label_set];
	if (!err)
		err = rp_hash_number(&h->threads, &thread, &own.thread);
	if (!err)
		err = rp_hash_number(&h->samples, &own, &number);
	if (err)
		return err;
	g->sample_of[sample] = number;
	for (size_t i = 0; i < h->r->ntypes; i++) {
		uint64_t *value = &h->values[number * h->r->ntypes + i];

		*value = add_saturating(*value, value_of(h->r, sample, i));
	}
	return 0;
}

static void use_name(struct html *h, uint32_t name)
{
	if (name != NONE)
		h->name_number[name] = 0;
}

/* Names that occur, in the order of their rank, which is by text. */
static int number_names(struct html *h)
{
	const uint32_t count = h->names.pool.count;
	uint32_t *by_rank = numbers(count);

	if (!by_rank)
		return -ENOMEM;
	for (uint32_t i = 0; i < h->places.count; i++)
		use_name(h, html_place_of(h, i)->name);
	for (uint32_t i = 0; i < h->threads.count; i++)
		use_name(h, html_thread_of(h, i)->comm);
	for (uint32_t i = 0; i < h->samples.count; i++)
		use_name(h, html_sample_of(h, i)->label);
	for (uint32_t i = 0; i < count; i++)
		by_rank[h->names.rank[i]] = i;
	for (uint32_t i = 0; i < count; i++) {
		if (h->name_number[by_rank[i]] == NONE)
			continue;
		h->name_number[by_rank[i]] = h->nnames;
		h->name[h->nnames++] = by_rank[i];
	}
	free(by_rank);
	return 0;
}

/* As they are, which is an order that does not depend on who came first. */
static int take_moments(struct gathering *g)
{
	struct html *h = g->h;
	size_t n;
	const struct report_moment *moments = report_moments(h->r, &n);

	h->moments = malloc((n + 1) * sizeof(*h->moments));
	if (!h->moments)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		h->moments[i] = moments[i];
		h->moments[i].sample = g->sample_of[moments[i].sample];
	}
	h->nmoments = n;
	return 0;
}

static int add_samples(struct gathering *g, const struct order *order)
{
	static const struct html_node root = { NONE, NONE };
	struct html *h = g->h;
	uint32_t number;
	int err = rp_hash_number(&h->nodes, &root, &number);

	g->node_of[0] = 0;
	for (uint32_t i = 0; i < h->r->samples.count && !err; i++)
		err = add_sample(g, order->samples[i]);
	for (unsigned int i = 0; i < h->r->ntypes; i++)
		while (report_total(h->r, i) >> h->shift[i] >= 1ull << 53)
			h->shift[i]++;
	return err;
}

static int gather(struct gathering *g)
{
	struct html *h = g->h;
	struct order order = { 0 };
	int err = report_order_make(h->r, true, &order);

	if (!err)
		err = add_samples(g, &order);
	if (!err)
		err = number_names(h);
	if (!err)
		err = take_moments(g);
	report_order_free(&order);
	return err;
}

int report_html_gather(struct html *h)
{
	const struct report *r = h->r;
	struct gathering g = { h, numbers(r->nnodes), numbers(r->frames.count),
			       numbers(r->samples.count) };
	int err = report_names_make(r, &h->options, false, &h->names);

	h->places = HASH_SET(struct html_place);
	h->nodes = HASH_SET(struct html_node);
	h->threads = HASH_SET(struct html_thread);
	h->samples = HASH_SET(struct html_sample);
	if (!err) {
		h->name_number = numbers(h->names.pool.count);
		h->name = numbers(h->names.pool.count);
		h->string_number = numbers(r->strings.count);
		h->string = numbers(r->strings.count);
		h->values = calloc((size_t)r->samples.count + 1, r->ntypes * sizeof(*h->values));
		err = g.node_of && g.place_of && g.sample_of && h->name_number && h->name &&
				      h->string_number && h->string && h->values
			      ? gather(&g)
			      : -ENOMEM;
	}
	free(g.node_of);
	free(g.place_of);
	free(g.sample_of);
	return err;
}

void report_html_free(struct html *h)
{
	report_names_free(&h->names);
	rp_hash_free(&h->places);
	rp_hash_free(&h->nodes);
	rp_hash_free(&h->threads);
	rp_hash_free(&h->samples);
	free(h->name_number);
	free(h->name);
	free(h->string_number);
	free(h->string);
	free(h->values);
	free(h->moments);
}
