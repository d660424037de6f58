/* SPDX-License-Identifier: BSD-2-Clause */
/* The page of a walk of the verifier: markup and script, and the data between. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/report.h>

#include "report/packed.h"

/* What stands before the mark; the rest is behind it. NULL: there is no such mark. */
static char *put_until(FILE *file, char *page, const char *mark)
{
	char *at = strstr(page, mark);

	if (!at)
		return NULL;
	fwrite(page, 1, (size_t)(at - page), file);
	return at + strlen(mark);
}

static void put_text(FILE *file, const char *text)
{
	for (; *text; text++)
		if (*text == '<' || *text == '&')
			fputs(*text == '<' ? "&lt;" : "&amp;", file);
		else
			fputc(*text, file);
}

int report_write_walk(FILE *file, const char *title, const char *json)
{
	char *page = NULL, *rest;
	int err = report_unpack(&report_packed_walk, &page);

	if (err)
		return err;
	rest = put_until(file, page, "@TITLE@");
	if (rest) {
		put_text(file, title);
		rest = put_until(file, rest, "@DATA@");
	}
	if (rest) {
		fputs(json, file);
		fputs(rest, file);
	}
	free(page);
	return !rest ? -EIO : fflush(file) || ferror(file) ? -errno : 0;
}
