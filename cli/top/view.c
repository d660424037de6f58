/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys: what each does to what is looked at. */
#include "view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which window */

size_t top_view_back(const struct top_view *v, const struct top_model *m)
{
	const uint64_t back = v->paused && m->seen > v->at ? m->seen - v->at : 0;

	return m->n && back >= m->n ? m->n - 1 : (size_t)back;
}

const struct top_window *top_view_window(const struct top_view *v, const struct top_model *m)
{
	return top_model_at(m, top_view_back(v, m));
}

/* One that leaves the ring meanwhile makes way for the next one. */
static void step(struct top_view *v, const struct top_model *m, int by)
{
	const size_t back = top_view_back(v, m);

	if (!m->n)
		return;
	if (by < 0 && back + 1 < m->n)
		v->at = m->seen - back - 1;
	else if (by > 0 && back)
		v->at = m->seen - back + 1;
	else
		v->at = m->seen - back;
	v->paused = by < 0 || v->at < m->seen || v->paused;
}

/* ---- rows */

struct top_query top_view_query(const struct top_view *v, enum top_panel panel)
{
	return (struct top_query){
		.panel = panel,
		.pid = v->pid,
		.filter = v->filter,
		.sort = v->sort[panel].chosen ? v->sort[panel].column : top_tables[panel].sort,
		.reverse = v->sort[panel].reverse,
	};
}

/* The table that the bar is in. */
static enum top_panel panel_of(const struct top_view *v)
{
	return v->overview ? v->pid ? TOP_THREADS : TOP_PROCESSES : v->panel;
}

/* Windows in which it was not on a CPU know no name of it. */
static void note_comm(struct top_view *v, const struct top_window *w)
{
	const union top_value key = { .number = v->pid };
	const struct top_row *row = rp_hash_find(&w->rows[TOP_PROCESSES], &key);

	snprintf(v->comm, sizeof(v->comm), "%s", row && row->cell[1].text ? row->cell[1].text : "");
}

static void enter_process(struct top_view *v, const struct top_model *m)
{
	const struct top_window *w = top_view_window(v, m);
	const struct top_query q = top_view_query(v, panel_of(v));
	const int column = top_tables[q.panel].pid;
	struct top_rows rows;

	if (!w || v->pid || top_query(w, &q, &rows))
		return;
	if (column >= 0 && top_column_shown(&q, (unsigned int)column) && v->row < rows.n) {
		v->pid = (uint32_t)rows.row[v->row].cell[column].number;
		v->overview = true;
		v->row = 0;
		note_comm(v, w);
	} else {
		snprintf(v->message, sizeof(v->message),
			 "this row is of no single process: choose one by p");
	}
	top_rows_free(&rows);
}

static void leave(struct top_view *v)
{
	v->row = 0;
	if (*v->filter)
		*v->filter = '\0';
	else if (!v->overview)
		v->overview = true;
	else
		v->pid = 0;
}

/* ---- order */

static void change_sort(struct top_view *v, int by)
{
	const enum top_panel panel = panel_of(v);
	const struct top_query q = top_view_query(v, panel);
	const unsigned int n = top_tables[panel].ncolumns;
	unsigned int column = q.sort;

	do
		column = (column + n + (unsigned int)by) % n;
	while (!top_column_shown(&q, column));
	v->sort[panel].chosen = true;
	v->sort[panel].column = column;
	v->sort[panel].reverse = false;
	snprintf(v->message, sizeof(v->message), "sorted by %s",
		 top_tables[panel].column[column].title);
}

/* ---- a line that is typed */

static enum top_action finish_prompt(struct top_view *v)
{
	const enum top_prompt prompt = v->prompt;
	unsigned long seconds = strtoul(v->typed, NULL, 10);

	v->prompt = TOP_PROMPT_NONE;
	if (prompt == TOP_PROMPT_FILTER) {
		snprintf(v->filter, sizeof(v->filter), "%s", v->typed);
		v->row = 0;
		return TOP_REDRAW;
	}
	v->seconds = !*v->typed ? TOP_WINDOWS : seconds < 3600 ? (unsigned int)seconds : 3600;
	if (!v->seconds) {
		snprintf(v->message, sizeof(v->message), "that is no number of seconds");
		return TOP_REDRAW;
	}
	return prompt == TOP_PROMPT_SVG ? TOP_WRITE_SVG : TOP_WRITE_HTML;
}

static enum top_action type(struct top_view *v, int key)
{
	size_t n = strlen(v->typed);

