/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that were taken apart, in the page's data; their shape is in data.c. */
#include <rawprof/report.h>

#include "html.h"

static uint64_t shifted(const struct html *h, uint64_t weight)
{
	return weight >> h->shift[h->options.weight];
}

static void put_line(struct html *h, const struct report_code_line *line)
{
	struct out *o = &h->json.out;

	report_out_puts(o, "\n[");
	report_html_clean(h, line->text);
	if (line->total) {
		report_out_putc(o, ',');
		report_out_u64(o, shifted(h, line->self));
		report_out_putc(o, ',');
		report_out_u64(o, shifted(h, line->total));
	}
	report_out_putc(o, ']');
}

static void put_function(struct html *h, const struct report_code *code)
{
	struct json_out *j = &h->json;

	report_json_open(j);
	report_json_key(j, "name");
	report_html_clean(h, code->name);
	report_json_key(j, "module");
	report_html_clean(h, code->module ? code->module : "");
	report_json_number(j, "self", shifted(h, code->self));
	report_json_number(j, "total", shifted(h, code->total));
	report_json_key(j, "lines");
	report_out_putc(&j->out, '[');
	for (size_t i = 0; i < code->n; i++) {
		report_out_puts(&j->out, i ? "," : "");
		put_line(h, &code->lines[i]);
	}
	report_out_putc(&j->out, ']');
	report_json_close(j);
}

void report_html_code(struct html *h)
{
	struct json_out *j = &h->json;

	if (!h->options.ncode)
		return;
	report_out_putc(&j->out, '\n');
	report_json_key(j, "code");
	for (size_t i = 0; i < h->options.ncode; i++) {
		report_out_putc(&j->out, i ? ',' : '[');
		put_function(h, &h->options.code[i]);
	}
	report_out_putc(&j->out, ']');
}
