/* SPDX-License-Identifier: BSD-2-Clause */
/* Histograms as tables, JSON and Prometheus text. */
#include <math.h>
#include <time.h>

#include <rawprof/hist.h>

#include "json_lines.h"
#include "prometheus_lines.h"
#include "test_report.h"

static const char *const disk_op[] = { "disk", "op" };
static const struct report_hists_spec by_disk = {
	.title = "latency of block requests",
	.metric = "io_latency",
	.events = "requests",
	.unit = REPORT_UNIT_NS,
	.bits = REPORT_HIST_BITS,
	.keys = disk_op,
	.nkeys = 2,
};

static struct report_hists *new_set(const struct report_hists_spec *spec)
{
	struct report_hists *set = NULL;

	ck_assert_int_eq(report_hists_new(spec, &set), 0);
	return set;
}

static struct report_hist *get(struct report_hists *set, const char *a, const char *b)
{
	const char *values[] = { a, b };
	struct report_hist *h = NULL;

	ck_assert_int_eq(report_hists_get(set, values, &h), 0);
	return h;
}

static char *written_hists(const struct report_hists *set, const char *format,
			   const struct report_options *options)
{
	char *text = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&text, &length);

	ck_assert_int_eq(report_format_by_name(format)->write_hists(set, f, options), 0);
	ck_assert_int_eq(fclose(f), 0);
	return text;
}

/* Two disks; the order in which they came does not show. */
static struct report_hists *two_disks(bool sdb_first)
{
	static const struct report_ledger_line line = { "merged", 3, REPORT_FILTERED };
	struct report_info info = { .command = "io",
				    .target = "whole machine",
				    .duration_ns = 2000000000,
				    .start_ns = 1700000000000000000,
				    .cpus = 2 };
	struct report_ledger ledger = { 13, 10, &line, 1 };
	struct report_cost cost = { 5000, 10, 2000000, 1000000, 3 << 20 };
	struct report_hists *set = new_set(&by_disk);

	if (sdb_first)
		get(set, "sdb10", "write");
	report_hist_add(get(set, "sdb9", "read"), 0, 1);
	report_hist_add(get(set, "sda", "read"), 1500, 4);
	report_hist_add(get(set, "sda", "read"), 3000, 1);
	report_hist_add(get(set, "sda", "read"), 9000, 2);
	report_hist_add(get(set, "sdb10", "write"), 1000000, 2);
	ck_assert_int_eq(report_hists_set_info(set, &info), 0);
	ck_assert_int_eq(report_hists_set_ledger(set, &ledger), 0);
	report_hists_set_cost(set, &cost);
	return set;
}

/* ---- table */

#define STARS40 "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@"
#define SPACES10 "          "

START_TEST(a_table_in_a_pipe)
{
	struct report_hists *set = two_disks(false);
	char *text = written_hists(set, "table", NULL);

	ck_assert_str_eq(
		text, "rawprof io: whole machine\n"
		      "10 requests in 2.00 s on 2 CPUs; latency of block requests by disk, op\n"
		      "\n"
		      "disk=sda op=read\n"
		      "  7 requests (3.50/s), sum 27.0 us (13.5 us/s), mean 3.86 us\n"
		      "  p50 1.50 us  p90 9.00 us  p99 9.00 us  p99.9 9.00 us  max 9.00 us\n"
		      "  [1.02 us, 2.05 us)  4 |" STARS40 "|\n"
		      "  [2.05 us, 4.10 us)  1 |@@@@@@@@@@" SPACES10 SPACES10 SPACES10 "|\n"
		      "  [4.10 us, 8.19 us)  0 |" SPACES10 SPACES10 SPACES10 SPACES10 "|\n"
		      "  [8.19 us, 16.4 us)  2 |@@@@@@@@@@@@@@@@@@@@" SPACES10 SPACES10 "|\n"
		      "\n"
		      "disk=sdb9 op=read\n"
		      "  1 request (0.50/s), sum 0 ns (0 ns/s), mean 0 ns\n"
		      "  p50 0 ns  p90 0 ns  p99 0 ns  p99.9 0 ns  max 0 ns\n"
		      "  [0 ns]  1 |" STARS40 "|\n"
		      "\n"
		      "disk=sdb10 op=write\n"
		      "  2 requests (1.00/s), sum 2.00 ms (1.00 ms/s), mean 1.00 ms\n"
		      "  p50 1.00 ms  p90 1.00 ms  p99 1.00 ms  p99.9 1.00 ms  max 1.00 ms\n"
		      "  [524 us, 1.05 ms)  2 |" STARS40 "|\n"
		      "\n"
		      "ledger: 13 requests fired = 10 kept + 3 filtered (merged 3) + 0 lost\n"
		      "own cost: BPF 5.00 us in 10 runs (500 ns each), CPU 2.00 ms user + 1.00 ms "
		      "system, "
		      "memory 3.00 MiB\n");
	free(text);
	report_hists_free(set);
}
END_TEST

