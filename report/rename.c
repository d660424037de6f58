/* SPDX-License-Identifier: BSD-2-Clause */
/* The same profile with other names of frames. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "copy.h"
#include "text.h"

int report_change_frames(const struct report *r,
			 int (*change)(void *ctx, struct report_frame *frame), void *ctx,
			 struct report **out)
{
	struct copying c;
	int err = report_copy_begin(&c, r);

	if (err)
		return err;
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
