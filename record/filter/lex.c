/* SPDX-License-Identifier: BSD-2-Clause */
/* The tokens of an expression: names, numbers, texts in quotes, operators. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/filter/tree.h"

int record_filter_wrong(struct record_filter_error *error, size_t at, size_t length,
			const char *fmt, ...)
{
	va_list args;

	error->at = at;
	error->length = length;
	va_start(args, fmt);
	vsnprintf(error->message, sizeof(error->message), fmt, args);
	va_end(args);
	return -EINVAL;
}

static bool is_letter(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* ---- escapes */

/* The value of the escape behind a backslash: how many bytes it has; 0: it is none. */
static size_t escape(const char *s, unsigned char *out)
{
	static const char letters[] = "ntr0\\\"'", values[] = "\n\t\r\0\\\"'";
	const char *letter = *s ? strchr(letters, *s) : NULL;
	char digits[3] = { 0 };

	if (letter) {
		*out = (unsigned char)values[letter - letters];
		return 1;
	}
	if (*s != 'x' || !isxdigit((unsigned char)s[1]) || !isxdigit((unsigned char)s[2]))
		return 0;
	memcpy(digits, s + 1, 2);
	*out = (unsigned char)strtoul(digits, NULL, 16);
	return 3;
}

char *record_filter_text(const char *text, const struct filter_token *token, bool pattern,
			 size_t *length)
{
	const char *s = text + token->at + 1, *end = text + token->at + token->length - 1;
	char *out = malloc(token->length), *o = out;

	while (out && s < end) {
		unsigned char c;
		const size_t n = *s == '\\' ? escape(s + 1, &c) : 0;

		if (!n) {
			*o++ = *s++;
			continue;
		}
		/* To the pattern what was escaped is a byte like others. */
		if (pattern)
			*o++ = '\\';
		*o++ = (char)c;
		s += n + 1;
	}
	if (out) {
		*o = '\0';
		*length = (size_t)(o - out);
	}
	return out;
}

static int lex_text(const char *text, size_t at, struct filter_token *out,
		    struct record_filter_error *error)
{
	size_t i = at + 1;

	for (; text[i] && text[i] != '"'; i++) {
		unsigned char c = 1;
		const size_t n = text[i] == '\\' ? escape(text + i + 1, &c) : 0;

		if (!c)
			return record_filter_wrong(error, i, n + 1, "a string has no NUL in it");
		i += n;
	}
	if (!text[i])
		return record_filter_wrong(error, at, 1, "the quote is not closed");
	*out = (struct filter_token){ .kind = TOKEN_TEXT, .at = at, .length = i + 1 - at };
	return 0;
}

static int lex_char(const char *text, size_t at, struct filter_token *out,
		    struct record_filter_error *error)
{
	unsigned char c = (unsigned char)text[at + 1];
	size_t n = 1;

	if (c == '\\') {
		n = escape(text + at + 2, &c) + 1;
		if (n == 1)
			return record_filter_wrong(error, at, 2, "no such escape");
	}
	if (!text[at + 1] || text[at + 1] == '\'' || text[at + 1 + n] != '\'')
		return record_filter_wrong(
			error, at, 1, "one character stands between ' and '; a text has \" and \"");
	*out = (struct filter_token){
		.kind = TOKEN_NUMBER, .at = at, .length = n + 2, .number = { .bits = c }
	};
	return 0;
}

/* ---- numbers */

static const struct unit {
	const char *name;
	uint64_t factor;
	bool duration;
} units[] = {
	{ "ns", 1, true },
	{ "us", 1000, true },
	{ "ms", 1000000, true },
	{ "s", 1000000000, true },
	{ "K", UINT64_C(1) << 10 },
	{ "M", UINT64_C(1) << 20 },
	{ "G", UINT64_C(1) << 30 },
	{ "k", UINT64_C(1) << 10 },
	{ "KiB", UINT64_C(1) << 10 },
	{ "MiB", UINT64_C(1) << 20 },
	{ "GiB", UINT64_C(1) << 30 },
	{ "", 1 },
};

