/* SPDX-License-Identifier: BSD-2-Clause */
/* Cells of a screen, and what a terminal needs to show them. */
#include "screen.h"

#include <errno.h>
#include <stdarg.h>
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

/* ---- writing */

/* What the terminal cannot show is '?'; what has no width of its own is left out. */
static void put(struct top_screen *s, struct top_cell *at, const char *unit, unsigned int columns,
		unsigned int style)
{
	const bool ascii = (unsigned char)unit[0] < 0x80;

	*at = (struct top_cell){ .style = (unsigned char)style };
	strcpy(at->text, ascii || s->utf8 ? unit : "?");
	if (columns == 2)
		at[1] = (struct top_cell){ .style = (unsigned char)style };
	if (columns == 2 && !(ascii || s->utf8))
		strcpy(at[1].text, "?");
}

/* A unit of several characters, as \x1b, takes as many cells. */
static void put_unit(struct top_screen *s, struct top_cell *at, const char *unit,
		     unsigned int columns, unsigned int style)
{
	if ((unsigned char)unit[0] >= 0x80 || !unit[1]) {
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

static void show_row(struct top_screen *s, FILE *f, unsigned int row, bool color)
{
	const struct top_cell *cell = s->cell + (size_t)row * s->columns;
	struct top_cell *shown = s->shown + (size_t)row * s->columns;
	unsigned int cursor = s->columns + 1, style = ~0u;

	for (unsigned int i = 0; i < s->columns; i++) {
		/* The halves of a wide character are one. */
		const bool wide = i + 1 < s->columns && !*cell[i + 1].text;

		if (left_out(s, row, i) ||
		    (same(&cell[i], &shown[i]) && !(wide && !same(&cell[i + 1], &shown[i + 1]))))
			continue;
		if (!*cell[i].text)
			continue;
		if (cursor != i)
			fprintf(f, "\033[%u;%uH", row + 1, i + 1);
		if (style != cell[i].style)
			set_style(f, cell[i].style, color);
		style = cell[i].style;
		fputs(cell[i].text, f);
		cursor = i + 1 + wide;
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
