/* SPDX-License-Identifier: BSD-2-Clause */
/* What was mapped at an address at a time, in one address space. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "space.h"

/*
 * So many mappings are looked through one by one before the index is made anew, and an eighth of
 * those in it, so that one that grows while it is asked is not made anew again and again.
 */
enum { TAIL = 48 };

int sym_space_add(struct sym_space *s, uint32_t map)
{
	return RP_PUSH(s->maps, s->count, s->capacity, map);
}

static void drop_index(struct sym_space *s)
{
	free(s->edges);
	free(s->first);
	free(s->listed);
	s->edges = NULL;
	s->first = s->listed = NULL;
	s->indexed = s->edge_count = 0;
}

void sym_space_clear(struct sym_space *s)
{
	drop_index(s);
	free(s->maps);
	*s = (struct sym_space){ 0 };
}

static int compare_edges(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int make_edges(struct sym_space *s, const struct sym_mapping *all)
{
	uint32_t n = 0;

	s->edges = malloc(2 * (size_t)s->count * sizeof(*s->edges));
	if (!s->edges)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->count; i++) {
		s->edges[n++] = all[s->maps[i]].start;
		s->edges[n++] = all[s->maps[i]].end;
	}
	qsort(s->edges, n, sizeof(*s->edges), compare_edges);
	s->edge_count = 1;
	for (uint32_t i = 1; i < n; i++) {
		if (s->edges[i] != s->edges[s->edge_count - 1])
			s->edges[s->edge_count++] = s->edges[i];
	}
	return 0;
}

/* Index of the last edge at or below @addr, -1 if it lies below all. */
static int64_t edge_below(const struct sym_space *s, uint64_t addr)
{
	uint32_t lo = 0, hi = s->edge_count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->edges[mid] <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (int64_t)lo - 1;
}

/*
 * Lists mapping number @i at each of the nodes that make up its range: counts them in first[node +
 * 1], or, once these are sums, writes there.
 */
static void list_map(struct sym_space *s, const struct sym_mapping *m, uint32_t i, uint32_t *next)
{
	uint32_t l = edge_below(s, m->start) + s->edge_count;
	uint32_t r = edge_below(s, m->end) + s->edge_count;

	for (; l < r; l /= 2, r /= 2) {
		uint32_t nodes[2], n = 0;

		if (l & 1)
			nodes[n++] = l++;
		if (r & 1)
			nodes[n++] = --r;
		while (n--) {
			if (next)
				s->listed[next[nodes[n]]++] = i;
			else
				s->first[nodes[n] + 1]++;
		}
	}
}

static int build_index(struct sym_space *s, const struct sym_mapping *all)
{
	size_t nodes;
	uint32_t *next = NULL;
	int err;

	drop_index(s);
	err = make_edges(s, all);
	if (err)
		return err;
	nodes = 2 * (size_t)s->edge_count;
	s->first = calloc(nodes + 1, sizeof(*s->first));
	next = malloc(nodes * sizeof(*next));
	if (!s->first || !next)
		goto out_of_memory;
	for (uint32_t i = 0; i < s->count; i++)
		list_map(s, &all[s->maps[i]], i, NULL);
	for (size_t i = 0; i < nodes; i++)
		s->first[i + 1] += s->first[i];
	s->listed = malloc(s->first[nodes] * sizeof(*s->listed));
	if (!s->listed)
		goto out_of_memory;
	memcpy(next, s->first, nodes * sizeof(*next));
	for (uint32_t i = 0; i < s->count; i++)
		list_map(s, &all[s->maps[i]], i, next);
	s->indexed = s->count;
	free(next);
	return 0;
out_of_memory:
	free(next);
	drop_index(s);
	return -ENOMEM;
}

/* The last of the mappings of @node that held at @time, or -1. */
static int64_t last_of_node(const struct sym_space *s, const struct sym_mapping *all, uint32_t node,
			    uint64_t time)
{
	uint32_t lo = s->first[node], hi = s->first[node + 1];

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (all[s->maps[s->listed[mid]]].time <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > s->first[node] ? (int64_t)s->listed[lo - 1] : -1;
}

int sym_space_find(struct sym_space *s, const struct sym_mapping *all, uint64_t time, uint64_t addr,
		   uint32_t *map)
{
	int64_t best = -1, leaf;
	int err;

	if (s->count - s->indexed > TAIL + s->indexed / 8) {
		err = build_index(s, all);
		if (err)
			return err;
	}
	for (uint32_t i = s->count; i-- > s->indexed && best < 0;) {
		const struct sym_mapping *m = &all[s->maps[i]];

		if (m->time <= time && m->start <= addr && addr < m->end)
			best = i;
	}
	leaf = best < 0 && s->indexed ? edge_below(s, addr) : -1;
	if (leaf >= 0) {
		for (uint32_t node = leaf + s->edge_count; node; node /= 2) {
			int64_t last = last_of_node(s, all, node, time);

			if (last > best)
				best = last;
		}
	}
	if (best < 0)
		return -ENOENT;
	*map = s->maps[best];
	return 0;
}
