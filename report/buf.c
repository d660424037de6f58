/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes that grow, and a stream that remembers its first error. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"

static int buf_room(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 64;
	char *s;

	if (b->err)
		return b->err;
	if (n >= SIZE_MAX / 2 - b->len)
		return b->err = -ENOMEM;
	while (cap < b->len + n + 1)
		cap *= 2;
	if (cap == b->cap)
		return 0;
	s = realloc(b->s, cap);
	if (!s)
		return b->err = -ENOMEM;
	b->s = s;
	b->cap = cap;
	return 0;
}

void report_buf_add(struct buf *b, const void *bytes, size_t n)
{
	if (buf_room(b, n))
		return;
	memcpy(b->s + b->len, bytes, n);
	b->len += n;
	b->s[b->len] = 0;
}

void report_buf_puts(struct buf *b, const char *s)
{
	report_buf_add(b, s, strlen(s));
}

void report_buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0 || buf_room(b, (size_t)n))
		return;
	va_start(args, format);
	vsnprintf(b->s + b->len, (size_t)n + 1, format, args);
	va_end(args);
	b->len += (size_t)n;
}

void report_buf_reset(struct buf *b)
{
	b->len = 0;
	report_buf_add(b, "", 0);
}

void report_buf_free(struct buf *b)
{
	free(b->s);
	*b = (struct buf){ 0 };
}

static void out_fail(struct out *o)
{
	if (!o->err)
		o->err = errno ? -errno : -EIO;
}

void report_out_write(struct out *o, const void *bytes, size_t n)
{
	o->written += n;
	if (!o->err && fwrite_unlocked(bytes, 1, n, o->file) != n)
		out_fail(o);
}

void report_out_puts(struct out *o, const char *s)
{
	report_out_write(o, s, strlen(s));
}

void report_out_putc(struct out *o, char c)
{
	o->written++;
	if (!o->err && putc_unlocked(c, o->file) == EOF)
		out_fail(o);
}

void report_out_u64(struct out *o, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	report_out_write(o, digits + at, sizeof(digits) - at);
}

void report_out_hex(struct out *o, uint64_t v, unsigned int digits, char pad)
{
	char s[16];
	size_t at = sizeof(s);

	do {
		s[--at] = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	if (digits > sizeof(s) - at)
		report_out_fill(o, pad, digits - (sizeof(s) - at));
	report_out_write(o, s + at, sizeof(s) - at);
}

void report_out_hundredths(struct out *o, double v)
{
	uint64_t hundredths = (uint64_t)(v * 100 + 0.5);

	report_out_u64(o, hundredths / 100);
	report_out_putc(o, '.');
	report_out_putc(o, (char)('0' + hundredths / 10 % 10));
	report_out_putc(o, (char)('0' + hundredths % 10));
}

void report_out_fill(struct out *o, char c, size_t n)
{
	while (n--)
		report_out_putc(o, c);
}

void report_out_printf(struct out *o, const char *format, ...)
{
	va_list args;

	if (o->err)
		return;
	va_start(args, format);
	if (vfprintf(o->file, format, args) < 0)
		out_fail(o);
	va_end(args);
}

void report_out_buf(struct out *o, const struct buf *b)
{
	if (!o->err)
		o->err = b->err;
	report_out_write(o, b->s, b->len);
}

int report_out_end(struct out *o)
{
	if (!o->err && fflush(o->file))
		out_fail(o);
	return o->err;
}
