/* SPDX-License-Identifier: BSD-2-Clause */
/* What several writers share. */
#ifndef REPORT_WRITE_H
#define REPORT_WRITE_H

#include "names.h"
#include "report.h"
#include "text.h"
#include "tree.h"

/* Fills in the defaults of everything that has one but the svg's texts. 0 or -EINVAL. */
int report_options_resolve(const struct report *r, const struct report_options *given,
			   struct report_options *options);

/* Rounds halves up. */
static inline uint64_t divide_rounded(uint64_t v, uint64_t divisor)
{
	return v / divisor + (v % divisor >= divisor - divisor / 2);
}

/* The tree of the names, children sorted by name. */
int report_tree_by_name(const struct report *r, const struct frame_names *names,
			const struct report_options *options, struct tree *t);

void report_add_profile_circumstances(struct buf *b, const struct report *r);

/* In a comparison for qsort: decides if the two differ. */
#define COMPARE(a, b)                                                                              \
	do {                                                                                       \
		if ((a) != (b))                                                                    \
			return (a) < (b) ? -1 : 1;                                                 \
	} while (0)

/* order.c: orders that depend on what is in a profile, not on the order in which it came. */
struct order {
	uint32_t *strings;   /* rank of each string, */
	uint32_t *functions; /* of each function: by name, module, kind */
	uint32_t *frames;    /* of each frame, by all it has; NULL unless asked for */
	uint32_t *samples;   /* the samples, sorted by comm, stack, pid, tid, labels; likewise */
};

int report_order_make(const struct report *r, bool samples, struct order *order); /* 0 or -ENOMEM */
void report_order_free(struct order *order);

#endif
