/* SPDX-License-Identifier: BSD-2-Clause */
/* Members of JSON objects and arrays (RFC 8259) with their commas. */
#include <inttypes.h>

#include "json_write.h"

void json_put(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		const unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 32 || c > 126 || c == '<') /* which may end a script of a page */
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

void json_next(struct json *j, const char *key)
{
	fputs(j->begun ? ", " : "", j->out);
	j->begun = true;
	if (key) {
		json_put(j->out, key);
		fputs(": ", j->out);
	}
}

void json_open(struct json *parent, const char *key, struct json *child, char bracket)
{
	json_next(parent, key);
	*child = (struct json){ .out = parent->out };
	fputc(bracket, child->out);
}

void json_string(struct json *j, const char *key, const char *text)
{
	if (!text)
		return;
	json_next(j, key);
	json_put(j->out, text);
}

void json_number(struct json *j, const char *key, int64_t n)
{
	json_next(j, key);
	fprintf(j->out, "%" PRId64, n);
}

void json_truth(struct json *j, const char *key, bool is)
{
	json_next(j, key);
	fputs(is ? "true" : "false", j->out);
}
