/* SPDX-License-Identifier: BSD-2-Clause */
/* What stands above every table. */
#include "report/clock.h"
#include "table.h"

/* "14:03:05  ", local time. */
static void put_clock(struct out *out, uint64_t wall_ns)
{
	const struct wall_clock c = report_clock_local(wall_ns);

	if (wall_ns)
		report_out_printf(out, "%02u:%02u:%02u  ", c.hour, c.minute, c.second);
}

void report_table_head(struct out *out, const struct report_options *options,
		       const struct report_meta *meta, const char *what, uint64_t count,
		       const char *events)
{
	const struct report_info *info = &meta->info;
	struct buf b = { 0 };

	report_out_puts(out, color_code(options, TABLE_BOLD));
	if (options->part) {
		put_clock(out, info->start_ns ? info->start_ns + info->duration_ns : 0);
	} else {
		report_add_title(&b, info);
		report_out_buf(out, &b);
		report_out_printf(out, "%s\n", color_code(options, TABLE_RESET));
	}
	report_buf_reset(&b);
	report_add_circumstances(&b, info, count, events);
	report_out_buf(out, &b);
	if (what) {
		report_out_puts(out, "; ");
		report_out_clean(out, what);
	}
	report_out_printf(out, "%s\n", options->part ? color_code(options, TABLE_RESET) : "");
	report_buf_free(&b);
}

void report_table_nothing(struct out *out, const char *events)
{
	report_out_puts(out, "\nNothing was recorded: no ");
	report_out_clean(out, events);
	report_out_puts(out, ".\n");
}
