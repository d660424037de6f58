/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile that others made as large as they liked, in the size that it may have. */
#include "copy.h"

/* What it may take in a file: all but names packs well, and they need not. */
static uint64_t bytes_of(const struct report *r)
{
	enum { NODE = 2, FRAME = 16, SAMPLE = 8 };

	return (uint64_t)r->strings.len + (uint64_t)r->nnodes * NODE +
	       (uint64_t)r->frames.count * FRAME + (uint64_t)r->samples.count * SAMPLE;
}

static int add(struct copying *c, uint32_t sample, report_take_fn *take, void *ctx)
{
	const int32_t pid = sample_of(c->from, sample)->pid;
	const uint64_t before = bytes_of(c->to);
	const int err = take(ctx, pid, 0) ? report_copy_whole(c, sample)
					  : report_copy_sample(c, sample, 0, NULL);

	if (!err && bytes_of(c->to) > before)
		take(ctx, pid, bytes_of(c->to) - before);
	return err;
}

int report_within(const struct report *r, uint64_t most, report_take_fn *take, void *ctx,
		  struct report **out)
{
	struct copying c;
	int err;

	*out = NULL;
	if (bytes_of(r) <= most)
		return 0;
	err = report_copy_begin(&c, r);
	for (uint32_t i = 0; i < r->samples.count && !err; i++)
		err = add(&c, i, take, ctx);
	if (!err)
		err = report_copy_stream(&c);
	return report_copy_end(&c, err, out);
}
