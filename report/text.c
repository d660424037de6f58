/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers for people, and any bytes made safe for a terminal, JSON and XML. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

char *report_text_number(uint64_t v, char s[NUMBER_SIZE])
{
	char *at = &s[NUMBER_SIZE - 1];
	int digits = 0;

	*at = 0;
	do {
		if (digits && digits % 3 == 0)
			*--at = ',';
		*--at = (char)('0' + v % 10);
		v /= 10;
		digits++;
	} while (v);
	return memmove(s, at, (size_t)(s + NUMBER_SIZE - at));
}

/* Three digits: 1.23, 12.3, 123; more before the point if there are. */
static char *three_digits(double v, const char *unit, char s[NUMBER_SIZE])
{
	int decimals = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;

	snprintf(s, NUMBER_SIZE, "%.*f %s", decimals, v, unit);
	return s;
}

char *report_text_duration(uint64_t ns, char s[NUMBER_SIZE])
{
	if (ns < 1000) {
		snprintf(s, NUMBER_SIZE, "%" PRIu64 " ns", ns);
		return s;
	}
	if (ns < 999500)
		return three_digits((double)ns / 1e3, "us", s);
	if (ns < 999500000)
		return three_digits((double)ns / 1e6, "ms", s);
	return three_digits((double)ns / 1e9, "s", s);
}

char *report_text_bytes(uint64_t bytes, char s[NUMBER_SIZE])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double v = (double)bytes / 1024;
	size_t i = 0;

	if (bytes < 1024) {
		snprintf(s, NUMBER_SIZE, "%" PRIu64 " B", bytes);
		return s;
	}
	for (; v >= 999.5 && i < sizeof(units) / sizeof(*units) - 1; i++)
		v /= 1024;
	return three_digits(v, units[i], s);
}

char *report_text_weight(uint64_t v, const char *unit, char s[NUMBER_SIZE])
{
	if (!strcmp(unit, "nanoseconds"))
		return report_text_duration(v, s);
	if (!strcmp(unit, "bytes"))
		return report_text_bytes(v, s);
	return report_text_number(v, s);
}

char *report_text_figure(uint64_t v, enum report_unit unit, char s[NUMBER_SIZE])
{
	switch (unit) {
	case REPORT_UNIT_NS:
		return report_text_duration(v, s);
	case REPORT_UNIT_US:
		return report_text_duration(v > UINT64_MAX / 1000 ? UINT64_MAX : v * 1000, s);
	case REPORT_UNIT_BYTES:
		return report_text_bytes(v, s);
	case REPORT_UNIT_ID:
		snprintf(s, NUMBER_SIZE, "%" PRIu64, v);
		return s;
	default:
		return report_text_number(v, s);
	}
}

char *report_text_real(double v, enum report_unit unit, char s[NUMBER_SIZE])
{
	bool count = unit == REPORT_UNIT_COUNT || unit == REPORT_UNIT_ID;

	if (!(v > 0)) /* nor is it a number */
		v = 0;
	if (unit == REPORT_UNIT_PERCENT)
		snprintf(s, NUMBER_SIZE, "%.1f%%", v < 1e15 ? v : 1e15);
	else if (v > 0 && v < 99.95 && count)
		snprintf(s, NUMBER_SIZE, "%.*f", v < 9.995 ? 2 : 1, v);
	else
		report_text_figure(v < 18e18 ? (uint64_t)(v + 0.5) : UINT64_MAX, unit, s);
	return s;
}

double report_text_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

unsigned int report_text_columns(const char *s)
{
	unsigned int sum = 0, columns;
	char unit[RP_TEXT_UNIT];
	size_t plain;

	for (; *s; sum += columns) {
		plain = rp_text_plain(s);
		sum += (unsigned int)plain;
		s += plain;
		if (!*s)
			break;
		rp_text_unit(&s, unit, &columns);
	}
	return sum;
}

