/* SPDX-License-Identifier: BSD-2-Clause */
/* What histograms and grids give evidence of. */
#include <stdlib.h>

#include "advice.h"
#include "report/grid/grids.h"
#include "report/hist/hists.h"

enum { FEWEST = 100 }; /* requests, for a hundredth to be any */

static bool has_key(const struct report_hists *set, const char *key)
{
	for (size_t i = 0; i < set->spec.nkeys; i++)
		if (!strcmp(set->keys[i], key))
			return true;
	return false;
}

/* Of disks: the one whose slow requests are the furthest from its usual ones. threshold: times. */
bool report_advice_tail(const struct advice_view *v, double threshold,
			struct buf words[ADVICE_WORDS])
{
	const struct report_hists *set = v->hists;
	struct report_hist_summary s, worst = { 0 };
	uint32_t best = 0;
	char number[NUMBER_SIZE];

	if (!set || set->spec.unit != REPORT_UNIT_NS || !has_key(set, "disk"))
		return false;
	for (uint32_t i = 0; i < set->tuples.count; i++) {
		if (!set->hists[i])
			continue;
		report_hist_summary(set->hists[i], &s);
		if (s.count < FEWEST || !s.p50 || (double)s.p99 < threshold * (double)s.p50)
			continue;
		if (worst.p50 &&
		    (double)s.p99 * (double)worst.p50 <= (double)worst.p99 * (double)s.p50)
			continue;
		worst = s;
		best = i;
	}
	if (!worst.p50)
		return false;
	report_buf_puts(&words[0], report_text_number(worst.count, number));
	report_buf_puts(&words[0], " ");
	report_buf_clean(&words[0], set->spec.events, 0, 0);
	for (size_t k = 0; k < set->spec.nkeys; k++) {
		report_buf_puts(&words[0], k ? ", " : " of ");
		report_buf_clean(&words[0], hists_label(set, best, k), 0, 0);
	}
	report_buf_puts(&words[1], report_text_duration(worst.p99, number));
	report_buf_puts(&words[2], report_text_duration(worst.p50, number));
	report_buf_printf(&words[3], "%.0f", (double)worst.p99 / (double)worst.p50);
	return true;
}

/* Of a grid of locks: the one that has been waited for the longest, and who releases it. */
bool report_advice_lock(const struct advice_view *v, double threshold,
			struct buf words[ADVICE_WORDS])
{
	const struct report_grid *g = v->grid;
	const int lock = g ? report_grid_column(g, "lock") : -1,
		  total = g ? report_grid_column(g, "total") : -1,
		  released = g ? report_grid_column(g, "released_in") : -1;
	uint64_t sum = 0, most = 0;
	const char *name, *in;
	uint32_t best = 0;
	char s[NUMBER_SIZE];

	if (lock < 0 || total < 0 || strcmp(g->spec.metric, "lock") ||
	    g->columns[total].unit != REPORT_UNIT_NS)
		return false;
	for (uint32_t i = 0; i < g->rows; i++) {
		const uint64_t ns = grid_cell(g, i, (size_t)total)->number;

		sum = add_saturating(sum, ns);
		if (ns > most) {
			most = ns;
			best = i;
		}
	}
	/* A row alone is all there is to say already. */
	if (g->rows < 2 || !sum || report_text_percent(most, sum) < threshold)
		return false;
	name = grid_text(g, best, (size_t)lock);
	in = released < 0 ? NULL : grid_text(g, best, (size_t)released);
	report_buf_printf(&words[0], "%.0f %%", report_text_percent(most, sum));
	report_buf_clean(&words[1], name ? name : "-", 0, 0);
	report_buf_puts(&words[2], report_text_duration(most, s));
	if (in && strcmp(in, "-")) {
		report_buf_puts(&words[3], ", which is held up in ");
		report_buf_clean(&words[3], in, 0, 0);
	}
	return true;
}
