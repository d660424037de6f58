/* SPDX-License-Identifier: BSD-2-Clause */
/* json_lines.h: JSON read by a strict parser of RFC 8259. */
#ifndef JSON_LINES_H
#define JSON_LINES_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A document is turned into lines "path value", so that a test can ask for one: ".a[0].b"
 * "\"text\"". Text is kept as it is written, in quotes and with its escapes.
 */
struct parser {
	const char *at;
	char path[512];
	char *lines;
	size_t size;
	FILE *out;
};

static inline void space(struct parser *p)
{
	while (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r')
		p->at++;
}

/* One character of UTF-8, at least U+0020; anything else fails. */
static inline void character(struct parser *p)
{
	const unsigned char *s = (const unsigned char *)p->at;
	int n = *s < 0x80 ? 1 : *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;

	ck_assert_msg(*s >= 0x20, "control character %d in a string", *s);
	ck_assert_msg(*s < 0x80 || (*s >= 0xc2 && *s < 0xf5), "byte %02x", *s);
	if (*s == 0xe0)
		ck_assert_uint_ge(s[1], 0xa0);
	if (*s == 0xed)
		ck_assert_uint_lt(s[1], 0xa0);
	if (*s == 0xf0)
		ck_assert_uint_ge(s[1], 0x90);
	if (*s == 0xf4)
		ck_assert_uint_lt(s[1], 0x90);
	for (int i = 1; i < n; i++)
		ck_assert_msg((s[i] & 0xc0) == 0x80, "byte %02x", s[i]);
	p->at += n;
}

static inline size_t text(struct parser *p)
{
	const char *start = p->at;

	ck_assert_int_eq(*p->at++, '"');
	while (*p->at != '"') {
		if (*p->at != '\\') {
			character(p);
			continue;
		}
		p->at++;
		ck_assert_ptr_nonnull(strchr("\"\\/bfnrtu", *p->at));
		if (*p->at++ == 'u')
			for (int i = 0; i < 4; i++, p->at++)
				ck_assert(strchr("0123456789abcdefABCDEF", *p->at) && *p->at);
	}
	p->at++;
	return (size_t)(p->at - start);
}

static inline void digits(struct parser *p)
{
	ck_assert(*p->at >= '0' && *p->at <= '9');
	while (*p->at >= '0' && *p->at <= '9')
		p->at++;
}

static inline void scalar(struct parser *p)
{
	const char *start = p->at;

	if (*p->at == '"') {
		text(p);
	} else if (!strncmp(p->at, "true", 4) || !strncmp(p->at, "null", 4)) {
		p->at += 4;
	} else if (!strncmp(p->at, "false", 5)) {
		p->at += 5;
	} else {
		if (*p->at == '-')
			p->at++;
		if (*p->at == '0')
			p->at++;
		else
			digits(p);
		if (*p->at == '.') {
			p->at++;
			digits(p);
		}
		if (*p->at == 'e' || *p->at == 'E') {
			p->at++;
			if (*p->at == '+' || *p->at == '-')
				p->at++;
			digits(p);
		}
	}
	fprintf(p->out, "%s %.*s\n", p->path, (int)(p->at - start), start);
}

static inline void value(struct parser *p);

static inline void object(struct parser *p)
{
	size_t length = strlen(p->path);

	p->at++;
	space(p);
	while (*p->at != '}') {
		const char *key = p->at;
		size_t n = text(p);

		snprintf(p->path + length, sizeof(p->path) - length, ".%.*s", (int)(n - 2),
			 key + 1);
		space(p);
		ck_assert_int_eq(*p->at++, ':');
		value(p);
		space(p);
		if (*p->at == ',') {
			p->at++;
			space(p);
			ck_assert_int_eq(*p->at, '"');
		} else {
			ck_assert_int_eq(*p->at, '}');
		}
	}
	p->at++;
	p->path[length] = 0;
}

static inline void array(struct parser *p)
{
	size_t length = strlen(p->path), n = 0;

	p->at++;
	space(p);
	while (*p->at != ']') {
		snprintf(p->path + length, sizeof(p->path) - length, "[%zu]", n++);
		value(p);
		space(p);
		if (*p->at == ',') {
			p->at++;
			space(p);
			ck_assert_int_ne(*p->at, ']');
		} else {
			ck_assert_int_eq(*p->at, ']');
		}
	}
	p->at++;
	p->path[length] = 0;
	fprintf(p->out, "%s# %zu\n", p->path, n);
}

static inline void value(struct parser *p)
{
	space(p);
	if (*p->at == '{')
		object(p);
	else if (*p->at == '[')
		array(p);
	else
		scalar(p);
}

/* The lines of a document, with a newline in front; to be freed. */
static inline char *json_lines(const char *document)
{
	struct parser p = { .at = document };

	p.out = open_memstream(&p.lines, &p.size);
	fputc('\n', p.out);
	value(&p);
	space(&p);
	ck_assert_msg(!*p.at, "more behind the document: %s", p.at);
	fclose(p.out);
	return p.lines;
}

static inline void assert_line(const char *lines, const char *line)
{
	char *wanted = malloc(strlen(line) + 3);

	sprintf(wanted, "\n%s\n", line);
	ck_assert_msg(strstr(lines, wanted) != NULL, "no line \"%s\" in:%s", line, lines);
	free(wanted);
}

#endif
