/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A flame graph coloured by a label, such as the state of a thread: a frame has a
 * value's colour if all of its weight is of that value, and none if it is of several.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flame.h"

/* Above every place, and below FLAME_MIXED. */
#define UNSEEN (FLAME_MIXED - 1)

struct by_place {
	const struct frame_names *names;
	const char *const *order;
};

/* Where the caller wants a value, SIZE_MAX if it does not care. The name is "[value]". */
static size_t wanted_place(const struct by_place *by, uint32_t name)
{
	const char *s = name_text(by->names, name) + 1;

	for (size_t i = 0; by->order && by->order[i]; i++)
		if (strlen(by->order[i]) + 1 == strlen(s) &&
		    !strncmp(by->order[i], s, strlen(by->order[i])))
			return i;
	return SIZE_MAX;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct by_place *by = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	size_t i = wanted_place(by, x), k = wanted_place(by, y);

	if (i != k)
		return i < k ? -1 : 1;
	return by->names->rank[x] < by->names->rank[y] ? -1
						       : by->names->rank[x] > by->names->rank[y];
}

/*
 * The values that have weight, in order. `place` has room for each name, and is left with the place
 * of each of them.
 */
static void find_values(struct by_place *by, const struct tree *tree, struct flame_labels *labels,
			uint32_t *place)
{
	memset(place, 0, by->names->pool.count * sizeof(*place));
	for (uint32_t i = 1; i < tree->count; i++) {
		uint32_t name = tree->nodes[i].key;

		if (name_get(by->names, name)->kind != KIND_LABEL || place[name])
			continue;
		place[name] = 1;
		labels->values[labels->nvalues++] = name;
	}
	qsort_r(labels->values, labels->nvalues, sizeof(*labels->values), compare, by);
	for (uint32_t i = 0; i < labels->nvalues; i++)
		place[labels->values[i]] = i;
}

/*
 * A value's node and all below it are of that value: below it is something in a graph that begins
 * at the leaves. A node that has weight of its own otherwise is of none. Then upwards, children
 * before their parents: a parent is of what its children are of, if that is one value.
 */
static void spread(const struct frame_names *names, const struct tree *tree,
		   const uint32_t *of_name, uint32_t *place)
{
	place[0] = UNSEEN;
	for (uint32_t i = 1; i < tree->count; i++) {
		const struct tree_node *n = &tree->nodes[i];

		if (name_get(names, n->key)->kind == KIND_LABEL)
			place[i] = of_name[n->key];
		else if (place[n->parent] < UNSEEN)
			place[i] = place[n->parent];
		else
			place[i] = n->self ? FLAME_MIXED : UNSEEN;
	}
	for (uint32_t i = tree->count; i-- > 1;) {
		uint32_t *parent = &place[tree->nodes[i].parent];

		if (*parent == UNSEEN)
			*parent = place[i];
		else if (*parent != place[i])
			*parent = FLAME_MIXED;
	}
}

int report_flame_labels_make(const struct frame_names *names, const struct tree *tree,
			     const char *const *label_order, struct flame_labels *labels)
{
	struct by_place by = { names, label_order };
	size_t nnames = (size_t)names->pool.count + 1;
	uint32_t *of_name = malloc(nnames * sizeof(*of_name));
	int err = -ENOMEM;

	*labels = (struct flame_labels){ .values = malloc(nnames * sizeof(*labels->values)),
					 .place = malloc(tree->count * sizeof(*labels->place)) };
	if (of_name && labels->values && labels->place) {
		find_values(&by, tree, labels, of_name);
		spread(names, tree, of_name, labels->place);
		err = 0;
	}
	free(of_name);
	return err;
}

void report_flame_labels_free(struct flame_labels *labels)
{
	free(labels->values);
	free(labels->place);
	*labels = (struct flame_labels){ 0 };
}
