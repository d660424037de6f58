/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Histograms for a person: for each the figures, and a row for each power of two with
 * a bar. A row is what log-linear buckets without bits would be: row 0 is the value 0, row i the
 * values from 2^(i-1) up to 2^i.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hists.h"
#include "report/table/table.h"

enum { ROWS = 65, MAX_BAR = 48, MIN_BAR = 10, NO_TERMINAL_BAR = 40 };

struct hist_table {
	struct out out;
	const struct report_hists *set;
	struct report_options options;
	struct buf scratch;
};

static char *figure(const struct hist_table *t, uint64_t v, char s[NUMBER_SIZE])
{
	return report_text_figure(v, t->set->spec.unit, s);
}

/* " (12.3/s)", or nothing if the time is not known. */
static void put_rate(struct hist_table *t, uint64_t v, enum report_unit unit)
{
	uint64_t ns = t->set->meta.info.duration_ns;
	char s[NUMBER_SIZE];

	if (ns)
		report_out_printf(&t->out, " (%s/s)",
				  report_text_real((double)v * 1e9 / (double)ns, unit, s));
}

static void put_name(struct hist_table *t, uint32_t tuple)
{
	report_out_putc(&t->out, '\n');
	if (!t->set->spec.nkeys)
		return;
	report_out_puts(&t->out, color_code(&t->options, TABLE_BOLD));
	for (size_t i = 0; i < t->set->spec.nkeys; i++) {
		report_out_printf(&t->out, "%s%s=", i ? " " : "", t->set->keys[i]);
		report_out_clean(&t->out, hists_label(t->set, tuple, i));
	}
	report_out_printf(&t->out, "%s\n", color_code(&t->options, TABLE_RESET));
}

static void put_figures(struct hist_table *t, const struct report_hist *h)
{
	struct report_hist_summary s;
	char a[NUMBER_SIZE];

	report_hist_summary(h, &s);
	report_buf_reset(&t->scratch);
	report_add_events(&t->scratch, s.count, t->set->spec.events);
	report_out_puts(&t->out, "  ");
	report_out_buf(&t->out, &t->scratch);
	put_rate(t, s.count, REPORT_UNIT_COUNT);
	if (hist_has_sum(h)) {
		report_out_printf(&t->out, ", sum %s", figure(t, s.sum, a));
		put_rate(t, s.sum, t->set->spec.unit);
		report_out_printf(&t->out, ", mean %s",
				  report_text_real(s.mean, t->set->spec.unit, a));
	}
	report_out_printf(&t->out, "\n  p50 %s", figure(t, s.p50, a));
	report_out_printf(&t->out, "  p90 %s", figure(t, s.p90, a));
	report_out_printf(&t->out, "  p99 %s", figure(t, s.p99, a));
	report_out_printf(&t->out, "  p99.9 %s", figure(t, s.p999, a));
	report_out_printf(&t->out, "  max %s\n", figure(t, s.greatest, a));
}

/* An edge: "4 KiB" rather than "4.00 KiB". */
static char *edge(const struct hist_table *t, uint64_t v, char s[NUMBER_SIZE])
{
	char *point = strchr(figure(t, v, s), '.'), *end;

	if (!point)
		return s;
	end = point + 1 + strspn(point + 1, "0");
	if (*end == ' ')
		memmove(point, end, strlen(end) + 1);
	return s;
}

struct rows {
	uint64_t count[ROWS], greatest;
	unsigned int first, last, open;
};

static void merge(const struct report_hist *h, struct rows *rows)
{
	unsigned int slots = report_hist_slots(h->bits);

	*rows = (struct rows){ .first = ROWS, .open = ROWS };
	for (unsigned int i = 0; i < slots; i++) {
		unsigned int row = report_hist_slot(report_hist_first(i, h->bits), 0);

		if (!h->slots[i])
			continue;
		if (rows->first == ROWS)
			rows->first = row;
		rows->last = row;
		rows->count[row] = add_saturating(rows->count[row], h->slots[i]);
		if (i == h->open)
			rows->open = row;
		if (rows->count[row] > rows->greatest)
			rows->greatest = rows->count[row];
	}
}

/* "[4.10 us, 8.19 us)"; a single value is "[1]". */
static void add_interval(struct hist_table *t, struct buf *b, const struct rows *rows,
			 unsigned int row)
{
	uint64_t first = report_hist_first(row, 0), last = report_hist_last(row, 0);
	char s[NUMBER_SIZE];

	report_buf_printf(b, "[%s", edge(t, first, s));
	if (row == rows->open || last == UINT64_MAX)
		report_buf_puts(b, ", ...)");
	else if (first == last)
		report_buf_puts(b, "]");
	else
		report_buf_printf(b, ", %s)", edge(t, last + 1, s));
}

