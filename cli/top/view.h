/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is looked at, and how keys change it; and its drawing. Both are of the model alone, and know
 * neither terminal nor kernel.
 *
 *	view.c		keys
 *	draw.c		the screens
 *	draw_table.c	a table in a rectangle
 */
#ifndef CLI_TOP_VIEW_H
#define CLI_TOP_VIEW_H

#include "input.h"
#include "model.h"
#include "screen.h"

enum top_prompt { TOP_PROMPT_NONE, TOP_PROMPT_FILTER, TOP_PROMPT_SVG, TOP_PROMPT_HTML };

enum top_action {
	TOP_NOTHING,
	TOP_QUIT,
	TOP_WANT,      /* view->panel has been opened: what fills it is to run */
	TOP_SWITCH,    /* what fills view->panel is to run if it does not, or to stop */
	TOP_WRITE_SVG, /* of the last view->seconds */
	TOP_WRITE_HTML,
	TOP_REDRAW,
};

struct top_view {
	bool overview, help;
	enum top_panel panel;
	uint32_t pid;  /* the process that was gone into; 0: the machine */
	char comm[64]; /* what it was called then, or "" */
	const char *host;
	struct {
		bool chosen, reverse;
		unsigned int column;
	} sort[TOP_PANELS];
	char filter[64];
	enum top_prompt prompt;
	char typed[64];
	unsigned int seconds;
	bool paused;
	uint64_t at;	   /* paused: which window, as model->seen counts */
	size_t row;	   /* that is selected */
	char message[200]; /* until the next key */
};

/* Which window it shows; NULL: there is none yet. */
const struct top_window *top_view_window(const struct top_view *v, const struct top_model *m);
/* How many windows ago that is. */
size_t top_view_back(const struct top_view *v, const struct top_model *m);
struct top_query top_view_query(const struct top_view *v, enum top_panel panel);
enum top_action top_view_key(struct top_view *v, const struct top_model *m, int key);

void top_draw(const struct top_view *v, const struct top_model *m, struct top_screen *s);

/* ---- draw_table.c */

struct top_rect {
	unsigned int row, column, rows, columns;
};
/* Head and rows of a table; selected: which row has the bar, SIZE_MAX: none. */
void top_draw_table(const struct top_window *w, const struct top_query *q, size_t selected,
		    const struct top_rect *at, struct top_screen *s);
#define TOP_NUMBER 16
/* A figure in at most 7 characters, for a window of ns. */
void top_number(char text[TOP_NUMBER], enum top_unit unit, uint64_t value, uint64_t ns);

#endif
