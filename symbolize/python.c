/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CPython's line tables and texts. Sources: Objects/lnotab_notes.txt of 3.9 and 3.10,
 * Objects/locations.md of 3.11, Include/cpython/unicodeobject.h.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "python.h"
#include "utf8.h"

/* ---- lines */

/* Pairs: so many bytes of code further, so many lines further. */
static uint32_t line_of_lnotab(const uint8_t *table, size_t n, uint32_t line, uint32_t at)
{
	uint32_t address = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		address += table[i];
		if (address > at)
			break;
		line += (uint32_t)(int8_t)table[i + 1];
	}
	return line;
}

#define NO_LINE_310 (-128)

/* Pairs: a range of so many bytes, and how many lines it is further than the one before. */
static uint32_t line_of_ranges(const uint8_t *table, size_t n, uint32_t line, uint32_t at)
{
	uint32_t end = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		const int step = (int8_t)table[i + 1];

		end += table[i];
		if (step != NO_LINE_310)
			line += (uint32_t)step;
		if (at < end)
			return step == NO_LINE_310 ? 0 : line;
	}
	return 0;
}

struct bytes {
	const uint8_t *at, *end;
};

/* Six bits a byte, the lowest first; false at the end of the table. */
static bool take_varint(struct bytes *b, uint32_t *out)
{
	uint32_t value = 0;

	for (unsigned int shift = 0; b->at < b->end; shift += 6) {
		const uint8_t byte = *b->at++;

		if (shift < 32)
			value |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64)) {
			*out = value;
			return true;
		}
	}
	return false;
}

static bool take_signed(struct bytes *b, uint32_t *line)
{
	uint32_t value;

	if (!take_varint(b, &value))
		return false;
	*line += value & 1 ? 0 - (value >> 1) : value >> 1;
	return true;
}

enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NOWHERE = 15 };

/* Goes over what follows the first byte of an entry; false: it is cut. */
static bool take_entry(struct bytes *b, unsigned int code, uint32_t *line)
{
	uint32_t unused;

	if (code == NOWHERE)
		return true;
	if (code == NO_COLUMNS)
		return take_signed(b, line);
	if (code == LONG)
		return take_signed(b, line) && take_varint(b, &unused) && take_varint(b, &unused) &&
		       take_varint(b, &unused);
	b->at += code < ONE_LINE ? 1 : 2;
	if (code >= ONE_LINE)
		*line += code - ONE_LINE;
	return b->at <= b->end;
}

/* Entries: the first byte has bit 7 set, a code in bits 3 to 6, and units of code - 1. */
static uint32_t line_of_locations(const uint8_t *table, size_t n, uint32_t line, uint32_t position)
{
	struct bytes b = { table, table + n };
	uint32_t end = 0;

	while (b.at < b.end) {
		const uint8_t first = *b.at++;
		const unsigned int code = first >> 3 & 15;

		if (!(first & 128) || !take_entry(&b, code, &line))
			break;
		end += (first & 7) + 1u;
		if (position < end)
			return code == NOWHERE ? 0 : line;
	}
	return 0;
}

uint32_t sym_python_line(unsigned int version, const uint8_t *table, size_t n, uint32_t first_line,
			 uint32_t position)
{
	if (version < 0x030a)
		return line_of_lnotab(table, n, first_line, 2 * position);
	if (version == 0x030a)
		return line_of_ranges(table, n, first_line, 2 * position);
	return line_of_locations(table, n, first_line, position);
}

/* ---- texts */

char *sym_python_text(uint32_t state, const void *bytes, size_t n)
{
	const unsigned int width = state >> 2 & 7;
	const uint8_t *in = bytes;
	char *text, *out;

	if (width != 1 && width != 2 && width != 4)
		n = 0;
	out = text = malloc(3 * n + 1); /* of one byte at most two, of two three, of four four */
	if (!text)
		return NULL;
	for (size_t i = 0; n && i + width <= n; i += width) {
		uint32_t c = 0;

		for (unsigned int j = 0; j < width; j++)
			c |= (uint32_t)in[i + j] << 8 * j;
		out = sym_put_utf8(out, c);
	}
	*out = '\0';
	return text;
}
