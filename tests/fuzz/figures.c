/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Histograms and grids whose labels and cells are anything, in every form; and the buckets: a value
 * is in the one that says so.
 */
#include <rawprof/grid.h>
#include <rawprof/hist.h>

#include "fuzz_json.h"

static const char *const keys[] = { "disk", "op" };
static const struct report_column columns[] = { { "NAME", "name", REPORT_UNIT_TEXT, .width = 20 },
						{ "COUNT", "n", REPORT_UNIT_COUNT, .adds = true },
						{ "RATE", "rate", REPORT_UNIT_BYTES,
						  .per_second = true },
						{ "TIME", "time", REPORT_UNIT_NS } };

/* What was saved is saved again as the same bytes. */
static void check_saved(const char *saved, size_t size, const struct report_options *show)
{
	struct report_file file;
	char *again = NULL;
	size_t length;
	FILE *out = open_memstream(&again, &length);

	fuzz_check(!report_read(saved, size, &file));
	if (file.hists)
		fuzz_check(!report_hists_write_saved(file.hists, out, show));
	else
		fuzz_check(!report_grid_write_saved(file.grid, out, show));
	fuzz_check(!fclose(out) && length == size && !memcmp(saved, again, size));
	free(again);
	report_file_free(&file);
}

static void check_text(char *text, size_t size, const struct report_format *f,
		       const struct report_options *show)
{
	if (f->binary)
		check_saved(text, size, show);
	else
		fuzz_check_printable(text, size);
	if (f->json)
		fuzz_check_json(text);
	free(text);
}

static void check_hists(const struct report_hists *set)
{
	static const struct report_options show = { .width = 100 };

	for (const struct report_format *f = report_formats; f->name; f++) {
		char *text = NULL;
		size_t size;
		FILE *out;

		if (!f->write_hists)
			continue;
		out = open_memstream(&text, &size);
		fuzz_check(!f->write_hists(set, out, &show) && !fclose(out));
		check_text(text, size, f, &show);
	}
}

static void check_grid(const struct report_grid *g)
{
	static const struct report_options show = { .width = 70 };

	for (const struct report_format *f = report_formats; f->name; f++) {
		char *text = NULL;
		size_t size;
		FILE *out;

		if (!f->write_grid)
			continue;
		out = open_memstream(&text, &size);
		fuzz_check(!f->write_grid(g, out, &show) && !fclose(out));
		check_text(text, size, f, &show);
	}
}

static void check_bucket(uint64_t value)
{
	for (unsigned int bits = 0; bits <= REPORT_HIST_MAX_BITS; bits++) {
		const unsigned int slot = report_hist_slot(value, bits);

		fuzz_check(slot < report_hist_slots(bits));
		fuzz_check(report_hist_first(slot, bits) <= value &&
			   value <= report_hist_last(slot, bits));
	}
}

static void check_summary(const struct report_hist *h)
{
	struct report_hist_summary s;

	report_hist_summary(h, &s);
	if (s.count)
		fuzz_check(s.least <= s.p50 && s.p50 <= s.p90 && s.p90 <= s.p99 &&
			   s.p99 <= s.p999 && s.p999 <= s.greatest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct report_hists_spec hists = { "latency",	   "io", "requests", REPORT_UNIT_NS,
						 REPORT_HIST_BITS, keys, 2 };
	const struct report_grid_spec spec = { "requests", "io", "requests", "rows", columns, 4 };
	struct fuzz_input in = { data, data + size };
	struct report_hists *set;
	struct report_hist *h;
	struct report_grid *g;

	if (report_hists_new(&hists, &set) || report_grid_new(&spec, &g))
		abort();
	for (int i = 0; i < 64 && in.at < in.end; i++) {
		const unsigned int shift = (unsigned int)fuzz_below(&in, 64);
		const uint64_t value = fuzz_take(&in, 4) << shift, times = 1 + fuzz_take(&in, 1);
		char *a = fuzz_text(&in), *b = fuzz_text(&in);
		const char *const values[] = { a, b };
		const struct report_cell cells[] = { { .text = a },
						     { .number = value },
						     { .real = (double)value / 7 },
						     { .number = times } };

		check_bucket(value);
		fuzz_check(!report_hists_get(set, values, &h));
		report_hist_add(h, value, times);
		check_summary(h);
		fuzz_check(!report_grid_add(g, cells));
		free(a);
		free(b);
	}
	check_hists(set);
	if (report_grid_rows(g))
		fuzz_check(!report_grid_sort(g, size % 4, size & 4, (unsigned int)(size % 9)));
	check_grid(g);
	report_hists_free(set);
	report_grid_free(g);
	return 0;
}
