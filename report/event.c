/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples as they come, in lines for a person or one folded line each. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "clock.h"
#include "write.h"

/* ISO 8601 in local time with microseconds: 2026-07-21T14:03:05.123456+02:00. */
static void put_time(struct out *o, uint64_t wall_ns)
{
	const struct wall_clock c = report_clock_local(wall_ns);
	const unsigned int offset = (unsigned int)abs(c.offset);

	report_out_printf(o, "%04u-%02u-%02uT%02u:%02u:%02u.%06" PRIu64 "%c%02u:%02u", c.year,
			  c.month, c.day, c.hour, c.minute, c.second, wall_ns / 1000 % 1000000,
			  c.offset < 0 ? '-' : '+', offset / 60, offset % 60);
}

static void put_frame(struct out *o, struct buf *b, const struct report_frame *f,
		      const struct report_options *options)
{
	report_buf_reset(b);
	report_name_frame(b, f, options, false);
	if (f->name && *f->name && f->kind != REPORT_MARK && f->kind != REPORT_INLINED)
		report_buf_printf(b, "+0x%" PRIx64, f->symbol_offset);
	report_out_printf(o, "    %016" PRIx64 "  ", f->address);
	report_out_buf(o, b);
	if (f->kind == REPORT_INLINED) {
		report_out_puts(o, " (inlined)");
	} else if (f->module && *f->module) {
		report_out_puts(o, "  (");
		report_out_clean(o, f->module);
		report_out_putc(o, ')');
	} else if (f->kind == REPORT_KERNEL) {
		report_out_puts(o, "  ([kernel])");
	}
	if (f->file && *f->file) {
		report_out_puts(o, "  ");
		report_out_clean(o, f->file);
		if (f->line)
			report_out_printf(o, ":%" PRIu32, f->line);
	}
	report_out_putc(o, '\n');
}

int report_write_event(FILE *file, const struct report_event *event,
		       const struct report_options *given)
{
	static const struct report_options plain;
	const struct report_options *options = given ? given : &plain;
	struct out o = { .file = file, .err = ferror(file) ? -EIO : 0 };
	struct buf b = { 0 };

	put_time(&o, event->wall_ns);
	report_out_puts(&o, "  ");
	report_name_comm(&b, event->comm, false);
	report_out_buf(&o, &b);
	report_out_printf(&o, "  pid %" PRId32 "  tid %" PRId32, event->pid, event->tid);
	if (event->cpu >= 0)
		report_out_printf(&o, "  cpu %" PRId32, event->cpu);
	if (event->event) {
		report_out_puts(&o, "  ");
		report_out_clean(&o, event->event);
	}
	if (event->value > 1)
		report_out_printf(&o, "  %" PRIu64, event->value);
	report_out_putc(&o, '\n');
	for (size_t i = 0; i < event->nframes; i++)
		put_frame(&o, &b, &event->frames[i], options);
	if (!event->nframes)
		report_out_puts(&o, "    [no stack]\n");
	report_out_putc(&o, '\n');
	report_buf_free(&b);
	return o.err;
}

int report_write_event_folded(FILE *file, const struct report_event *event,
			      const struct report_options *given)
{
	static const struct report_options plain;
	const struct report_options *options = given ? given : &plain;
	struct out o = { .file = file, .err = ferror(file) ? -EIO : 0 };
	struct buf b = { 0 };

	put_time(&o, event->wall_ns);
	report_name_comm(&b, event->comm, true);
	report_out_putc(&o, ' ');
	report_out_buf(&o, &b);
	report_out_printf(&o, " %" PRId32 " %" PRId32 " %" PRId32 " ", event->pid, event->tid,
			  event->cpu);
	for (size_t i = event->nframes; i--;) {
		bool kernel = event->frames[i].kind == REPORT_KERNEL;

		report_buf_reset(&b);
		report_name_frame(&b, &event->frames[i], options, true);
		report_out_buf(&o, &b);
		if (i && options->delimiter &&
		    kernel != (event->frames[i - 1].kind == REPORT_KERNEL))
			report_out_puts(&o, ";-");
		if (i)
			report_out_putc(&o, ';');
	}
	if (!event->nframes)
		report_out_puts(&o, "[unknown]");
	report_out_printf(&o, " %" PRIu64 "\n", event->value ? event->value : 1);
	report_buf_free(&b);
	return o.err;
}
