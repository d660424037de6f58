/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON as RFC 8259 has it, and nothing else: what a writer made must pass. */
#ifndef FUZZ_JSON_H
#define FUZZ_JSON_H

#include <ctype.h>

#include "fuzz.h"

static inline const char *json_space(const char *s)
{
	return s + strspn(s, " \n\t\r");
}

static inline const char *json_string(const char *s)
{
	fuzz_check(*s++ == '"');
	while (*s != '"') {
		const size_t n = fuzz_utf8((const unsigned char *)s);

		fuzz_check(n && (unsigned char)*s >= 0x20);
		if (*s != '\\') {
			s += n;
			continue;
		}
		fuzz_check(s[1] && strchr("\"\\/bfnrtu", s[1]));
		for (int i = 0; s[1] == 'u' && i < 4; i++)
			fuzz_check(isxdigit((unsigned char)s[2 + i]));
		s += s[1] == 'u' ? 6 : 2;
	}
	return s + 1;
}

static inline const char *json_scalar(const char *s)
{
	static const char *const words[] = { "true", "false", "null" };
	char *end;

	for (size_t i = 0; i < 3; i++)
		if (!strncmp(s, words[i], strlen(words[i])))
			return s + strlen(words[i]);
	fuzz_check(isdigit((unsigned char)s[*s == '-']));
	strtod(s, &end);
	fuzz_check(isdigit((unsigned char)end[-1]) && !memchr(s, 'x', (size_t)(end - s)));
	return end;
}

static inline const char *json_value(const char *s)
{
	const bool object = *s == '{';
	const char close = object ? '}' : ']';

	if (*s == '"')
		return json_string(s);
	if (!object && *s != '[')
		return json_scalar(s);
	s = json_space(s + 1);
	if (*s == close)
		return s + 1;
	for (;;) {
		if (object) {
			s = json_space(json_string(s));
			fuzz_check(*s == ':');
			s = json_space(s + 1);
		}
		s = json_space(json_value(s));
		if (*s == close)
			return s + 1;
		fuzz_check(*s == ',');
		s = json_space(s + 1);
	}
}

/* One document. */
static inline void fuzz_check_json(const char *text)
{
	fuzz_check(!*json_space(json_value(json_space(text))));
}

#endif
