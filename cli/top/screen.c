/* SPDX-License-Identifier: BSD-2-Clause */
/* Cells of a screen, and what a terminal needs to show them. */
#include "screen.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t cells(const struct top_screen *s)
{
	return (size_t)s->columns * s->rows;
}

void top_screen_clear(struct top_screen *s)
{
	for (size_t i = 0; i < cells(s); i++)
		s->cell[i] = (struct top_cell){ .text = " " };
}

int top_screen_resize(struct top_screen *s, unsigned int columns, unsigned int rows)
{
	struct top_cell *cell, *shown;

	columns = columns < TOP_MAX_COLUMNS ? columns : TOP_MAX_COLUMNS;
	rows = rows < TOP_MAX_ROWS ? rows : TOP_MAX_ROWS;
	cell = calloc((size_t)columns * rows + 1, sizeof(*cell));
	shown = calloc((size_t)columns * rows + 1, sizeof(*shown));
	if (!cell || !shown) {
		free(cell);
		free(shown);
		return -ENOMEM;
	}
	top_screen_free(s);
	s->cell = cell;
	s->shown = shown;
	s->columns = columns;
	s->rows = rows;
	s->anew = true;
	top_screen_clear(s);
	return 0;
}

void top_screen_free(struct top_screen *s)
{
	free(s->cell);
	free(s->shown);
	s->cell = s->shown = NULL;
	s->columns = s->rows = 0;
}

/* ---- how wide */

/* Of what has two columns, or none (Unicode, EastAsianWidth.txt; what combines or is not seen). */
struct range {
	uint32_t first, last;
};
static const struct range wide[] = {
	{ 0x1100, 0x115f },   { 0x2329, 0x232a },   { 0x2e80, 0x303e },	  { 0x3041, 0xa4cf },
	{ 0xa960, 0xa97f },   { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },	  { 0xfe10, 0xfe19 },
	{ 0xfe30, 0xfe6f },   { 0xff01, 0xff60 },   { 0xffe0, 0xffe6 },	  { 0x16fe0, 0x18cff },
	{ 0x1b000, 0x1b2ff }, { 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1faff },
	{ 0x20000, 0x3fffd },
};
static const struct range none[] = {
	{ 0x300, 0x36f },   { 0x483, 0x489 },	{ 0x591, 0x5bd },   { 0x610, 0x61a },
	{ 0x64b, 0x65f },   { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff }, { 0x200b, 0x200f },
	{ 0x2060, 0x2064 }, { 0x20d0, 0x20ff }, { 0x302a, 0x302d }, { 0x3099, 0x309a },
	{ 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f }, { 0xfeff, 0xfeff }, { 0xe0000, 0xe0fff },
};

static bool is_in(const struct range *r, size_t n, uint32_t code)
{
	for (size_t i = 0; i < n; i++)
		if (code >= r[i].first && code <= r[i].last)
			return true;
	return false;
}

static bool is_ascii(const char *unit)
{
	return (unsigned char)*unit < 0x80;
}

/* Of a unit that is one character of UTF-8, as rp_text_unit() makes them. */
static unsigned int width_of(const char *unit)
{
	const unsigned char first = (unsigned char)*unit;
	uint32_t code = first & (first < 0xe0 ? 0x1f : first < 0xf0 ? 0xf : 7);

	for (const char *c = unit + 1; *c; c++)
		code = code << 6 | ((unsigned char)*c & 0x3f);
	if (is_in(none, sizeof(none) / sizeof(none[0]), code))
		return 0;
	return is_in(wide, sizeof(wide) / sizeof(wide[0]), code) ? 2 : 1;
}

/* ---- writing */

/* What the terminal cannot show is '?'; what has no width of its own is left out. */
static void put(struct top_screen *s, struct top_cell *at, const char *unit, unsigned int columns,
		unsigned int style)
{
	if (!*at->text) /* the half of another, which is gone with it */
		strcpy(at[-1].text, " ");
	*at = (struct top_cell){ .style = (unsigned char)style };
	strcpy(at->text, is_ascii(unit) || s->utf8 ? unit : "?");
	if (columns == 2)
		at[1] = (struct top_cell){ .style = (unsigned char)style };
}

/* A unit of several characters, as \x1b, takes as many cells. */
static void put_unit(struct top_screen *s, struct top_cell *at, const char *unit,
		     unsigned int columns, unsigned int style)
{
	if (!is_ascii(unit) || !unit[1]) {
		put(s, at, unit, columns, style);
		return;
	}
	for (unsigned int i = 0; i < columns; i++)
		put(s, at + i, (const char[2]){ unit[i], '\0' }, 1, style);
}

