/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines are made by the hundred thousand, so what is most of them is put together without stdio. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "out.h"

static bool make_room(struct record_out *o, size_t more)
{
	if (o->n + more > o->capacity)
		o->failed = o->failed || RP_GROW_TO(o->text, o->n + more, o->capacity);
	return !o->failed;
}

void record_out_bytes(struct record_out *o, const char *s, size_t n)
{
	if (!n || !make_room(o, n))
		return;
	memcpy(o->text + o->n, s, n);
	o->n += n;
}

void record_out_str(struct record_out *o, const char *s)
{
	record_out_bytes(o, s, strlen(s));
}

void record_out_char(struct record_out *o, char c)
{
	record_out_bytes(o, &c, 1);
}

void record_out_number(struct record_out *o, uint64_t v)
{
	char digits[20];
	size_t n = sizeof(digits);

	do
		digits[--n] = (char)('0' + v % 10);
	while (v /= 10);
	record_out_bytes(o, digits + n, sizeof(digits) - n);
}

void record_out_signed(struct record_out *o, int64_t v)
{
	if (v < 0)
		record_out_char(o, '-');
	record_out_number(o, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void record_out_hex(struct record_out *o, uint64_t v)
{
	char digits[18];
	size_t n = sizeof(digits);

	do
		digits[--n] = "0123456789abcdef"[v & 15];
	while (v >>= 4);
	digits[--n] = 'x';
	digits[--n] = '0';
	record_out_bytes(o, digits + n, sizeof(digits) - n);
}

void record_out_printf(struct record_out *o, const char *fmt, ...)
{
	va_list args, again;
	int n;

	va_start(args, fmt);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, fmt, args);
	if (n > 0 && make_room(o, (size_t)n + 1)) {
		vsnprintf(o->text + o->n, (size_t)n + 1, fmt, again);
		o->n += (size_t)n;
	}
	va_end(again);
	va_end(args);
}

/* Bytes that stand for themselves within quotes. */
static size_t plain(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && s[i] >= ' ' && s[i] < 0x7f && s[i] != '"' && s[i] != '\\')
		i++;
	return i;
}

static void put_quoted(struct record_out *o, const char *s, size_t n,
		       size_t (*unit)(const char **s, char out[RP_TEXT_UNIT]))
{
	const size_t length = strnlen(s, n), easy = plain(s, length);
	char *rest;

	record_out_char(o, '"');
	record_out_bytes(o, s, easy);
	rest = easy < length ? strndup(s + easy, length - easy) : NULL;
	o->failed = o->failed || (easy < length && !rest);
	for (const char *at = rest; at && *at;) {
		char out[RP_TEXT_UNIT] = "";
		const size_t bytes = unit(&at, out);

		record_out_bytes(o, out, bytes);
	}
	free(rest);
	record_out_char(o, '"');
}

/* As in C: so the end of the text can be told from a quote in it. */
static size_t text_unit(const char **s, char out[RP_TEXT_UNIT])
{
	if (**s != '"' && **s != '\\')
		return rp_text_unit(s, out, NULL);
	out[0] = '\\';
	out[1] = *(*s)++;
	return 2;
}

void record_out_quoted(struct record_out *o, const char *s, size_t n)
{
	put_quoted(o, s, n, text_unit);
}

void record_out_json(struct record_out *o, const char *s, size_t n)
{
	put_quoted(o, s, n, rp_text_json_unit);
}

void record_out_free(struct record_out *o)
{
	free(o->text);
	*o = (struct record_out){ 0 };
}
