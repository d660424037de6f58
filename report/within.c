/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile that others made as large as they liked, in the size that it may have. */
#include <errno.h>
#include <stdlib.h>

#include "copy.h"

/* What it may take in a file: all but names packs well, and they need not. */
static uint64_t bytes_of(const struct report *r)
{
	enum { NODE = 4, FRAME = 16, SAMPLE = 8 };

	return (uint64_t)r->strings.len + (uint64_t)r->nnodes * NODE +
	       (uint64_t)r->frames.count * FRAME + (uint64_t)r->samples.count * SAMPLE;
}

struct room {
	uint64_t most;
	report_take_fn *take;
	void *ctx;
};

static int add(struct copying *c, uint32_t sample, const struct room *room)
{
	const int32_t pid = sample_of(c->from, sample)->pid;
	const uint64_t before = bytes_of(c->to);
	const bool is_whole = room->take(room->ctx, room->most, pid, 0);
	const int err =
		is_whole ? report_copy_whole(c, sample) : report_copy_sample(c, sample, 0, NULL);

	/* Without frames it is in any case: that leaves others no less. */
	if (!err && is_whole && bytes_of(c->to) > before)
		room->take(room->ctx, room->most, pid, bytes_of(c->to) - before);
	return err;
}

static int copy_within(const struct report *r, const struct room *room, struct report **out)
{
	struct copying c;
	int err = report_copy_begin(&c, r);

	for (uint32_t i = 0; i < r->samples.count && !err; i++)
		err = add(&c, i, room);
	if (!err)
		err = report_copy_stream(&c);
	return report_copy_end(&c, err, out);
}

static int write_all(const struct report *r, const struct report_options *show, char **data,
		     size_t *size)
{
	FILE *f = open_memstream(data, size);
	int err = f ? report_write_saved(r, f, show) : -ENOMEM;

	if (f && fclose(f) && !err)
		err = -ENOMEM;
	return err;
}

/* How well it packs is known only once it is written, which takes a while: half, 1/8, 1/64, ... */
enum { TIMES = 6 };
int report_write_within(const struct report *r, uint64_t most, report_take_fn *take, void *ctx,
			const struct report_options *show, char **data, size_t *size)
{
	struct room room = { .take = take, .ctx = ctx };
	struct report *less = NULL;
	int err;

	*data = NULL;
	/* What takes long to write, and is too large in the end. */
	err = bytes_of(r) > 2 * most ? -EFBIG : write_all(r, show, data, size);
	for (int i = 1; (err ? err == -EFBIG : *size > most) && i <= TIMES; i++) {
		room.most = most >> i * (i + 1) / 2;
		free(*data);
		*data = NULL;
		err = copy_within(r, &room, &less);
		if (!err)
			err = write_all(less, show, data, size);
		report_free(less);
		less = NULL;
	}
	return err;
}
