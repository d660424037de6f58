/* SPDX-License-Identifier: BSD-2-Clause */
/* The stacks of a profile merged by what a view calls equal. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "tree.h"

static int step(struct tree *t, uint32_t parent, uint32_t key, uint32_t *node)
{
	uint32_t hash = rp_hash_pair(parent, key), at = hash, found;
	int err = rp_index_reserve(&t->index);

	if (err)
		return err;
	while ((found = rp_index_next(&t->index, hash, &at)) != NONE) {
		if (t->nodes[found].parent == parent && t->nodes[found].key == key) {
			*node = found;
			return 0;
		}
	}
	err = RP_GROW(t->nodes, t->count, t->cap);
	if (err)
		return err;
	t->nodes[t->count] = (struct tree_node){ parent, key, 0 };
	rp_index_put(&t->index, hash, t->count);
	*node = t->count++;
	return 0;
}

static bool in_kernel(const struct report *r, uint32_t node)
{
	return function_of(r, frame_of(r, r->nodes[node].frame)->function)->kind == REPORT_KERNEL;
}

/* Whether a delimiter belongs between a stack's node and its caller. */
static bool boundary(const struct report *r, const struct tree_view *view, uint32_t node)
{
	uint32_t caller = r->nodes[node].parent;

	return view->delimiter != NONE && caller && in_kernel(r, node) != in_kernel(r, caller);
}

/*
 * Where a stack ends in the tree is remembered with the comm it was for, so that the next stack
 * with the same callers begins there: a profile's stacks share most of their frames.
 */
struct memory {
	uint32_t *comm, *node; /* of each node of the profile; comm 0: nothing yet */
};

static int add_rootward(const struct report *r, const struct tree_view *view, struct tree *t,
			struct memory *memory, const struct sample *s, uint32_t *end)
{
	uint32_t path[REPORT_MAX_STACK], depth = 0, at, node = s->node;
	int err = 0;

	while (node && memory->comm[node] != s->comm) {
		path[depth++] = node;
		node = r->nodes[node].parent;
	}
	if (node)
		at = memory->node[node];
	else
		err = step(t, 0, view->of_comm[s->comm], &at);
	while (depth && !err) {
		node = path[--depth];
		if (boundary(r, view, node))
			err = step(t, at, view->delimiter, &at);
		if (!err)
			err = step(t, at, view->of_frame[r->nodes[node].frame], &at);
		memory->comm[node] = s->comm;
		memory->node[node] = at;
	}
	*end = at;
	return err;
}

/* The node that tells a label apart, leafmost. */
static int step_label(const struct tree_view *view, struct tree *t, const struct sample *s,
		      uint32_t *at)
{
	if (!view->of_labels || view->of_labels[s->label_set] == NONE)
		return 0;
	return step(t, *at, view->of_labels[s->label_set], at);
}

static int add_leafward(const struct report *r, const struct tree_view *view, struct tree *t,
			const struct sample *s, uint32_t *end)
{
	uint32_t at;
	int err = step(t, 0, view->of_comm[s->comm], &at);

	if (!err)
		err = step_label(view, t, s, &at);
	for (uint32_t node = s->node; node && !err; node = r->nodes[node].parent) {
		err = step(t, at, view->of_frame[r->nodes[node].frame], &at);
		if (!err && boundary(r, view, node))
			err = step(t, at, view->delimiter, &at);
	}
	*end = at;
	return err;
}

static int add_samples(const struct report *r, const struct tree_view *view, struct tree *t,
		       struct memory *memory)
{
	int err = 0;

	for (uint32_t i = 0; i < r->samples.count && !err; i++) {
		const struct sample *s = sample_of(r, i);
		uint64_t weight = value_of(r, i, view->weight);
		uint32_t end;

		if (!weight)
			continue;
		if (view->reverse)
			err = add_leafward(r, view, t, s, &end);
		else
			err = add_rootward(r, view, t, memory, s, &end);
		if (!err && !s->node)
			err = step(t, end, view->empty_stack, &end);
		if (!err && !view->reverse)
			err = step_label(view, t, s, &end);
		if (!err)
			t->nodes[end].self = add_saturating(t->nodes[end].self, weight);
	}
	return err;
}

int report_tree_build(const struct report *r, const struct tree_view *view, struct tree *t)
{
	struct memory memory = { calloc(r->nnodes, sizeof(*memory.comm)),
				 malloc(r->nnodes * sizeof(*memory.node)) };
	int err = -ENOMEM;

	*t = (struct tree){ 0 };
	if (memory.comm && memory.node)
		err = RP_GROW_TO(t->nodes, 64, t->cap);
	if (!err) {
		t->nodes[t->count++] = (struct tree_node){ NONE, NONE, 0 };
		err = add_samples(r, view, t, &memory);
	}
	free(memory.comm);
	free(memory.node);
	rp_index_free(&t->index); /* as large as the nodes */
	return err;
}

static void add_up(struct tree *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		t->links[i] = (struct tree_link){ NONE, NONE, 0 };
	for (uint32_t i = t->count; i--;) {
		const struct tree_node *n = &t->nodes[i];
		uint64_t total = add_saturating(t->links[i].total, n->self);

		t->links[i].total = total;
		if (i)
			t->links[n->parent].total =
				add_saturating(t->links[n->parent].total, total);
	}
}

int report_tree_sort(struct tree *t, const uint32_t *rank, uint32_t nranks)
{
	uint32_t *start = calloc((size_t)nranks + 1, sizeof(*start));
	uint32_t *sorted = malloc(t->count * sizeof(*sorted));

	t->links = malloc(t->count * sizeof(*t->links));
	if (!start || !sorted || !t->links) {
		free(start);
		free(sorted);
		return -ENOMEM;
	}
	add_up(t);
	for (uint32_t i = 1; i < t->count; i++)
		start[rank[t->nodes[i].key] + 1]++;
	for (uint32_t i = 0; i < nranks; i++)
		start[i + 1] += start[i];
	for (uint32_t i = 1; i < t->count; i++)
		sorted[start[rank[t->nodes[i].key]]++] = i;
	/* Every list grows at its front, so the last in order is put there first. */
	for (uint32_t i = t->count - 1; i--;) {
		struct tree_link *parent = &t->links[t->nodes[sorted[i]].parent];

		t->links[sorted[i]].next = parent->child;
		parent->child = sorted[i];
	}
	free(start);
	free(sorted);
	return 0;
}

uint32_t report_tree_next(const struct tree *t, uint32_t at, unsigned int *depth)
{
	if (t->links[at].child != NONE) {
		++*depth;
		return t->links[at].child;
	}
	while (at && t->links[at].next == NONE) {
		at = t->nodes[at].parent;
		--*depth;
	}
	return at ? t->links[at].next : 0;
}

void report_tree_free(struct tree *t)
{
	free(t->nodes);
	free(t->links);
	rp_index_free(&t->index);
	*t = (struct tree){ 0 };
}
