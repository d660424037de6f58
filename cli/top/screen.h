/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A screen of cells, and the bytes that make a terminal show it: only what differs from what it
 * shows already, in the control sequences of a VT100, which a serial console has too.
 */
#ifndef CLI_TOP_SCREEN_H
#define CLI_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum top_style {
	TOP_PLAIN = 0,
	TOP_BOLD = 1 << 0,
	TOP_REVERSE = 1 << 1,
	TOP_UNDERLINE = 1 << 2,
	TOP_RED = 1 << 3,
	TOP_GREEN = 2 << 3,
	TOP_YELLOW = 3 << 3,
	TOP_BLUE = 4 << 3,
	TOP_CYAN = 6 << 3,
	TOP_COLOR = 7 << 3,
};

struct top_cell {
	char text[RP_TEXT_UNIT]; /* one character; "": the right half of the one before */
	unsigned char style;
};

struct top_screen {
	unsigned int columns, rows;
	bool utf8;
	struct top_cell *cell, *shown; /* rows * columns each; shown: what the terminal has */
	bool anew;		       /* nothing is known of what it has */
};

#define TOP_MAX_COLUMNS 1000
#define TOP_MAX_ROWS 400

/* Empty, of another size. 0 or -ENOMEM. */
int top_screen_resize(struct top_screen *s, unsigned int columns, unsigned int rows);
void top_screen_free(struct top_screen *s);
void top_screen_clear(struct top_screen *s);
/*
 * Writes a text, any bytes, made printable and without line breaks; what does not fit into width
 * columns is left out, with "~" in the last of them. Returns the columns taken.
 */
unsigned int top_screen_text(struct top_screen *s, unsigned int row, unsigned int column,
			     unsigned int width, unsigned int style, const char *text);
/* As printf(), of at most 255 bytes. */
unsigned int top_screen_print(struct top_screen *s, unsigned int row, unsigned int column,
			      unsigned int width, unsigned int style, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
/* Gives a stretch of a row this style. */
void top_screen_style(struct top_screen *s, unsigned int row, unsigned int column,
		      unsigned int width, unsigned int style);

/* The bytes, malloc'd; color: styles with colours. NULL: out of memory. */
char *top_screen_update(struct top_screen *s, bool color, size_t *size);
/* A row as text, without spaces at its end, for tests; malloc'd. */
char *top_screen_row(const struct top_screen *s, unsigned int row);

#endif
