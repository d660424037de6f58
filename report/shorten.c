/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that are too long for their column. */
#include <string.h>

#include "text.h"

/* Appends what of s lies in the columns [first, last); a form that does not fit wholly is left out.
 */
static void buf_columns(struct buf *b, const char *s, unsigned int first, unsigned int last)
{
	unsigned int at = 0, columns;
	char unit[RP_TEXT_UNIT];

	while (*s && at < last) {
		size_t n = rp_text_unit(&s, unit, &columns);

		if (at >= first && at + columns <= last)
			report_buf_add(b, unit, n);
		at += columns;
	}
}

void report_buf_elide(struct buf *b, const char *s, unsigned int columns, const char *dots)
{
	unsigned int width = report_text_columns(s), gap = report_text_columns(dots), head;

	report_buf_add(b, "", 0);
	if (width <= columns) {
		buf_columns(b, s, 0, width);
		return;
	}
	if (columns <= gap) {
		buf_columns(b, s, 0, columns);
		return;
	}
	head = (columns - gap + 1) / 2;
	buf_columns(b, s, 0, head);
	report_buf_puts(b, dots);
	buf_columns(b, s, width - (columns - gap - head), width);
}

/* The end of the bracket that opens at s, behind its closing one; NULL: it stays open. The '>' of
 * "->" closes nothing. */
static const char *bracket_end(const char *s)
{
	char open = *s, close = open == '<' ? '>' : ')';
	int depth = 0;

	for (const char *at = s; *at; at++) {
		if (*at == open)
			depth++;
		else if (*at == close && !(close == '>' && at[-1] == '-') && !--depth)
			return at + 1;
	}
	return NULL;
}

static bool behind_operator(const char *name, const char *at)
{
	size_t n = strlen("operator");

	while (at > name && (at[-1] == '<' || at[-1] == '('))
		at--;
	return (size_t)(at - name) >= n && !memcmp(at - n, "operator", n);
}

/* The outermost brackets of a kind that hold something; only the last of them if `last`. */
static void empty_brackets(struct buf *b, const char *name, char open, bool last, const char *dots)
{
	const char *from = name, *at = name;

	report_buf_reset(b);
	while ((at = strchr(at, open))) {
		const char *end;

		if (behind_operator(name, at)) {
			at++;
			continue;
		}
		end = bracket_end(at);
		if (!end)
			break; /* what follows is not worth a look for each bracket in it */
		/* Brackets around all of it (<frozen importlib>) are no parameters. */
		if (end - at > 2 && !(at == name && !*end) && !(last && strchr(end, open))) {
			report_buf_add(b, from, (size_t)(at + 1 - from));
			report_buf_puts(b, dots);
			from = end - 1;
		}
		at = end;
	}
	report_buf_puts(b, from);
}

void report_buf_shorten(struct buf *b, const char *name, unsigned int columns, const char *dots)
{
	struct buf less = { 0 }, least = { 0 };

	if (report_text_columns(name) <= columns) {
		report_buf_elide(b, name, columns, dots);
		return;
	}
	empty_brackets(&less, name, '<', false, dots);
	if (!less.err && report_text_columns(less.s) > columns)
		empty_brackets(&least, less.s, '(', true, dots);
	if (less.err || least.err)
		b->err = less.err ? less.err : least.err;
	else
		report_buf_elide(b, least.s ? least.s : less.s, columns, dots);
	report_buf_free(&less);
	report_buf_free(&least);
}
