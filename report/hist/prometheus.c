/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Histograms as Prometheus has them: cumulative, le the greatest value that a
 * bucket may have. The edges are 2^k - 1 for a range of k that depends on the unit alone: values
 * are whole, so that no bucket of a histogram lies across one of these edges.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hists.h"
#include "report/report.h"
#include "report/prometheus.h"

static const struct {
	unsigned int from, to;
} edges[] = {
	[REPORT_UNIT_COUNT] = { 0, 20 },
	[REPORT_UNIT_NS] = { 10, 35 },	 /* 1 us to 34 s */
	[REPORT_UNIT_US] = { 0, 25 },	 /* the same */
	[REPORT_UNIT_BYTES] = { 9, 30 }, /* 512 B to 1 GiB */
};

static void put_series(struct out *o, const struct report_hists *set, uint32_t tuple,
		       const char *name, const char *part, bool *first)
{
	report_out_printf(o, "%s%s{", name, part);
	*first = true;
	for (size_t i = 0; i < set->spec.nkeys; i++)
		report_prometheus_label(o, first, set->keys[i], hists_label(set, tuple, i));
}

static void put_buckets(struct out *o, const struct report_hists *set, uint32_t tuple,
			const char *name)
{
	const struct report_hist *h = set->hists[tuple];
	unsigned int slots = report_hist_slots(h->bits), slot = 0;
	enum report_unit unit = set->spec.unit;
	uint64_t sum = 0;
	bool first;

	for (unsigned int k = edges[unit].from; k <= edges[unit].to; k++) {
		uint64_t edge = (1ULL << k) - 1;

		for (; slot < slots && report_hist_last(slot, h->bits) <= edge; slot++)
			if (slot != h->open)
				sum = add_saturating(sum, h->slots[slot]);
		put_series(o, set, tuple, name, "_bucket", &first);
		report_out_puts(o, first ? "le=\"" : ",le=\"");
		report_prometheus_value(o, edge, unit);
		report_out_puts(o, "\"} ");
		report_out_u64(o, sum);
		report_out_putc(o, '\n');
	}
	put_series(o, set, tuple, name, "_bucket", &first);
	report_out_puts(o, first ? "le=\"+Inf\"} " : ",le=\"+Inf\"} ");
	report_out_u64(o, h->count);
	report_out_putc(o, '\n');
}

static void put_sums(struct out *o, const struct report_hists *set, uint32_t tuple,
		     const char *name)
{
	const struct report_hist *h = set->hists[tuple];
	bool first;

	put_series(o, set, tuple, name, "_sum", &first);
	report_out_puts(o, "} ");
	if (hist_has_sum(h))
		report_prometheus_value(o, h->sum, set->spec.unit);
	else
		report_out_puts(o, "NaN");
	report_out_putc(o, '\n');
	put_series(o, set, tuple, name, "_count", &first);
	report_out_puts(o, "} ");
	report_out_u64(o, h->count);
	report_out_putc(o, '\n');
}

int report_hists_write_prometheus(const struct report_hists *set, FILE *file,
				  const struct report_options *options)
{
	uint32_t n = 0, *sorted = report_hists_sorted(set, &n);
	struct out o = { .file = file };
	struct buf name = { 0 };
	int err;

	(void)options;
	report_buf_printf(&name, "rawprof_%s%s", set->spec.metric,
			  report_prometheus_suffix(set->spec.unit));
	err = sorted ? name.err : -ENOMEM;
	if (!err) {
		report_prometheus_head(&o, name.s, set->spec.title, "histogram");
		for (uint32_t i = 0; i < n; i++) {
			put_buckets(&o, set, sorted[i], name.s);
			put_sums(&o, set, sorted[i], name.s);
		}
		err = report_out_end(&o);
	}
	report_buf_free(&name);
	free(sorted);
	return err;
}