/* Eighths of blocks that fill the line; even one in a million can be seen. */
START_TEST(a_table_on_a_terminal)
{
	struct report_options options = { .width = 60, .utf8 = true };
	struct report_hists_spec spec = { "size", "io_size", "requests", REPORT_UNIT_BYTES, 4 };
	struct report_hists *set = new_set(&spec);
	struct report_hist *h = get(set, NULL, NULL);
	char *text;

	report_hist_add(h, 1, 1);
	report_hist_add(h, 2, 250000);
	report_hist_add(h, 4096, 1000000);
	text = written_hists(set, "table", &options);
	ck_assert_ptr_nonnull(strstr(text, "rawprof\n1,250,001 requests; size\n\n"
					   "  1,250,001 requests, sum 3.82 GiB, mean 3.20 KiB\n"));
	ck_assert_ptr_nonnull(strstr(text, "  [1 B]                   1 ▏\n"));
	ck_assert_ptr_nonnull(strstr(text, "  [2 B, 4 B)        250,000 ███████▌\n"));
	ck_assert_ptr_nonnull(strstr(text, "  [1 KiB, 2 KiB)          0\n"));
	ck_assert_ptr_nonnull(
		strstr(text, "  [4 KiB, 8 KiB)  1,000,000 ██████████████████████████████\n"));
	free(text);
	report_hists_free(set);
}
END_TEST

/* In a series: a line of its own time at the head, no books, an empty line at the end. */
START_TEST(one_of_a_series)
{
	struct report_options options = { .part = true };
	struct report_hists *set = two_disks(false);
	char *text;

	setenv("TZ", "UTC", 1);
	tzset();
	text = written_hists(set, "table", &options);
	ck_assert_int_eq(strncmp(text, "22:13:22  10 requests in 2.00 s on 2 CPUs; latency", 50),
			 0);
	ck_assert_ptr_null(strstr(text, "ledger"));
	ck_assert_ptr_null(strstr(text, "rawprof"));
	ck_assert_str_eq(text + strlen(text) - 4, "@|\n\n");
	free(text);
	report_hists_free(set);
}
END_TEST

/* The ends of what there can be, and counts that hide beyond the last slot. */
START_TEST(extremes_in_a_table)
{
	struct report_hists_spec spec = { "n", "n", "calls", REPORT_UNIT_COUNT, 3 };
	struct report_hists *set = new_set(&spec);
	struct report_hist *h = get(set, NULL, NULL);
	uint64_t slots[33] = { [32] = 5 };
	char *text;

	report_hist_add(h, UINT64_MAX, 1);
	text = written_hists(set, "table", NULL);
	ck_assert_ptr_nonnull(strstr(text, "\n  [9,223,372,036,854,775,808, ...)  1 |@"));
	free(text);
	report_hists_clear(set);
	text = written_hists(set, "table", NULL);
	ck_assert_ptr_nonnull(strstr(text, "\nNothing was recorded: no calls.\n"));
	free(text);
	ck_assert_int_eq(report_hist_merge(h, &(struct report_hist_counts){ .greatest = 99,
									    .not_least = ~66ULL,
									    .sum = 400,
									    .slots = slots,
									    .nslots = 33 }),
			 0);
	text = written_hists(set, "table", NULL);
	ck_assert_ptr_nonnull(strstr(text, "\n  [64, ...)  5 |@"));
	free(text);
	report_hists_free(set);
}
END_TEST