unsigned int top_screen_text(struct top_screen *s, unsigned int row, unsigned int column,
			     unsigned int width, unsigned int style, const char *text)
{
	struct top_cell *line = s->cell + (size_t)row * s->columns;
	unsigned int at = 0;

	if (row >= s->rows || column >= s->columns)
		return 0;
	if (width > s->columns - column)
		width = s->columns - column;
	while (*text) {
		char unit[RP_TEXT_UNIT];
		unsigned int columns;

		rp_text_unit(&text, unit, &columns);
		if (s->utf8 && !is_ascii(unit))
			columns = width_of(unit);
		if (at + columns > width) {
			if (width)
				put(s, &line[column + width - 1], "~", 1, style);
			return width;
		}
		if (columns)
			put_unit(s, &line[column + at], unit, columns, style);
		at += columns;
	}
	return at;
}

unsigned int top_screen_print(struct top_screen *s, unsigned int row, unsigned int column,
			      unsigned int width, unsigned int style, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return top_screen_text(s, row, column, width, style, text);
}

void top_screen_style(struct top_screen *s, unsigned int row, unsigned int column,
		      unsigned int width, unsigned int style)
{
	for (unsigned int i = column; row < s->rows && i < s->columns && i - column < width; i++)
		s->cell[(size_t)row * s->columns + i].style = (unsigned char)style;
}

/* ---- showing */

static void set_style(FILE *f, unsigned int style, bool color)
{
	fputs("\033[0", f);
	if (style & TOP_BOLD)
		fputs(";1", f);
	if (style & TOP_UNDERLINE)
		fputs(";4", f);
	if (style & TOP_REVERSE)
		fputs(";7", f);
	if (color && style & TOP_COLOR)
		fprintf(f, ";3%u", (style & TOP_COLOR) >> 3);
	fputc('m', f);
}

static bool same(const struct top_cell *a, const struct top_cell *b)
{
	return a->style == b->style && !strcmp(a->text, b->text);
}

/* The last cell of the last row would make some terminals scroll. */
static bool left_out(const struct top_screen *s, unsigned int row, unsigned int column)
{
	return row == s->rows - 1 && column == s->columns - 1;
}

/* Terminals do not agree on widths: one that is wider there than here has covered the next. */
static bool is_covered(const struct top_cell *cell, const struct top_cell *shown, unsigned int i)
{
	return i && !same(&cell[i - 1], &shown[i - 1]) &&
	       !(is_ascii(cell[i - 1].text) && is_ascii(shown[i - 1].text));
}

static void show_row(struct top_screen *s, FILE *f, unsigned int row, bool color)
{
	const struct top_cell *cell = s->cell + (size_t)row * s->columns;
	struct top_cell *shown = s->shown + (size_t)row * s->columns;
	unsigned int cursor = s->columns + 1, style = ~0u;

	for (unsigned int i = 0; i < s->columns; i++) {
		/* The halves of a wide character are one. */
		const bool is_wide = i + 1 < s->columns && !*cell[i + 1].text;

		if (left_out(s, row, i) ||
		    (same(&cell[i], &shown[i]) && !is_covered(cell, shown, i) &&
		     !(is_wide && !same(&cell[i + 1], &shown[i + 1]))))
			continue;
		if (!*cell[i].text)
			continue;
		if (cursor != i)
			fprintf(f, "\033[%u;%uH", row + 1, i + 1);
		if (style != cell[i].style)
			set_style(f, cell[i].style, color);
		style = cell[i].style;
		/* In the last column a wide one would go to the next line. */
		fputs(i + 1 < s->columns || is_ascii(cell[i].text) ? cell[i].text : "?", f);
		cursor = is_ascii(cell[i].text) ? i + 1 : s->columns + 1;
	}
	if (style != ~0u)
		fputs("\033[0m", f);
	memcpy(shown, cell, s->columns * sizeof(*cell));
}

char *top_screen_update(struct top_screen *s, bool color, size_t *size)
{
	char *bytes = NULL;
	FILE *f = open_memstream(&bytes, size);

	if (!f)
		return NULL;
	if (s->anew) {
		fputs("\033[0m\033[H\033[2J", f);
		for (size_t i = 0; i < cells(s); i++)
			s->shown[i] = (struct top_cell){ .text = " " };
		s->anew = false;
	}
	for (unsigned int row = 0; row < s->rows; row++)
		show_row(s, f, row, color);
	if (fclose(f)) {
		free(bytes);
		return NULL;
	}
	return bytes;
}

char *top_screen_row(const struct top_screen *s, unsigned int row)
{
	char *text = NULL;
	size_t size, end;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (unsigned int i = 0; row < s->rows && i < s->columns; i++)
		fputs(s->cell[(size_t)row * s->columns + i].text, f);
	if (fclose(f))
		return NULL;
	for (end = size; end && text[end - 1] == ' ';)
		text[--end] = '\0';
	return text;
}
