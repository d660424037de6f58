/* SPDX-License-Identifier: BSD-2-Clause */
/* The page: markup and script, which are the same for all, with a profile's data between. */
#include <errno.h>
#include <stdlib.h>

#include "html.h"
#include "report/flame/flame.h"
#include "report/packed.h"

static void put_title(struct html *h)
{
	struct buf title = { 0 };

	report_flame_title(h->r, &h->options, &title);
	report_out_xml(&h->json.out, title.len && !title.err ? title.s : "rawprof");
	report_buf_free(&title);
}

/* What stands before the mark; the rest is behind it. NULL: there is no such mark. */
static char *put_until(struct out *o, char *page, const char *mark)
{
	char *at = strstr(page, mark);

	if (!at)
		return NULL;
	report_out_write(o, page, (size_t)(at - page));
	return at + strlen(mark);
}

static int put_page(struct html *h, char *page)
{
	struct out *o = &h->json.out;

	page = put_until(o, page, "@TITLE@");
	if (!page)
		return -EIO;
	put_title(h);
	page = put_until(o, page, "@DATA@");
	if (!page)
		return -EIO;
	report_html_data(h);
	report_out_puts(o, page);
	return report_out_end(o);
}

int report_write_html(const struct report *r, FILE *file, const struct report_options *options)
{
	struct html h = { .json = { .out = { .file = file } }, .r = r };
	char *page = NULL;
	int err = report_options_resolve(r, options, &h.options);

	if (!err)
		err = report_html_gather(&h);
	if (!err)
		err = report_unpack(&report_packed_page, &page);
	if (!err)
		err = put_page(&h, page);
	free(page);
	report_html_free(&h);
	return err;
}