static void put_blocks(struct hist_table *t, uint64_t n, uint64_t of, unsigned int width)
{
	static const char *const parts[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	unsigned int eighths = (unsigned int)((double)n / (double)of * width * 8);

	if (n && !eighths)
		eighths = 1;
	if (!eighths) {
		report_out_putc(&t->out, '\n');
		return;
	}
	report_out_printf(&t->out, " %s", color_code(&t->options, "\033[33m"));
	for (unsigned int i = 0; i < eighths / 8; i++)
		report_out_puts(&t->out, "█");
	report_out_printf(&t->out, "%s%s\n", parts[eighths % 8],
			  color_code(&t->options, TABLE_RESET));
}

static void put_stars(struct hist_table *t, uint64_t n, uint64_t of, unsigned int width)
{
	unsigned int filled = (unsigned int)((double)n / (double)of * width);

	report_out_puts(&t->out, " |");
	report_out_fill(&t->out, '@', filled);
	report_out_fill(&t->out, ' ', width - filled);
	report_out_puts(&t->out, "|\n");
}

static unsigned int bar_width(const struct hist_table *t, unsigned int used)
{
	unsigned int width = t->options.width;

	if (!width)
		return NO_TERMINAL_BAR;
	if (width < used + MIN_BAR)
		return MIN_BAR;
	return width - used < MAX_BAR ? width - used : MAX_BAR;
}

static void put_rows(struct hist_table *t, const struct report_hist *h)
{
	unsigned int intervals = 0, counts = 0, bar;
	char s[NUMBER_SIZE];
	struct rows rows;

	merge(h, &rows);
	for (unsigned int i = rows.first; i <= rows.last; i++) {
		report_buf_reset(&t->scratch);
		add_interval(t, &t->scratch, &rows, i);
		if (t->scratch.len > intervals)
			intervals = (unsigned int)t->scratch.len;
	}
	counts = (unsigned int)strlen(report_text_number(rows.greatest, s));
	bar = bar_width(t, 2 + intervals + 2 + counts + 3);
	for (unsigned int i = rows.first; i <= rows.last && !t->scratch.err; i++) {
		report_buf_reset(&t->scratch);
		add_interval(t, &t->scratch, &rows, i);
		report_out_printf(&t->out, "  %-*s  %*s", (int)intervals, t->scratch.s, (int)counts,
				  report_text_number(rows.count[i], s));
		if (t->options.utf8)
			put_blocks(t, rows.count[i], rows.greatest, bar);
		else
			put_stars(t, rows.count[i], rows.greatest, bar);
	}
}

/* "latency of block requests by disk, op" */
static void put_head(struct hist_table *t)
{
	const struct report_hists_spec *spec = &t->set->spec;

	report_buf_reset(&t->scratch);
	report_buf_clean(&t->scratch, spec->title, 0, 0);
	for (size_t i = 0; i < spec->nkeys; i++) {
		report_buf_puts(&t->scratch, i ? ", " : " by ");
		report_buf_puts(&t->scratch, spec->keys[i]);
	}
	report_table_head(&t->out, &t->options, &t->set->meta, t->scratch.err ? "" : t->scratch.s,
			  report_hists_total(t->set), spec->events);
}

int report_hists_write_table(const struct report_hists *set, FILE *file,
			     const struct report_options *options)
{
	struct hist_table t = { .out = { .file = file },
				.set = set,
				.options = options ? *options : (struct report_options){ 0 } };
	uint32_t n = 0, *sorted = report_hists_sorted(set, &n);
	int err;

	if (!sorted)
		return -ENOMEM;
	put_head(&t);
	if (!n)
		report_table_nothing(&t.out, set->spec.events);
	for (uint32_t i = 0; i < n; i++) {
		const struct report_hist *h = set->hists[sorted[i]];

		put_name(&t, sorted[i]);
		put_figures(&t, h);
		put_rows(&t, h);
	}
	if (t.options.part)
		report_out_putc(&t.out, '\n');
	else
		report_meta_print(&t.out, &set->meta, set->spec.events);
	err = t.scratch.err;
	report_buf_free(&t.scratch);
	free(sorted);
	return err ? err : report_out_end(&t.out);
}
