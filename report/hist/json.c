/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Histograms as one JSON document in one line, so that a series of them is JSON Lines.
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

	report_json_key(j, "buckets");
	report_out_putc(&j->out, '[');
	for (unsigned int i = 0; i < slots; i++) {
		uint64_t last = hist_last(h, i);

		if (!h->slots[i])
			continue;
		report_out_puts(&j->out, some ? "," : "");
		some = true;
		report_json_open(j);
		report_json_number(j, "lower", report_hist_first(i, h->bits));
		if (last < UINT64_MAX) {
			report_json_number(j, "upper", last + 1);
		} else {
			report_json_key(j, "upper");
			report_out_puts(&j->out, "18446744073709551616");
		}
		report_json_number(j, "count", h->slots[i]);
		report_json_close(j);
	}
	report_out_putc(&j->out, ']');
}

static void put_hist(struct json_out *j, const struct report_hists *set, uint32_t tuple)
{
	const struct report_hist *h = set->hists[tuple];
	struct report_hist_summary s;

	report_hist_summary(h, &s);
	report_json_open(j);
	report_json_key(j, "labels");
	report_json_open(j);
	for (size_t i = 0; i < set->spec.nkeys; i++)
		report_json_text(j, set->keys[i], hists_label(set, tuple, i));
	report_json_close(j);
	report_json_number(j, "count", s.count);
	if (hist_has_sum(h)) {
		report_json_number(j, "sum", s.sum);
		report_json_key(j, "mean");
		report_out_printf(&j->out, "%.9g", s.mean);
	}
	report_json_number(j, "min", s.least);
	report_json_number(j, "max", s.greatest);
	report_json_number(j, "p50", s.p50);
	report_json_number(j, "p90", s.p90);
	report_json_number(j, "p99", s.p99);
	report_json_number(j, "p99.9", s.p999);
	put_buckets(j, h);
	report_json_close(j);
}

int report_hists_write_json(const struct report_hists *set, FILE *file,
			    const struct report_options *options)
{
	struct json_out j = { .out = { .file = file } };
	uint32_t n = 0, *sorted = report_hists_sorted(set, &n);

	(void)options;
	if (!sorted)
		return -ENOMEM;
	report_json_open(&j);
	report_json_text(&j, "schema", "rawprof-histograms");
	report_json_number(&j, "version", 1);
	report_json_info(&j, &set->meta.info);
	report_json_text(&j, "title", set->spec.title);
	report_json_text(&j, "events", set->spec.events);
	report_json_text(&j, "unit", report_json_unit(set->spec.unit));
	report_json_key(&j, "keys");
	report_out_putc(&j.out, '[');
	for (size_t i = 0; i < set->spec.nkeys; i++) {
		report_out_puts(&j.out, i ? "," : "");
		report_out_json(&j.out, set->keys[i]);
	}
	report_out_putc(&j.out, ']');
	report_json_key(&j, "histograms");
	report_out_putc(&j.out, '[');
	for (uint32_t i = 0; i < n; i++) {
		report_out_puts(&j.out, i ? "," : "");
		put_hist(&j, set, sorted[i]);
	}
	report_out_putc(&j.out, ']');
	report_json_meta(&j, &set->meta);
	report_json_close(&j);
	report_out_putc(&j.out, '\n');
	free(sorted);
	return report_out_end(&j.out);
}