void report_buf_clean(struct buf *b, const char *s, char from, char to)
{
	char unit[RP_TEXT_UNIT];
	size_t n;

	report_buf_add(b, "", 0);
	while (*s) {
		size_t at = b->len;

		n = rp_text_plain(s);
		report_buf_add(b, s, n);
		s += n;
		for (; from && at < b->len; at++)
			if (b->s[at] == from)
				b->s[at] = to;
		if (!*s)
			break;
		n = rp_text_unit(&s, unit, NULL);
		report_buf_add(b, unit, n);
	}
}

void report_out_clean(struct out *o, const char *s)
{
	char unit[RP_TEXT_UNIT];

	while (*s) {
		size_t n = rp_text_plain(s);

		report_out_write(o, s, n);
		s += n;
		if (!*s)
			break;
		n = rp_text_unit(&s, unit, NULL);
		report_out_write(o, unit, n);
	}
}

static bool ends_in(const char *s, size_t n, const char *end)
{
	size_t length = strlen(end);

	return n > length && !memcmp(s + n - length, end, length);
}

/* How many of the n bytes of a plural the singular begins with; *end: what it has behind them. */
static size_t singular(const char *s, size_t n, const char **end)
{
	*end = "";
	if (ends_in(s, n, "ies")) {
		*end = "y";
		return n - 3;
	}
	if (ends_in(s, n, "sses") || ends_in(s, n, "tches"))
		return n - 2;
	return ends_in(s, n, "s") && !ends_in(s, n, "ss") ? n - 1 : n;
}

void report_add_events(struct buf *b, uint64_t n, const char *events)
{
	char number[NUMBER_SIZE];
	size_t word = strcspn(events, " "), keeps = word;
	const char *end = "";
	char *one;

	report_buf_puts(b, report_text_number(n, number));
	report_buf_puts(b, " ");
	if (n == 1 && !strstr(events, " and "))
		keeps = singular(events, word, &end);
	one = strndup(events, keeps);
	if (one)
		report_buf_clean(b, one, 0, 0);
	else
		b->err = -ENOMEM;
	free(one);
	report_buf_puts(b, end);
	report_buf_clean(b, events + word, 0, 0);
}

/* As rp_text_plain(), but ends also at one of the characters in `special`. */
static size_t plain_until(const char *s, const char *special)
{
	size_t n = 0;

	while (s[n] >= 0x20 && s[n] < 0x7f && !strchr(special, s[n]))
		n++;
	return n;
}

void report_out_json(struct out *o, const char *s)
{
	char unit[RP_TEXT_UNIT];

	if (!s) {
		report_out_puts(o, "null");
		return;
	}
	report_out_putc(o, '"');
	while (*s) {
		size_t n = plain_until(s, o->in_script ? "\"\\<" : "\"\\");

		report_out_write(o, s, n);
		s += n;
		if (!*s)
			break;
		n = rp_text_json_unit(&s, unit);
		if (*unit == '<' && o->in_script)
			report_out_puts(o, "\\u003c");
		else
			report_out_write(o, unit, n);
	}
	report_out_putc(o, '"');
}

void report_out_xml(struct out *o, const char *s)
{
	char unit[RP_TEXT_UNIT];

	while (*s) {
		size_t n = plain_until(s, "<>&\"'");

		report_out_write(o, s, n);
		s += n;
		if (!*s)
			break;
		n = rp_text_unit(&s, unit, NULL);
		if (*unit == '<')
			report_out_puts(o, "&lt;");
		else if (*unit == '>')
			report_out_puts(o, "&gt;");
		else if (*unit == '&')
			report_out_puts(o, "&amp;");
		else if (*unit == '"')
			report_out_puts(o, "&quot;");
		else if (*unit == '\'')
			report_out_puts(o, "&#39;");
		else
			report_out_write(o, unit, n);
	}
}

const char *report_text_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}