/* Without a sum there is no mean. */
START_TEST(what_is_not_known_is_not_said)
{
	struct report_hists *set = new_set(&by_disk);
	char *text;

	report_hist_add_slot(get(set, "a", "b"), 20, 3);
	text = written_hists(set, "table", NULL);
	ck_assert_ptr_nonnull(strstr(text, "disk=a op=b\n  3 requests\n  p50 20 ns"));
	free(text);
	text = written_hists(set, "json", NULL);
	ck_assert_ptr_null(strstr(text, "\"sum\""));
	ck_assert_ptr_null(strstr(text, "\"mean\""));
	free(text);
	text = written_hists(set, "prometheus", NULL);
	ck_assert_ptr_nonnull(strstr(text, "_sum{disk=\"a\",op=\"b\"} NaN\n"));
	free(text);
	report_hists_free(set);
}
END_TEST

/* ---- JSON */

START_TEST(json_has_it_all)
{
	struct report_hists *set = two_disks(false);
	char *text = written_hists(set, "json", NULL), *lines = json_lines(text);
	static const char *const wanted[] = {
		".schema \"rawprof-histograms\"",
		".version 1",
		".info.command \"io\"",
		".info.duration_ns 2000000000",
		".title \"latency of block requests\"",
		".events \"requests\"",
		".unit \"nanoseconds\"",
		".keys[1] \"op\"",
		".histograms[0].labels.disk \"sda\"",
		".histograms[0].labels.op \"read\"",
		".histograms[0].count 7",
		".histograms[0].sum 27000",
		".histograms[0].mean 3857.14286",
		".histograms[0].min 1500",
		".histograms[0].max 9000",
		".histograms[0].p99 9000",
		".histograms[0].p99.9 9000",
		".histograms[0].buckets[0].lower 1472",
		".histograms[0].buckets[0].upper 1504",
		".histograms[0].buckets[0].count 4",
		".histograms[0].buckets[2].lower 8960",
		".histograms[0].buckets[2].upper 9216",
		".histograms[0].buckets[2].count 2",
		".histograms[0].buckets# 3",
		".histograms[1].labels.disk \"sdb9\"",
		".histograms[1].mean 0",
		".histograms[2].labels.disk \"sdb10\"",
		".histograms# 3",
		".ledger.fired 13",
		".ledger.closes true",
		".ledger.lines[0].name \"merged\"",
		".cost.bpf_runs 10",
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		assert_line(lines, wanted[i]);
	ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
	free(lines);
	free(text);
	report_hists_clear(set);
	report_hist_add(get(set, "x", "y"), UINT64_MAX, 1);
	text = written_hists(set, "json", NULL);
	lines = json_lines(text);
	assert_line(lines, ".histograms[0].buckets[0].upper 18446744073709551616");
	assert_line(lines, ".histograms# 1");
	free(lines);
	free(text);
	report_hists_free(set);
}
END_TEST

/* ---- Prometheus */

START_TEST(prometheus_is_cumulative)
{
	struct report_hists *set = two_disks(false);
	char *text = written_hists(set, "prometheus", NULL);
	struct prom *p = prom_read(text);
	double edge = -1, below = 0, wanted = 1023e-9;
	int i = 0, edges = 0;

	ck_assert_str_eq(p->metric, "rawprof_io_latency_seconds");
	ck_assert_str_eq(p->type, "histogram");
	ck_assert_str_eq(p->help, "latency of block requests");
	for (; !strcmp(p->sample[i].name, "rawprof_io_latency_seconds_bucket"); i++) {
		const struct prom_sample *x = &p->sample[i];
		double le = strtod(prom_label(x, "le"), NULL);

		if (strcmp(prom_label(x, "disk"), "sda"))
			break;
		ck_assert(le > edge && x->number >= below);
		/* The greatest value of the bucket: 1500 <= 2047, 3000 <= 4095, 9000 <= 16383. */
		ck_assert(x->number == (le >= 9000e-9	? 7
					: le >= 3000e-9 ? 5
					: le >= 1500e-9 ? 4
							: 0));
		if (isinf(le))
			break;
		ck_assert(fabs(le - wanted) < 1e-12);
		wanted = wanted * 2 + 1e-9;
		edge = le;
		below = x->number;
		edges++;
	}
	ck_assert_int_eq(edges, 26);
	ck_assert_str_eq(prom_label(&p->sample[i], "le"), "+Inf");
	ck_assert_str_eq(p->sample[i + 1].name, "rawprof_io_latency_seconds_sum");
	ck_assert_str_eq(p->sample[i + 1].written, "0.000027");
	ck_assert_int_eq(p->sample[i + 1].nlabels, 2);
	ck_assert_str_eq(p->sample[i + 2].name, "rawprof_io_latency_seconds_count");
	ck_assert_str_eq(p->sample[i + 2].written, "7");
	ck_assert_int_eq(p->n, 3 * 29);
	free(text);
	free(p);
	report_hists_free(set);
}
END_TEST

/* What is on an edge, below the first one and beyond the last one; no labels but le. */
START_TEST(prometheus_edges)
{
	struct report_hists_spec spec = { "size\\of\nit", "io_size", "calls", REPORT_UNIT_BYTES,
					  2 };
	struct report_hists *set = new_set(&spec);
	struct report_hist *h = get(set, NULL, NULL);
	char *text;
	struct prom *p;

	report_hist_add(h, 3, 1);
	report_hist_add(h, 1023, 1);
	report_hist_add(h, 1024, 1);
	report_hist_add(h, 1ULL << 40, 1);
	text = written_hists(set, "prometheus", NULL);
	ck_assert_int_eq(strncmp(text, "# HELP rawprof_io_size_bytes size\\\\of\\nit\n", 42), 0);
	p = prom_read(text);
	ck_assert_str_eq(prom_label(&p->sample[0], "le"), "511");
	ck_assert(p->sample[0].number == 1);
	ck_assert_str_eq(prom_label(&p->sample[1], "le"), "1023");
	ck_assert(p->sample[1].number == 2);
	ck_assert(p->sample[2].number == 3);
	ck_assert_str_eq(prom_label(&p->sample[21], "le"), "1073741823");
	ck_assert(p->sample[21].number == 3);
	ck_assert(p->sample[22].number == 4);
	ck_assert_int_eq(p->sample[23].nlabels, 0);
	free(p);
	free(text);
	report_hists_free(set);
}
END_TEST

/* One of 29 lines for each histogram, and the head: the reader has room for so many. */
static char *only_counts(const char *document)
{
	char *counts = NULL;
	size_t length;
	FILE *f = open_memstream(&counts, &length);

	while (*document) {
		const char *end = strchr(document, '\n') + 1;

		if (!strncmp(document, "# ", 2) ||
		    !strncmp(document, "rawprof_io_latency_seconds_count", 32))
			fwrite(document, 1, (size_t)(end - document), f);
		document = end;
	}
	fclose(f);
	return counts;
}

/* Labels come back as they were; those that no reader would take, or that would move a terminal,
 * are told apart all the same: the reader refuses a series that is there twice. */
START_TEST(prometheus_labels)
{
	static const char *const odd[] = { "\\xff", "\xff", "\\\\xff",	"\n",
					   "\\n",   "\\",   "\x1b[31m", "\xff\\" };
	struct report_hists *set = new_set(&by_disk);
	struct prom *p;
	char *text, *counts;
	int n = 0;

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		report_hist_add(get(set, "odd", odd[i]), 1, 1);
	for (size_t i = 0; i < HOSTILE_NAMES; i++)
		report_hist_add(get(set, "h", hostile_names[i]), 1, 1);
	report_hist_add(get(set, "plain", "a\"b\\c=\xce\xbb,}"), 1, 1);
	text = written_hists(set, "prometheus", NULL);
	for (const char *s = text; *s; s++)
		ck_assert((unsigned char)*s >= 0x20 || *s == '\n');
	counts = only_counts(text);
	p = prom_read(counts);
	ck_assert_int_eq(p->n, (int)(sizeof(odd) / sizeof(*odd) + HOSTILE_NAMES + 1));
	for (int i = 0; i < p->n; i++)
		n += !strcmp(prom_label(&p->sample[i], "op"), "a\"b\\c=\xce\xbb,}");
	ck_assert_int_eq(n, 1);
	free(p);
	free(text);
	free(counts);
	report_hists_free(set);
}
END_TEST

/* ---- all of them */

START_TEST(order_of_insertion_does_not_show)
{
	struct report_hists *one = two_disks(false), *two = two_disks(true);

	for (const struct report_format *f = report_formats; f->name; f++) {
		char *a, *b;

		if (!f->write_hists)
			continue;
		a = written_hists(one, f->name, NULL);
		b = written_hists(two, f->name, NULL);
		ck_assert_str_eq(a, b);
		free(a);
		free(b);
	}
	report_hists_free(one);
	report_hists_free(two);
}
END_TEST

START_TEST(hostile_labels_break_nothing)
{
	struct report_options options = { .width = 80, .utf8 = true };
	struct report_hists *set = new_set(&by_disk);
	char *text, *lines;

	for (size_t i = 0; i < HOSTILE_NAMES; i++)
		report_hist_add(get(set, hostile_names[i], every_byte()), i, 1);
	text = written_hists(set, "table", &options);
	for (const char *s = text; *s; s++)
		ck_assert((unsigned char)*s >= 0x20 || *s == '\n');
	free(text);
	text = written_hists(set, "json", NULL);
	lines = json_lines(text);
	assert_line(lines, ".histograms# 14");
	free(lines);
	free(text);
	report_hists_free(set);
}
END_TEST

START_TEST(a_full_disk_is_noticed)
{
	struct report_hists *set = two_disks(false);
	int n = 0;

	for (const struct report_format *f = report_formats; f->name; f++) {
		FILE *full;

		if (!f->write_hists)
			continue;
		full = fopen("/dev/full", "w");
		ck_assert_int_eq(f->write_hists(set, full, NULL), -ENOSPC);
		fclose(full);
		n++;
	}
	ck_assert_int_eq(n, 4);
	report_hists_free(set);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, a_table_in_a_pipe);
	tcase_add_test(tests, a_table_on_a_terminal);
	tcase_add_test(tests, one_of_a_series);
	tcase_add_test(tests, extremes_in_a_table);
	tcase_add_test(tests, what_is_not_known_is_not_said);
	tcase_add_test(tests, json_has_it_all);
	tcase_add_test(tests, prometheus_is_cumulative);
	tcase_add_test(tests, prometheus_edges);
	tcase_add_test(tests, prometheus_labels);
	tcase_add_test(tests, order_of_insertion_does_not_show);
	tcase_add_test(tests, hostile_labels_break_nothing);
	tcase_add_test(tests, a_full_disk_is_noticed);
}

int main(void)
{
	return run_tests("report_hist_formats", add);
}
