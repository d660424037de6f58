/* SPDX-License-Identifier: BSD-2-Clause */
/* The screens: the machine, one table, one process, help. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rawprof/report.h>

#include "base/clock.h"
#include "view.h"

/* ---- the head: what the machine is doing, in figures */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

struct figure_text {
	char text[TOP_NUMBER];
};

static struct figure_text figure(const struct top_window *w, enum top_figure f, enum top_unit unit)
{
	struct figure_text t = { "" };

	top_number(t.text, unit, w->figure[f], w->ns);
	return t;
}
#define FIGURE(name, unit) figure(w, TOP_##name, TOP_##unit).text

static void draw_title(const struct top_view *v, const struct top_model *m,
		       const struct top_window *w, struct top_screen *s)
{
	const size_t back = top_view_back(v, m);
	char clock[REPORT_CLOCK_TEXT], state[48] = "";

	report_clock(w->wall_ns, clock);
	clock[strcspn(clock, ".")] = '\0'; /* to the second */
	if (v->paused)
		snprintf(state, sizeof(state), "  PAUSED, %zu of %zu back", back, m->n - 1);
	for (unsigned int i = 0; i < s->columns; i++)
		top_screen_text(s, 0, i, 1, TOP_REVERSE, " ");
	top_screen_print(s, 0, 0, s->columns, TOP_REVERSE,
			 "rawprof top  %s  %s  %.2f s  %u CPUs%s%s%s", v->host ? v->host : "",
			 clock, (double)w->ns / NS_PER_SECOND, w->cpus, state,
			 *v->filter ? "  only " : "", v->filter);
}

static void draw_cpu(const struct top_window *w, struct top_screen *s, unsigned int row)
{
	const uint64_t *f = w->figure;
	const uint64_t busy = f[TOP_CPU_USER] + f[TOP_CPU_SYSTEM] + f[TOP_CPU_STOLEN],
		       all = busy + f[TOP_CPU_IDLE] + f[TOP_CPU_IOWAIT];

	top_screen_print(s, row, 0, s->columns, TOP_PLAIN,
			 "CPU     %3.0f%% busy: user %.0f%% system %.0f%% stolen %.0f%%; waits for "
			 "disks %.0f%%; load %.1f",
			 percent(busy, all), percent(f[TOP_CPU_USER], all),
			 percent(f[TOP_CPU_SYSTEM], all), percent(f[TOP_CPU_STOLEN], all),
			 percent(f[TOP_CPU_IOWAIT], all), (double)f[TOP_LOAD] / 100);
}

static void draw_queue(const struct top_window *w, struct top_screen *s, unsigned int row)
{
	if (!w->running[TOP_PANELS]) {
		top_screen_print(s, row, 0, s->columns, TOP_PLAIN,
				 "queue   %" PRIu64 " run, %s switches/s; %s",
				 w->figure[TOP_RUNNING], FIGURE(SWITCHES, COUNT),
				 w->state[TOP_PANELS] ? w->state[TOP_PANELS] : "not known");
		return;
	}
	top_screen_print(s, row, 0, s->columns, TOP_PLAIN,
			 "queue   %" PRIu64 " run, %s waits/s: p50 %s p90 %s p99 %s max %s",
			 w->figure[TOP_RUNNING], FIGURE(QUEUED, COUNT), FIGURE(QUEUE_P50, NS),
			 FIGURE(QUEUE_P90, NS), FIGURE(QUEUE_P99, NS), FIGURE(QUEUE_MAX, NS));
}

static void draw_memory(const struct top_window *w, struct top_screen *s, unsigned int row)
{
	const uint64_t total = w->figure[TOP_MEM_TOTAL];
	struct figure_text all;
	unsigned int column;

	top_number(all.text, TOP_BYTES, total, NS_PER_SECOND); /* as it is */
	column = top_screen_print(s, row, 0, s->columns, TOP_PLAIN,
				  "memory  %3.0f%% of %s; allocated %s/s; ",
				  percent(total - w->figure[TOP_MEM_AVAILABLE], total), all.text,
				  FIGURE(MEM_ALLOCATED, BYTES));
	/* A machine that swaps has no greater trouble, and 80 columns have no room for all. */
	if (w->figure[TOP_SWAPPED_IN] || w->figure[TOP_SWAPPED_OUT])
		top_screen_print(s, row, column, s->columns - column, TOP_PLAIN,
				 "major %s/s; swap in %s/s out %s/s", FIGURE(MAJOR_FAULTS, COUNT),
				 FIGURE(SWAPPED_IN, BYTES), FIGURE(SWAPPED_OUT, BYTES));
	else
		top_screen_print(s, row, column, s->columns - column, TOP_PLAIN,
				 "faults %s/s, major %s/s; no swapping", FIGURE(FAULTS, COUNT),
				 FIGURE(MAJOR_FAULTS, COUNT));
}

