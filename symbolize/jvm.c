/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HotSpot's compressed tables. Sources: src/hotspot/share of OpenJDK 17 and 21,
 * utilities/unsigned5.hpp, code/compressedStream.hpp, code/scopeDesc.cpp, oops/constMethod.hpp.
 */
#include <stdlib.h>
#include <string.h>

#include "jvm.h"

/* ---- numbers */

enum { SMALL = 192, BITS = 6, MOST_BYTES = 5 };

bool sym_jvm_number(struct sym_jvm_stream *s, uint32_t *out)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < MOST_BYTES && s->at < s->end; i++) {
		const uint32_t byte = *s->at++;

		if (byte < s->excluded)
			return false;
		sum += (byte - s->excluded) << BITS * i;
		if (byte < SMALL || i + 1 == MOST_BYTES) {
			*out = sum;
			return true;
		}
	}
	return false;
}

static bool take_signed(struct sym_jvm_stream *s, int32_t *out)
{
	uint32_t value;

	if (!sym_jvm_number(s, &value))
		return false;
	*out = (int32_t)(value >> 1 ^ (0 - (value & 1)));
	return true;
}

/* ---- lines */

enum { LINES_END = 0, LINES_LONG = 0xff };

uint32_t sym_jvm_line(const uint8_t *table, uint32_t *n, unsigned int excluded, uint32_t bci)
{
	struct sym_jvm_stream s = { table, table + *n, excluded };
	uint32_t at = 0, line = 0, best = 0, best_line = 0;

	while (s.at < s.end && *s.at != LINES_END) {
		const uint8_t byte = *s.at++;
		int32_t further = byte >> 3, lines = byte & 7;

		if (byte == LINES_LONG && (!take_signed(&s, &further) || !take_signed(&s, &lines)))
			break;
		at += (uint32_t)further;
		line += (uint32_t)lines;
		if (at <= bci && at >= best) {
			best = at;
			best_line = line;
		}
	}
	*n = (uint32_t)(s.at - table);
	return best_line;
}

/* ---- scopes */

bool sym_jvm_scope(struct sym_jvm_stream *s, struct sym_jvm_scope *out)
{
	uint32_t bci;

	if (!sym_jvm_number(s, &out->caller) || !sym_jvm_number(s, &out->method) ||
	    !sym_jvm_number(s, &bci))
		return false;
	out->bci = (int32_t)(bci - 1);
	return true;
}

/* ---- names */

/* How much of a class's name is the same in every run. */
static size_t lasting(const char *class_name)
{
	const char *number = strstr(class_name, "+0x");

	return number ? (size_t)(number - class_name) : strlen(class_name);
}

static char *join(const char *first, size_t n, const char *between, const char *second)
{
	char *text = malloc(n + strlen(between) + strlen(second) + 1);

	if (!text)
		return NULL;
	memcpy(text, first, n);
	strcpy(text + n, between);
	strcat(text, second);
	return text;
}

char *sym_jvm_name(const char *class_name, const char *method)
{
	const size_t n = lasting(class_name);
	char *name = join(class_name, n, n ? "." : "", method);

	for (size_t i = 0; name && i < n; i++)
		if (name[i] == '/')
			name[i] = '.';
	return name;
}

char *sym_jvm_file(const char *class_name, const char *source)
{
	const char *slash = strrchr(class_name, '/');

	return join(class_name, slash ? (size_t)(slash + 1 - class_name) : 0, "", source);
}
