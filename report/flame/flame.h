/* SPDX-License-Identifier: BSD-2-Clause */
/* What the flame graph's drawing, its script and its page share. */
#ifndef REPORT_FLAME_H
#define REPORT_FLAME_H

#include <limits.h>

#include "report/write.h"

/* Writes the <svg> element, without the XML declaration; does not flush. 0 or -errno. */
int report_flame_write(const struct report *r, struct out *o, const struct report_options *given);

/* "#rrggbb" of a frame: a function of its name and kind alone, so that it is the same in every
 * graph. */
void report_flame_color(const char *name, uint32_t kind, char color[8]);

/* The colour of a frame whose weight is of one value of a label, the place-th, or of several. */
#define FLAME_MIXED UINT_MAX
void report_flame_color_of_label(const char *name, unsigned int place, char color[8]);

/* The ranges that colours are chosen from, as JSON: see report/html/data.c. */
void report_flame_ranges(struct out *o);

/* labels.c: whose weight is of which value. */
struct flame_labels {
	uint32_t *values; /* the names of the values that occur, by place */
	uint32_t nvalues;
	uint32_t *place; /* of each node of the tree: a place, or FLAME_MIXED */
};

/* The names and the tree have to be made with options->color_by_label. 0 or -ENOMEM; to be freed in
 * either case. */
int report_flame_labels_make(const struct frame_names *names, const struct tree *tree,
			     const char *const *label_order, struct flame_labels *labels);
void report_flame_labels_free(struct flame_labels *labels);

void report_flame_title(const struct report *r, const struct report_options *options,
			struct buf *b);

#endif
