/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hist_json.c: histograms as one JSON document in one line, so that a series of them is JSON Lines.
 * Figures are numbers in the unit named. Members that are not known are left out. Version 1:
 *
 *   schema: "rawprof-histograms", version: 1
 *   info: as in json.c
 *   title, events, unit: "nanoseconds", "microseconds", "bytes" or "count"
 *   keys: [of the labels]
 *   histograms: [{ labels: { key: text }, count, sum, mean, min, max, p50, p90, p99, p99.9,
 *                  buckets: [{ lower, upper, count }] }]
 *   ledger, cost: as in json.c
 *
 * A bucket holds values from lower on and below upper; empty ones are left out. The last upper edge
 * that there can be is 2^64.
 */
#include <errno.h>
#include <stdlib.h>

#include "hists.h"
#include "report/json_out.h"
#include "report/text.h"

static void put_buckets(struct json_out *j, const struct report_hist *h)
{
	unsigned int slots = report_hist_slots(h->bits);
	bool some = false;

	json_key(j, "buckets");
	out_putc(&j->out, '[');
	for (unsigned int i = 0; i < slots; i++) {
		uint64_t last = hist_last(h, i);

		if (!h->slots[i])
			continue;
		out_puts(&j->out, some ? "," : "");
		some = true;
		json_open(j);
		json_number(j, "lower", report_hist_first(i, h->bits));
		if (last < UINT64_MAX) {
			json_number(j, "upper", last + 1);
		} else {
			json_key(j, "upper");
			out_puts(&j->out, "18446744073709551616");
		}
		json_number(j, "count", h->slots[i]);
		json_close(j);
	}
	out_putc(&j->out, ']');
}

static void put_hist(struct json_out *j, const struct report_hists *set, uint32_t tuple)
{
	const struct report_hist *h = set->hists[tuple];
	struct report_hist_summary s;

	report_hist_summary(h, &s);
	json_open(j);
	json_key(j, "labels");
	json_open(j);
	for (size_t i = 0; i < set->spec.nkeys; i++)
		json_text(j, set->keys[i], hists_label(set, tuple, i));
	json_close(j);
	json_number(j, "count", s.count);
	if (hist_has_sum(h)) {
		json_number(j, "sum", s.sum);
		json_key(j, "mean");
		out_printf(&j->out, "%.9g", s.mean);
	}
	json_number(j, "min", s.least);
	json_number(j, "max", s.greatest);
	json_number(j, "p50", s.p50);
	json_number(j, "p90", s.p90);
	json_number(j, "p99", s.p99);
	json_number(j, "p99.9", s.p999);
	put_buckets(j, h);
	json_close(j);
}

int report_hists_write_json(const struct report_hists *set, FILE *file,
			    const struct report_options *options)
{
	struct json_out j = { .out = { .file = file } };
	uint32_t n = 0, *sorted = hists_sorted(set, &n);

	(void)options;
	if (!sorted)
		return -ENOMEM;
	json_open(&j);
	json_text(&j, "schema", "rawprof-histograms");
	json_number(&j, "version", 1);
	json_info(&j, &set->books.info);
	json_text(&j, "title", set->spec.title);
	json_text(&j, "events", set->spec.events);
	json_text(&j, "unit", json_unit(set->spec.unit));
	json_key(&j, "keys");
	out_putc(&j.out, '[');
	for (size_t i = 0; i < set->spec.nkeys; i++) {
		out_puts(&j.out, i ? "," : "");
		out_json(&j.out, set->keys[i]);
	}
	out_putc(&j.out, ']');
	json_key(&j, "histograms");
	out_putc(&j.out, '[');
	for (uint32_t i = 0; i < n; i++) {
		out_puts(&j.out, i ? "," : "");
		put_hist(&j, set, sorted[i]);
	}
	out_putc(&j.out, ']');
	json_books(&j, &set->books);
	json_close(&j);
	out_putc(&j.out, '\n');
	free(sorted);
	return out_end(&j.out);
}
