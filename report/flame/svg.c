/* SPDX-License-Identifier: BSD-2-Clause */
/* The flame graph as a file of its own, and in a page. */
#include <errno.h>

#include "flame.h"

int report_write_svg(const struct report *r, FILE *file, const struct report_options *options)
{
	struct out o = { .file = file };
	int err;

	report_out_puts(&o, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n");
	err = report_flame_write(r, &o, options);
	return err ? err : report_out_end(&o);
}

int report_write_html(const struct report *r, FILE *file, const struct report_options *options)
{
	static const struct report_options plain;
	struct out o = { .file = file };
	struct buf title = { 0 };
	int err;

	report_flame_title(r, options ? options : &plain, &title);
	report_out_puts(&o,
			"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			"<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
	report_out_xml(&o, title.err ? "rawprof" : title.s);
	report_out_puts(&o,
			"</title>\n<style>\n"
			"html { background: #fff; color-scheme: light dark; }\n"
			"body { margin: 0; }\n"
			"svg { display: block; }\n"
			"@media (prefers-color-scheme: dark) { html { background: #16181d; } }\n"
			"</style>\n</head>\n<body>\n");
	report_buf_free(&title);
	err = report_flame_write(r, &o, options);
	report_out_puts(&o, "</body>\n</html>\n");
	return err ? err : report_out_end(&o);
}
