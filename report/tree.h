/* SPDX-License-Identifier: BSD-2-Clause */
/* The stacks of a profile merged by what a view calls equal: flame graphs, folded, top
 * stacks. */
#ifndef REPORT_TREE_H
#define REPORT_TREE_H

#include "report.h"

/*
 * Node 0 is the root; below it are the processes' names, below them frames. A parent has a smaller
 * number than its children.
 */
struct tree_node {
	uint32_t parent, key;
	uint64_t self;
};

/*
 * What a sorted tree has beside each node. total = self + the totals of the children; that of the
 * root is the profile's. child and next are NONE at the end of their lists.
 */
struct tree_link {
	uint32_t child, next;
	uint64_t total;
};

struct tree {
	struct tree_node *nodes;
	struct tree_link *links; /* NULL until report_tree_sort() */
	uint32_t count, cap;
	struct hash_index index; /* empty once the tree is built */
};

struct tree_view {
	const uint32_t *of_frame;  /* key of each frame; frames with one key are equal */
	const uint32_t *of_comm;   /* key of each comm, by string */
	const uint32_t *of_labels; /* key of a leafmost node for each set of labels, or NONE for
				      none; NULL: no such nodes */
	uint32_t empty_stack;	   /* key of a stack without frames */
	uint32_t delimiter;  /* key of a node between user and kernel frames, NONE: no such node */
	unsigned int weight; /* value type */
	bool reverse;	     /* leaf first */
};

/* Samples without weight are left out. 0 or -ENOMEM; to be freed in either case. */
int report_tree_build(const struct report *r, const struct tree_view *view, struct tree *t);
/* Adds up totals and links children in the order of rank[key], which is below nranks. */
int report_tree_sort(struct tree *t, const uint32_t *rank, uint32_t nranks);
void report_tree_free(struct tree *t);

/* The node after `at` in preorder, 0 after the last; *depth follows. Needs report_tree_sort(). */
uint32_t report_tree_next(const struct tree *t, uint32_t at, unsigned int *depth);

#endif