static void draw_own(const struct top_window *w, struct top_screen *s, unsigned int row)
{
	top_screen_print(s, row, 0, s->columns, TOP_PLAIN,
			 "top     %s of a CPU itself, %s in its BPF programs; %s events/s, %" PRIu64
			 " lost",
			 FIGURE(OWN_CPU, CPU), FIGURE(OWN_BPF, CPU), FIGURE(FIRED, COUNT),
			 w->figure[TOP_LOST]);
}

/* CPU time by what its processes are written in, where there is a row to spare. */
static void draw_languages(const struct top_window *w, struct top_screen *s, unsigned int row)
{
	enum { LANGUAGE = 2, CPU, MOST = 8 };
	const struct hash_map *map = &w->rows[TOP_PROCESSES];
	const struct top_row *process = map->items;
	struct language {
		const char *name;
		uint64_t ns;
	} list[MOST] = { 0 };
	unsigned int n = 0, column;

	for (uint32_t i = 0; i < map->count; i++) {
		const char *name = process[i].cell[LANGUAGE].text;
		unsigned int at = 0;

		while (at < n && list[at].name != name)
			at++;
		if (at == MOST || !name)
			continue;
		n += at == n;
		list[at].name = name;
		list[at].ns += process[i].cell[CPU].number;
		for (; at && list[at].ns > list[at - 1].ns; at--) {
			const struct language swap = list[at];

			list[at] = list[at - 1];
			list[at - 1] = swap;
		}
	}
	column = top_screen_text(s, row, 0, s->columns, TOP_PLAIN, "in      ");
	for (unsigned int i = 0; i < n; i++)
		column += top_screen_print(s, row, column, s->columns - column, TOP_PLAIN,
					   "%s%s %.0f%%", i ? ", " : "", list[i].name,
					   percent(list[i].ns, w->ns));
}

static unsigned int head_rows(const struct top_screen *s)
{
	return s->rows < 30 ? 5 : 6;
}

static void draw_head(const struct top_view *v, const struct top_model *m,
		      const struct top_window *w, struct top_screen *s)
{
	draw_title(v, m, w, s);
	draw_cpu(w, s, 1);
	draw_queue(w, s, 2);
	draw_memory(w, s, 3);
	draw_own(w, s, 4);
	if (head_rows(s) > 5)
		draw_languages(w, s, 5);
}

/* ---- the foot: keys, or what is asked, or a message */

static void draw_foot(const struct top_view *v, struct top_screen *s)
{
	static const char *const questions[] = {
		[TOP_PROMPT_FILTER] = "only rows with (empty: all): ",
		[TOP_PROMPT_SVG] = "flame graph of the last so many seconds (60): ",
		[TOP_PROMPT_HTML] = "HTML page of the last so many seconds (60): ",
	};
	const unsigned int row = s->rows - 1;

	if (v->prompt)
		top_screen_print(s, row, 0, s->columns, TOP_BOLD, "%s%s_", questions[v->prompt],
				 v->typed);
	else if (*v->message)
		top_screen_text(s, row, 0, s->columns, TOP_BOLD, v->message);
	else
		top_screen_text(
			s, row, 0, s->columns, TOP_CYAN,
			v->pid ? "Esc back  q quit  ? help  n threads  c functions  w waits  "
				 "l locks  m memory"
			       : "q quit  ? help  o all  pncwdlmsbt tables  Enter process  "
				 "/ filter  Space pause");
}

/* ---- blocks */

static void draw_blocks(const struct top_view *v, const struct top_window *w, unsigned int first,
			const enum top_panel *panels, unsigned int n, struct top_screen *s)
{
	const unsigned int high = (n + 1) / 2, free_rows = s->rows - 1 - first,
			   left = (s->columns - 2) / 2;

	for (unsigned int i = 0; i < n; i++) {
		const unsigned int line = i / 2;
		const struct top_rect at = {
			.row = first + free_rows * line / high,
			.column = i % 2 ? left + 2 : 0,
			.rows = free_rows * (line + 1) / high - free_rows * line / high,
			.columns = i % 2 ? s->columns - left - 2 : left,
		};
		const struct top_query q = top_view_query(v, panels[i]);

		top_draw_table(w, &q, i ? SIZE_MAX : v->row, &at, s);
	}
}

static void draw_process(const struct top_view *v, const struct top_window *w, struct top_screen *s)
{
	static const enum top_panel panels[] = { TOP_THREADS, TOP_FUNCTIONS, TOP_WAITS, TOP_LOCKS };
	const union top_value key = { .number = v->pid };
	const struct top_row *row = rp_hash_find(&w->rows[TOP_PROCESSES], &key);

	top_screen_print(s, head_rows(s), 0, s->columns, TOP_BOLD, "process %u  ", v->pid);
	if (row && row->cell[1].text)
		top_screen_print(s, head_rows(s), 20, s->columns, TOP_BOLD, "%s  (%s)",
				 row->cell[1].text, row->cell[2].text ? row->cell[2].text : "");
	else
		top_screen_print(s, head_rows(s), 20, s->columns, TOP_BOLD,
				 "%s  (on no CPU when samples were taken)", v->comm);
	draw_blocks(v, w, head_rows(s) + 1, panels, 4, s);
}