static const struct unit *unit_of(const char *s, size_t length)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == length && !strncmp(units[i].name, s, length))
			return &units[i];
	return NULL;
}

static int lex_number(const char *text, size_t at, struct filter_token *out,
		      struct record_filter_error *error)
{
	const char *s = text + at;
	const bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	const struct unit *unit;
	char *after;
	size_t length = 1;
	uint64_t value;

	while (is_word(s[length]))
		length++;
	if (s[length] == '.' && isdigit((unsigned char)s[length + 1]))
		return record_filter_wrong(error, at, length,
					   "numbers are whole: 1500us, not 1.5ms");
	if (hex && !isxdigit((unsigned char)s[2]))
		return record_filter_wrong(error, at, length, "digits belong behind 0x");
	errno = 0;
	value = strtoull(s, &after, 0);
	if (errno == ERANGE)
		return record_filter_wrong(error, at, length, "a number is below 2^64");
	unit = unit_of(after, (size_t)(s + length - after));
	if (!unit)
		return record_filter_wrong(error, (size_t)(after - text),
					   (size_t)(s + length - after),
					   "no such unit; there are ns, us, ms, s, K, M and G%s",
					   *s == '0' && isdigit((unsigned char)*after)
						   ? ", and a number that begins with 0 is octal"
						   : "");
	if (value > UINT64_MAX / unit->factor)
		return record_filter_wrong(error, at, length, "a number is below 2^64");
	*out = (struct filter_token){ .kind = TOKEN_NUMBER,
				      .at = at,
				      .length = length,
				      .number = { .bits = value * unit->factor },
				      .duration = unit->duration };
	return 0;
}

/* ---- names and operators */

/* A name may have an index behind it: args[2]. */
static void lex_name(const char *text, size_t at, struct filter_token *out)
{
	size_t length = 1, more;

	while (is_word(text[at + length]))
		length++;
	if (text[at + length] == '[') {
		for (more = 1; isdigit((unsigned char)text[at + length + more]); more++)
			;
		if (more > 1 && text[at + length + more] == ']')
			length += more + 1;
	}
	*out = (struct filter_token){ .kind = TOKEN_NAME, .at = at, .length = length };
}

/* The longer ones first. */
static const char *const operators[] = { "&&", "||", "==", "!=", "!~", "<=", ">=", "<",
					 ">",  "~",  "&",  "!",	 "(",  ")",  "-" };

/* What others write, and what it is here. */
static const struct {
	const char *wrong, *right;
} others[] = {
	{ "=~", "~ compares with a pattern" },
	{ "=", "== compares" },
	{ "|", "|| is the or of conditions; there is no | of numbers" },
	{ "^", "of numbers there is & alone" },
	{ "+", "of numbers there is & alone" },
	{ "*", "of numbers there is & alone" },
	{ "/", "of numbers there is & alone" },
	{ "%", "of numbers there is & alone" },
	{ "#", "a name has letters, digits and _" },
};

static int lex_operator(const char *text, size_t at, struct filter_token *out,
			struct record_filter_error *error)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		const size_t length = strlen(operators[i]);

		if (strncmp(text + at, operators[i], length))
			continue;
		*out = (struct filter_token){ .kind = TOKEN_OP, .at = at, .length = length };
		return 0;
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strncmp(text + at, others[i].wrong, strlen(others[i].wrong)))
			return record_filter_wrong(error, at, strlen(others[i].wrong), "%s",
						   others[i].right);
	return record_filter_wrong(error, at, 1, "not expected here");
}

int record_filter_lex(const char *text, size_t at, struct filter_token *out,
		      struct record_filter_error *error)
{
	while (isspace((unsigned char)text[at]))
		at++;
	if (!text[at]) {
		*out = (struct filter_token){ .kind = TOKEN_END, .at = at };
		return 0;
	}
	if (is_letter(text[at])) {
		lex_name(text, at, out);
		return 0;
	}
	if (isdigit((unsigned char)text[at]))
		return lex_number(text, at, out, error);
	if (text[at] == '"')
		return lex_text(text, at, out, error);
	if (text[at] == '\'')
		return lex_char(text, at, out, error);
	return lex_operator(text, at, out, error);
}
