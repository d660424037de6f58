/* SPDX-License-Identifier: BSD-2-Clause */
/* The tree of a difference in the order in which it is written: siblings by name. */
#ifndef REPORT_DIFF_GRAPH_H
#define REPORT_DIFF_GRAPH_H

#include "diff.h"

struct diff_link {
	uint32_t child, next; /* NONE: no more */
	struct diff_pair total;
	uint64_t width; /* the sum of the larger side of each stack: what vanished has one too */
};

/* Of each node, to be freed; NULL: no memory. */
struct diff_link *report_diff_links(const struct report_diff *d);

/* The node after `at` in preorder, 0 after the last; *depth follows. */
uint32_t report_diff_next(const struct report_diff *d, const struct diff_link *links, uint32_t at,
			  unsigned int *depth);

#endif