/* Requests by how long they took, one line for each power of two that has any. */
static void draw_histograms(const struct top_window *w, unsigned int first, struct top_screen *s)
{
	unsigned int row = first;

	for (size_t d = 0; d < w->nhists && row + 2 < s->rows; d++) {
		const struct top_hist *h = &w->hist[d];
		uint64_t most = 1;

		top_screen_print(s, row++, 0, s->columns, TOP_UNDERLINE,
				 "%s: requests by their time", h->disk);
		for (unsigned int i = 0; i < TOP_HIST_SLOTS; i++)
			most = h->slot[i] > most ? h->slot[i] : most;
		for (unsigned int i = 0; i < TOP_HIST_SLOTS && row + 1 < s->rows; i++) {
			const unsigned int room = s->columns > 30 ? s->columns - 30 : 1;
			char from[TOP_NUMBER], bar[256] = "";

			if (!h->slot[i])
				continue;
			top_number(from, TOP_NS, 1000ull << i, 0);
			memset(bar, '#', (size_t)(h->slot[i] * (room < 200 ? room : 200) / most));
			top_screen_print(s, row++, 0, s->columns, TOP_PLAIN,
					 "%s %-7s %8" PRIu64 " %s", i ? "from" : "<   ",
					 i ? from : "2.00us", h->slot[i], bar);
		}
	}
}

static void draw_panel(const struct top_view *v, const struct top_window *w, struct top_screen *s)
{
	struct top_rect at = { head_rows(s) + 1, 0, s->rows - head_rows(s) - 2, s->columns };
	const struct top_query q = top_view_query(v, v->panel);

	top_screen_print(s, head_rows(s), 0, s->columns, TOP_BOLD, "%s%s",
			 top_tables[v->panel].title,
			 v->pid && top_tables[v->panel].pid >= 0 ? " of this process" : "");
	if (w->full[v->panel])
		top_screen_print(s, head_rows(s), 40, s->columns, TOP_YELLOW,
				 "%" PRIu64 " rows found no room", w->full[v->panel]);
	if (v->panel == TOP_DISKS && w->nhists) {
		at.rows /= 2;
		draw_histograms(w, at.row + at.rows, s);
	}
	top_draw_table(w, &q, v->row, &at, s);
}

/* ---- help */

static void draw_help(struct top_screen *s)
{
	static const char *const lines[] = {
		"rawprof top: keys",
		"",
		"o  the whole machine         p  processes           n  threads",
		"c  functions on a CPU        w  waits, by reason    l  locks waited for",
		"d  disks, with histograms    s  system calls        m  who makes memory resident",
		"b  BPF programs              t  what top itself costs and runs",
		"Tab  the next table",
		"",
		"Up Down PgUp PgDn Home End   the bar; also j and k",
		"Enter     into the process of the bar: its threads, functions, waits, locks",
		"Esc       back: the filter, the table, the process",
		"< >       the column by which rows are sorted; r turns the order",
		"/         only rows with a text, or a pid",
		"Space     stands still, and goes on; Left and Right, or , and .: a window",
		"          back or forth, of the last sixty",
		"f  h      a flame graph (SVG), an HTML page of the last seconds: a file here",
		"x         stops what fills this table, or starts it whatever it costs",
		"q         leaves; ^Z stops, and comes back",
		"",
		"~2% in the head of a table: what fills it would cost too much and is",
		"measured for 2 % of the time, which stands for all of it; x: always.",
		"m and b run only once their table has been opened.",
	};

	for (unsigned int i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		top_screen_text(s, i, 0, s->columns, i ? TOP_PLAIN : TOP_BOLD, lines[i]);
	top_screen_text(s, s->rows - 1, 0, s->columns, TOP_CYAN, "any key goes back");
}

/* ---- all of it */

#define MIN_COLUMNS 40
#define MIN_ROWS 12

void top_draw(const struct top_view *v, const struct top_model *m, struct top_screen *s)
{
	static const enum top_panel panels[] = { TOP_PROCESSES, TOP_FUNCTIONS, TOP_WAITS,
						 TOP_DISKS,	TOP_LOCKS,     TOP_SYSCALLS };
	const struct top_window *w = top_view_window(v, m);

	top_screen_clear(s);
	if (s->columns < MIN_COLUMNS || s->rows < MIN_ROWS) {
		top_screen_print(s, 0, 0, s->columns, TOP_PLAIN, "too small: %ux%u; q quits",
				 s->columns, s->rows);
		return;
	}
	if (v->help) {
		draw_help(s);
		return;
	}
	if (!w) {
		top_screen_text(s, 0, 0, s->columns, TOP_PLAIN,
				"rawprof top: the first interval...");
		draw_foot(v, s);
		return;
	}
	draw_head(v, m, w, s);
	if (!v->overview)
		draw_panel(v, w, s);
	else if (v->pid)
		draw_process(v, w, s);
	else
		draw_blocks(v, w, head_rows(s), panels, 6, s);
	draw_foot(v, s);
}