	if (key == TOP_KEY_ENTER)
		return finish_prompt(v);
	if (key == TOP_KEY_ESCAPE)
		v->prompt = TOP_PROMPT_NONE;
	else if (key == TOP_KEY_BACKSPACE && n)
		v->typed[n - 1] = '\0';
	else if (key >= ' ' && key < TOP_KEY_BACKSPACE && n + 1 < sizeof(v->typed))
		snprintf(v->typed + n, sizeof(v->typed) - n, "%c", key);
	return TOP_REDRAW;
}

static void ask(struct top_view *v, enum top_prompt prompt)
{
	v->prompt = prompt;
	*v->typed = '\0';
}

/* ---- keys */

static enum top_action open_panel(struct top_view *v, enum top_panel panel)
{
	v->overview = false;
	v->panel = panel;
	v->row = 0;
	return TOP_WANT;
}

static int panel_by_key(int key)
{
	static const char keys[TOP_PANELS + 1] = {
		[TOP_PROCESSES] = 'p', [TOP_THREADS] = 'n',  [TOP_FUNCTIONS] = 'c',
		[TOP_WAITS] = 'w',     [TOP_DISKS] = 'd',    [TOP_LOCKS] = 'l',
		[TOP_MEMORY] = 'm',    [TOP_SYSCALLS] = 's', [TOP_BPF] = 'b',
		[TOP_OWN] = 't'
	};

	for (int i = 0; i < TOP_PANELS; i++)
		if (keys[i] == key)
			return i;
	return -1;
}

static bool move(struct top_view *v, int key)
{
	const size_t page = 10;

	switch (key) {
	case TOP_KEY_UP:
	case 'k':
		v->row -= v->row > 0;
		return true;
	case TOP_KEY_DOWN:
	case 'j':
		v->row++;
		return true;
	case TOP_KEY_PAGE_UP:
		v->row -= v->row < page ? v->row : page;
		return true;
	case TOP_KEY_PAGE_DOWN:
		v->row += page;
		return true;
	case TOP_KEY_HOME:
		v->row = 0;
		return true;
	case TOP_KEY_END:
		v->row = SIZE_MAX / 2;
		return true;
	default:
		return false;
	}
}

/* The bar stays on a row that there is. */
static void keep_row(struct top_view *v, const struct top_model *m)
{
	const struct top_window *w = top_view_window(v, m);
	const struct top_query q = top_view_query(v, panel_of(v));
	struct top_rows rows;

	if (!w || top_query(w, &q, &rows))
		return;
	if (v->row >= rows.n)
		v->row = rows.n ? rows.n - 1 : 0;
	top_rows_free(&rows);
}

static enum top_action other_key(struct top_view *v, const struct top_model *m, int key)
{
	const enum top_panel panel = panel_of(v);

	switch (key) {
	case 'q':
		return TOP_QUIT;
	case '?':
		v->help = true;
		break;
	case 'o':
		v->overview = true;
		v->row = 0;
		break;
	case TOP_KEY_TAB:
		return open_panel(v, v->overview ? TOP_PROCESSES
						 : (enum top_panel)((v->panel + 1) % TOP_PANELS));
	case ' ':
		v->at = m->seen - top_view_back(v, m);
		v->paused = !v->paused;
		break;
	case TOP_KEY_LEFT:
	case ',':
		step(v, m, -1);
		break;
	case TOP_KEY_RIGHT:
	case '.':
		step(v, m, 1);
		break;
	case '<':
		change_sort(v, -1);
		break;
	case '>':
		change_sort(v, 1);
		break;
	case 'r':
		v->sort[panel].reverse = !v->sort[panel].reverse;
		break;
	case '/':
		ask(v, TOP_PROMPT_FILTER);
		break;
	case 'f':
		ask(v, TOP_PROMPT_SVG);
		break;
	case 'h':
		ask(v, TOP_PROMPT_HTML);
		break;
	case 'x':
		return v->overview ? TOP_NOTHING : TOP_SWITCH;
	case TOP_KEY_ENTER:
		enter_process(v, m);
		break;
	case TOP_KEY_ESCAPE:
	case TOP_KEY_BACKSPACE:
		leave(v);
		break;
	default:
		return TOP_NOTHING;
	}
	return TOP_REDRAW;
}

enum top_action top_view_key(struct top_view *v, const struct top_model *m, int key)
{
	const int panel = panel_by_key(key);

	*v->message = '\0';
	if (v->prompt)
		return type(v, key);
	if (v->help) {
		v->help = false;
		return key == 'q' ? TOP_QUIT : TOP_REDRAW;
	}
	if (panel >= 0)
		return open_panel(v, (enum top_panel)panel);
	if (!move(v, key))
		return other_key(v, m, key);
	keep_row(v, m);
	return TOP_REDRAW;
}
