/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes made fit to be printed: what a terminal or a format would obey is spelt out. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lack.h"
#include "text.h"

/* ---- one character */

/* Length of the UTF-8 character at s (RFC 3629: shortest form, no surrogates), its code point in
 * *code; 0 if there is none. */
static size_t decode(const unsigned char *s, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80	 ? 1
		   : s[0] < 0xc2 ? 0
		   : s[0] < 0xe0 ? 2
		   : s[0] < 0xf0 ? 3
		   : s[0] < 0xf5 ? 4
				 : 0;

	if (n <= 1) {
		*code = s[0];
		return n;
	}
	*code = s[0] & (0x7f >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (s[i] & 0x3f);
	}
	if (*code < least[n] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
		return 0;
	return n;
}

/* Nothing a terminal obeys, a line of text ends at, or XML forbids (C0, DEL, C1, U+2028, U+2029,
 * the directional overrides and marks, U+FFFE, U+FFFF). */
static bool printable(uint32_t code)
{
	if (code < 0x20 || (code >= 0x7f && code < 0xa0))
		return false;
	if ((code >= 0x2028 && code <= 0x202e) || code == 0x200e || code == 0x200f)
		return false;
	if (code == 0x061c || (code >= 0x2066 && code <= 0x2069))
		return false;
	return (code & 0xfffe) != 0xfffe;
}

size_t rp_text_unit(const char **s, char out[RP_TEXT_UNIT], unsigned int *columns)
{
	const unsigned char *p = (const unsigned char *)*s;
	uint32_t code;
	size_t n = decode(p, &code), length;

	if (n && printable(code)) {
		memcpy(out, p, n);
		out[n] = 0;
		*s += n;
		if (columns)
			*columns = 1;
		return n;
	}
	*s += 1; /* the rest of a longer one follows as bytes of its own */
	if (*p == '\n' || *p == '\t' || *p == '\r')
		length = (size_t)snprintf(out, RP_TEXT_UNIT, "\\%c",
					  *p == '\n'   ? 'n'
					  : *p == '\t' ? 't'
						       : 'r');
	else
		length = (size_t)snprintf(out, RP_TEXT_UNIT, "\\x%02x", *p);
	if (columns)
		*columns = (unsigned int)length;
	return length;
}

size_t rp_text_json_unit(const char **s, char out[RP_TEXT_UNIT])
{
	const unsigned char *p = (const unsigned char *)*s;
	uint32_t code;
	size_t n = decode(p, &code);

	*s += n ? n : 1;
	if (!n)
		return (size_t)snprintf(out, RP_TEXT_UNIT, "\\\\x%02x", *p);
	if (code == '"' || code == '\\')
		return (size_t)snprintf(out, RP_TEXT_UNIT, "\\%c", (char)code);
	if (!printable(code) && code <= 0xffff)
		return (size_t)snprintf(out, RP_TEXT_UNIT, "\\u%04x", (unsigned int)code);
	memcpy(out, p, n);
	out[n] = 0;
	return n;
}

size_t rp_text_plain(const char *s)
{
	size_t n = 0;

	while (s[n] >= 0x20 && s[n] < 0x7f)
		n++;
	return n;
}

/* ---- a message */

/* The printable form of s, in which each byte of `from` stands for that of `to`. */
static char *clean(const char *s, const char from[3], const char to[3])
{
	char *text = malloc(strlen(s) * 4 + 1), *at = text;
	const char *kept;

	while (text && *s) {
		size_t n = rp_text_plain(s);

		memcpy(at, s, n);
		at += n;
		s += n;
		kept = *s ? strchr(from, *s) : NULL;
		if (kept) {
			*at++ = to[kept - from];
			s++;
		} else if (*s) {
			at += rp_text_unit(&s, at, NULL);
		}
	}
	if (text)
		*at = 0;
	return text;
}

/* Two bytes that are no part of any character, and that neither the message nor its format has;
 * fewer if there are not so many. */
static void find_unused(const char *message, const char *fmt, char unused[3])
{
	int n = 0;

	memset(unused, 0, 3);
	for (int c = 1; c < 0x100 && n < 2; c = c == 0x1f ? 0xf5 : c + 1)
		if (!strchr(message, c) && !strchr(fmt, c))
			unused[n++] = (char)c;
}

/* The format with bytes that stand for its line breaks and tabs, so that both are told from those
 * of the arguments. */
static char *mark(const char *fmt, const char marks[3])
{
	char *marked = strdup(fmt);

	for (char *at = marked; at && *at; at++)
		if (*at == '\n' && marks[0])
			*at = marks[0];
		else if (*at == '\t' && marks[1])
			*at = marks[1];
	return marked;
}

__attribute__((format(printf, 1, 0))) static char *format(const char *fmt, va_list args)
{
	char *text;

	return vasprintf(&text, fmt, args) < 0 ? NULL : text;
}

char *rp_text_format(const char *fmt, va_list args)
{
	char marks[3] = "", *message, *marked, *text = NULL;
	va_list again;

	va_copy(again, args);
	message = format(fmt, args);
	if (message && strpbrk(fmt, "\n\t")) {
		find_unused(message, fmt, marks);
		free(message);
		marked = mark(fmt, marks);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		message = marked ? format(marked, again) : NULL;
#pragma GCC diagnostic pop
		free(marked);
	}
	va_end(again);
	if (message)
		text = clean(message, marks, "\n\t");
	free(message);
	return text;
}

int rp_text_print(FILE *f, const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = rp_text_format(fmt, args);
	va_end(args);
	if (!text) {
		rp_lack(-ENOMEM, "a line of text");
		fputs(*fmt && fmt[strlen(fmt) - 1] == '\n' ? "?\n" : "?", f);
		return -ENOMEM;
	}
	fputs(text, f);
	free(text);
	return 0;
}

char *rp_text_lines(const char *s)
{
	return clean(s, "\n\t", "\n\t");
}

void rp_text_print_json(FILE *f, const char *s)
{
	char unit[RP_TEXT_UNIT];

	putc('"', f);
	while (*s) {
		rp_text_json_unit(&s, unit);
		fputs(unit, f);
	}
	putc('"', f);
}

char *rp_text_untranslated(const char *domain, const char *message, int category)
{
	(void)domain;
	(void)category;
	return (char *)message;
}
