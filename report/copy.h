/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From one profile to another: samples of the first are added to the second, with what they refer
 * to. What no sample refers to does not come along.
 */
#ifndef REPORT_COPY_H
#define REPORT_COPY_H

#include "report.h"

struct copying {
	const struct report *from;
	struct report *to;
	/* What has come along has these numbers there; NONE: it has not. */
	uint32_t *strings, *frames, *nodes, *label_sets, *samples;
	/* Changes a frame on its way, as report_change_frames() says. NULL: none is changed. */
	int (*change)(void *ctx, struct report_frame *frame);
	void *ctx;
	/* With it: of each frame the ones there that are inlined in it, in pool from @first on. */
	struct copied_inlines {
		uint32_t first, n;
	} * inlines;
	uint32_t *pool, npool, pool_capacity;
	uint32_t room; /* how many of them may be in one stack, however deep it is */
};

/* A profile with the value types of @from, and what is known about it. 0 or a negative errno. */
int report_copy_begin(struct copying *c, const struct report *from);
/* The same with these value types. */
int report_copy_begin_types(struct copying *c, const struct report *from,
			    const struct report_value_type *types, size_t ntypes);
/* 0 and the profile, or err, or another negative errno. */
int report_copy_end(struct copying *c, int err, struct report **out);

/*
 * The same frame, node, sample there; a sample with the stack that ends at node there, and these
 * values, or NULL: its own.
 */
int report_copy_frame(struct copying *c, uint32_t frame, uint32_t *out);
int report_copy_node(struct copying *c, uint32_t node, uint32_t *out);
/* A set of labels, without those whose keys are in the list @except, the same for all. */
int report_copy_labels(struct copying *c, uint32_t label_set, const char *except, uint32_t *out);
int report_copy_sample(struct copying *c, uint32_t sample, uint32_t node, const uint64_t *values);
/* A sample as it is, with its stack. */
int report_copy_whole(struct copying *c, uint32_t sample);

/* Moments of the samples that have come along, if there is a stream. */
int report_copy_stream(struct copying *c);

/* The ledger says that so many events less are in it: filtered by @cause. */
int report_copy_ledger(struct copying *c, const char *cause);

#endif
