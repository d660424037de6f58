/* SPDX-License-Identifier: BSD-2-Clause */
/* The same profile with other names of frames. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "copy.h"
#include "text.h"

/* By how much the deepest stack may become deeper. */
static int find_room(const struct report *r, uint32_t *room)
{
	uint32_t *depth = calloc((size_t)r->nnodes + 1, sizeof(*depth)), most = 0;

	if (!depth)
		return -ENOMEM;
	/* A node comes behind the one that calls it. */
	for (uint32_t i = 1; i < r->nnodes; i++) {
		depth[i] = depth[r->nodes[i].parent] + 1;
		most = depth[i] > most ? depth[i] : most;
	}
	free(depth);
	*room = most < REPORT_MAX_STACK ? REPORT_MAX_STACK - most : 0;
	return 0;
}

int report_change_frames(const struct report *r, int (*change)(void *ctx, struct report_frame *f),
			 void *ctx, struct report **out)
{
	struct copying c;
	int err = report_copy_begin(&c, r);

	if (err)
		return err;
	c.inlines = calloc((size_t)r->frames.count + 1, sizeof(*c.inlines));
	if (!c.inlines || find_room(r, &c.room))
		return report_copy_end(&c, -ENOMEM, out);
	c.change = change;
	c.ctx = ctx;
	for (uint32_t i = 0; i < r->samples.count && !err; i++)
		err = report_copy_whole(&c, i);
	if (!err)
		err = report_copy_stream(&c);
	return report_copy_end(&c, err, out);
}

#define LONGEST_NAME 65536

static int add_line(void *ctx, struct report_frame *frame)
{
	struct buf *b = ctx;

	/* A name that a file has once would stand there again with each line. */
	if (!frame->name || !frame->file || strlen(frame->name) > LONGEST_NAME)
		return 0;
	report_buf_reset(b);
	report_buf_printf(b, "%s %s:%u", frame->name, report_text_base(frame->file), frame->line);
	frame->name = b->s;
	return b->err;
}

int report_lines_in_names(const struct report *r, struct report **out)
{
	struct buf b = { 0 };
	int err = report_change_frames(r, add_line, &b, out);

	report_buf_free(&b);
	return err;
}
