/* SPDX-License-Identifier: BSD-2-Clause */
/* table_head.c: what stands above every table. */
#include "report/clock.h"
#include "table.h"

/* "14:03:05  ", local time. */
static void put_clock(struct out *out, uint64_t wall_ns)
{
	const struct wall_clock c = clock_local(wall_ns);

	if (wall_ns)
		out_printf(out, "%02u:%02u:%02u  ", c.hour, c.minute, c.second);
}

void table_head(struct out *out, const struct report_options *options, const struct books *books,
		const char *what, uint64_t count, const char *events)
{
	const struct report_info *info = &books->info;
	struct buf b = { 0 };

	out_puts(out, color_code(options, TABLE_BOLD));
	if (options->part) {
		put_clock(out, info->start_ns ? info->start_ns + info->duration_ns : 0);
	} else {
		add_title(&b, info);
		out_buf(out, &b);
		out_printf(out, "%s\n", color_code(options, TABLE_RESET));
	}
	buf_reset(&b);
	add_circumstances(&b, info, count, events);
	out_buf(out, &b);
	if (what) {
		out_puts(out, "; ");
		out_clean(out, what);
	}
	out_printf(out, "%s\n", options->part ? color_code(options, TABLE_RESET) : "");
	buf_free(&b);
}

void table_nothing(struct out *out, const char *events)
{
	out_puts(out, "\nNothing was recorded: no ");
	out_clean(out, events);
	out_puts(out, ".\n");
}
