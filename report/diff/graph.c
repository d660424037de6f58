/* SPDX-License-Identifier: BSD-2-Clause */
/* The tree of a difference in the order in which it is written, and its simplest form, folded. */
#include <errno.h>
#include <stdlib.h>

#include "graph.h"

static uint64_t larger(const struct report_diff *d, const struct diff_pair *p)
{
	const double b = (double)p->of[SIDE_B].w / d->scale;
	const uint64_t scaled = b < 1e19 ? (uint64_t)(b + 0.5) : UINT64_MAX;

	return scaled > p->of[SIDE_A].w ? scaled : p->of[SIDE_A].w;
}

static void add_up(const struct report_diff *d, struct diff_link *links)
{
	for (uint32_t i = d->nnodes; i--;) {
		struct diff_link *l = &links[i], *parent;

		l->width = add_saturating(l->width, larger(d, &d->nodes[i].self));
		for (int side = 0; side < SIDES; side++) {
			l->total.of[side].w =
				add_saturating(l->total.of[side].w, d->nodes[i].self.of[side].w);
			l->total.of[side].spread += d->nodes[i].self.of[side].spread;
		}
		if (!i)
			break;
		parent = &links[d->nodes[i].parent];
		parent->width = add_saturating(parent->width, l->width);
		for (int side = 0; side < SIDES; side++) {
			parent->total.of[side].w =
				add_saturating(parent->total.of[side].w, l->total.of[side].w);
			parent->total.of[side].spread += l->total.of[side].spread;
		}
	}
}

/* All nodes but the root by the ranks of their names: there are many more nodes than names. */
static void sort_nodes(const struct report_diff *d, uint32_t *start, uint32_t *sorted)
{
	for (uint32_t i = 1; i < d->nnodes; i++)
		start[d->rank[d->nodes[i].name] + 1]++;
	for (uint32_t i = 0; i < d->names.count; i++)
		start[i + 1] += start[i];
	for (uint32_t i = 1; i < d->nnodes; i++)
		sorted[start[d->rank[d->nodes[i].name]]++] = i;
}

struct diff_link *report_diff_links(const struct report_diff *d)
{
	struct diff_link *links = calloc(d->nnodes, sizeof(*links));
	uint32_t *start = calloc((size_t)d->names.count + 1, sizeof(*start));
	uint32_t *sorted = malloc(d->nnodes * sizeof(*sorted));

	if (!links || !start || !sorted) {
		free(links);
		free(start);
		free(sorted);
		return NULL;
	}
	for (uint32_t i = 0; i < d->nnodes; i++)
		links[i].child = links[i].next = NONE;
	add_up(d, links);
	sort_nodes(d, start, sorted);
	/* Every list grows at its front, so the last in order is put there first. */
	for (uint32_t i = d->nnodes - 1; i--;) {
		struct diff_link *parent = &links[d->nodes[sorted[i]].parent];

		links[sorted[i]].next = parent->child;
		parent->child = sorted[i];
	}
	free(start);
	free(sorted);
	return links;
}

uint32_t report_diff_next(const struct report_diff *d, const struct diff_link *links, uint32_t at,
			  unsigned int *depth)
{
	if (links[at].child != NONE) {
		++*depth;
		return links[at].child;
	}
	while (at && links[at].next == NONE) {
		at = d->nodes[at].parent;
		--*depth;
	}
	return at ? links[at].next : 0;
}

/* ---- folded */

static void put_name(struct out *o, struct buf *b, const struct report_diff *d, uint32_t name)
{
	report_buf_reset(b);
	if (diff_name_of(d, name)->is_comm)
		report_name_comm(b, diff_text(d, name), true);
	else
		report_buf_clean(b, diff_text(d, name), ';', ':');
	report_out_buf(o, b);
}

int report_diff_write_folded(const struct report_diff *d, FILE *file)
{
	struct diff_link *links = report_diff_links(d);
	struct out o = { .file = file };
	struct buf b = { 0 };
	unsigned int depth = 0;

	if (!links)
		return -ENOMEM;
	for (uint32_t at = 0; (at = report_diff_next(d, links, at, &depth));) {
		const struct diff_pair *p = &d->nodes[at].self;
		uint32_t path[REPORT_MAX_STACK + 2], n = 0;

		if (!p->of[SIDE_A].w && !p->of[SIDE_B].w)
			continue;
		for (uint32_t node = at; node; node = d->nodes[node].parent)
			path[n++] = d->nodes[node].name;
		while (n--) {
			put_name(&o, &b, d, path[n]);
			report_out_putc(&o, n ? ';' : ' ');
		}
		report_out_u64(&o, p->of[SIDE_A].w);
		report_out_putc(&o, ' ');
		report_out_u64(&o, p->of[SIDE_B].w);
		report_out_putc(&o, '\n');
	}
	free(links);
	report_buf_free(&b);
	return report_out_end(&o);
}
