/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Saved results: what is read back leaves in every form as it did before, and what was cut or
 * changed, be it by one bit, is refused.
 */
#include <zlib.h>

#include <rawprof/grid.h>
#include <rawprof/hist.h>

#include "test_report.h"

/* Its bytes as they were written once, on x86-64: any machine reads the same out of them. */
#include "saved_golden.h"

struct bytes {
	char *s;
	size_t size;
};

static struct bytes saved(const struct report *r, const struct report_options *options)
{
	struct bytes b;

	b.s = written_bytes(r, report_write_saved, options, &b.size);
	return b;
}

/* Something of everything that a profile has, at the ends of its ranges. */
static struct report *full_report(void)
{
	struct report *r = new_cpu_report();
	const struct report_info info = { .command = "cpu",
					  .target = "./prog --fast",
					  .event = "cpu-clock",
					  .main_module = "/bin/app",
					  .kernel_build_id = "abcdef0123",
					  .host = "here",
					  .kernel = "6.1",
					  .note = "",
					  .counted = "7 calls",
					  .period_type = { "cpu", "nanoseconds" },
					  .period = 10101010,
					  .start_ns = 1767323045123456789,
					  .duration_ns = UINT64_MAX,
					  .rate_asked = 99,
					  .rate_achieved = 98.7654321,
					  .cpus = UINT32_MAX,
					  .has_events = true,
					  .events = 7 };
	const struct report_ledger_line lines[] = { { "ring full", 3, REPORT_LOST },
						    { "idle", UINT64_MAX, REPORT_FILTERED } };
	const struct report_ledger ledger = { 10, 8, lines, 2, "calls" };
	const struct report_cost cost = { 1, 2, 3, 4, UINT64_MAX };
	const uint32_t f[] = { kernel(r, "read"), user(r, "leaf"), user(r, "main"),
			       add_frame(r, (struct report_frame){ .name = "inlined",
								   .module = "/bin/app",
								   .build_id = "00ff",
								   .address = UINT64_MAX,
								   .symbol_offset = UINT64_MAX,
								   .map_start = 1,
								   .map_end = UINT64_MAX,
								   .map_offset = 4096,
								   .module_addr = 0x1234,
								   .file = "src/x.c",
								   .line = UINT32_MAX,
								   .kind = REPORT_INLINED,
								   .is_return = true }),
			       add_frame(r, (struct report_frame){ .address = 0x7000 }) };
	const struct report_label labels[] = { { "state", "blocked" },
					       { "size", NULL, INT64_MIN, "bytes" } };
	const uint64_t values[] = { 2, UINT64_MAX };
	const struct report_sample with_labels = { "app", -1, INT32_MIN, labels, 2, f, 5, values };

	ADD(r, "app", 7, 3, f[0], f[1], f[2]);
	ADD(r, "app", 8, 1, f[1], f[2]);
	ADD(r, "", 8, 1, f[4]);
	add_n(r, "none\xff", 9, NULL, 0, 1);
	ck_assert_int_eq(report_add(r, &with_labels), 0);
	ck_assert_int_eq(report_set_stream(r, 1, 5), 0);
	for (uint32_t i = 0; i < 12; i++)
		ck_assert_int_eq(
			report_add_moment(r,
					  &(struct report_moment){
						  .time_ns = i == 11 ? REPORT_MOMENT_LAST : i / 3,
						  .cpu = i == 4 ? REPORT_NO_CPU : i % 2,
						  .kind = i % 3,
						  .weight = i == 5 ? UINT64_MAX : 10,
						  .sample = 4 - i % 5,
						  .count = i == 6 ? UINT32_MAX : 1 }),
			0);
	ck_assert_int_eq(report_set_info(r, &info), 0);
	ck_assert_int_eq(report_set_ledger(r, &ledger), 0);
	report_set_cost(r, &cost);
	return r;
}

static const char *const order[] = { "running", "blocked", NULL };
static const struct report_options shown = { .weight = 1,
					     .divisor = 1000,
					     .unit = "us",
					     .color_by_label = "state",
					     .label_order = order,
					     .title = "a \"title\"",
					     .annotate = true,
					     .delimiter = true,
					     .top_functions = 3,
					     .sort = REPORT_BY_TOTAL,
					     .min_width = 0.25 };

static void assert_same_forms(const struct report *a, const struct report_options *show_a,
			      const struct report *b, const struct report_options *show_b)
{
	for (const struct report_format *f = report_formats; f->name; f++) {
		size_t size, other;
		char *x, *y;

		if (!f->write)
			continue;
		x = written_bytes(a, f->write, show_a, &size);
		y = written_bytes(b, f->write, show_b, &other);
		ck_assert_msg(size == other && !memcmp(x, y, size), "%s differs", f->name);
		free(x);
		free(y);
	}
}

START_TEST(every_form_is_the_same_again)
{
	struct report *r = full_report();
	const struct report_options *const all[] = { NULL, &shown };
	struct report_file file;

	for (int i = 0; i < 2; i++) {
		struct bytes b = saved(r, all[i]);

		ck_assert_int_eq(report_read(b.s, b.size, &file), 0);
		ck_assert_ptr_nonnull(file.report);
		ck_assert_ptr_null(file.next);
		ck_assert_uint_eq(report_samples(file.report), 5);
		assert_same_forms(r, all[i], file.report, &file.show);
		report_file_free(&file);
		free(b.s);
	}
	report_free(r);
}
END_TEST

START_TEST(how_it_is_shown_is_kept)
{
	struct report *r = full_report();
	struct bytes b = saved(r, &shown);
	struct report_file file;

	ck_assert_int_eq(report_read(b.s, b.size, &file), 0);
	ck_assert_uint_eq(file.show.weight, 1);
	ck_assert_uint_eq(file.show.divisor, 1000);
	ck_assert_str_eq(file.show.unit, "us");
	ck_assert_str_eq(file.show.color_by_label, "state");
	ck_assert_str_eq(file.show.label_order[1], "blocked");
	ck_assert_ptr_null(file.show.label_order[2]);
	ck_assert_str_eq(file.show.title, "a \"title\"");
	ck_assert(file.show.annotate && file.show.delimiter && !file.show.reverse);
	ck_assert_uint_eq(report_file_ledger(&file)->nlines, 2);
	ck_assert_str_eq(report_file_ledger(&file)->events, "calls");
	ck_assert_str_eq(report_file_info(&file)->note, "");
	ck_assert(report_file_info(&file)->rate_achieved == 98.7654321);
	ck_assert_uint_eq(report_file_cost(&file)->peak_rss_bytes, UINT64_MAX);
	report_file_free(&file);
	free(b.s);
	report_free(r);
}
END_TEST

START_TEST(the_stream_is_kept)
{
	struct report *r = full_report();
	struct bytes b = saved(r, NULL);
	const struct report_moment *x, *y;
	struct report_file file;
	size_t n, m;

	ck_assert_int_eq(report_read(b.s, b.size, &file), 0);
	x = report_moments(r, &n);
	y = report_moments(file.report, &m);
	ck_assert_uint_eq(n, 12);
	ck_assert_uint_eq(m, 12);
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_eq(x[i].time_ns, y[i].time_ns);
		ck_assert_uint_eq(x[i].cpu, y[i].cpu);
		ck_assert_uint_eq(x[i].kind, y[i].kind);
		ck_assert_uint_eq(x[i].weight, y[i].weight);
		ck_assert_uint_eq(x[i].count, y[i].count);
	}
	report_file_free(&file);
	free(b.s);
	report_free(r);
}
END_TEST

/* A file that is refused says why, and leaves nothing to free. */
static void assert_refused(const char *s, size_t size)
{
	struct report_file file;
	/* Where its memory ends, a byte too many is seen. */
	char *copy = malloc(size ? size : 1);

	memcpy(copy, s, size);
	ck_assert_int_lt(report_read(copy, size, &file), 0);
	ck_assert_ptr_null(file.report);
	ck_assert_int_gt(strlen(file.why), 10);
	free(copy);
}

START_TEST(cut_at_any_byte)
{
	struct report *r = full_report();
	struct bytes b = saved(r, &shown);

	for (size_t size = 0; size < b.size; size++)
		assert_refused(b.s, size);
	free(b.s);
	report_free(r);
}
END_TEST

START_TEST(any_bit_flipped)
{
	struct report *r = full_report();
	struct bytes b = saved(r, &shown);

	for (size_t bit = 0; bit < 8 * b.size; bit++) {
		b.s[bit / 8] ^= (char)(1 << bit % 8);
		assert_refused(b.s, b.size);
		b.s[bit / 8] ^= (char)(1 << bit % 8);
	}
	free(b.s);
	report_free(r);
}
END_TEST

START_TEST(something_behind_it)
{
	struct report *r = full_report();
	struct bytes b = saved(r, NULL);

	b.s = realloc(b.s, b.size + 20);
	memset(b.s + b.size, 0, 20);
	assert_refused(b.s, b.size + 1);
	assert_refused(b.s, b.size + 20);
	free(b.s);
	report_free(r);
}
END_TEST

/* ---- histograms, grids, series */

static struct report_hists *some_hists(void)
{
	static const char *const keys[] = { "disk" };
	const struct report_hists_spec spec = { "latency",	  "lat", "requests", REPORT_UNIT_NS,
						REPORT_HIST_BITS, keys,	 1 };
	struct report_hists *set = NULL;
	struct report_hist *h;

	ck_assert_int_eq(report_hists_new(&spec, &set), 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(report_hists_get(set, (const char *[]){ i ? "sdb" : "sda" }, &h),
				 0);
		report_hist_add(h, 1000 * (uint64_t)i, 3);
		report_hist_add(h, UINT64_MAX, 1);
	}
	ck_assert_int_eq(report_hist_add_slot(h, 3, 2), 0);
	ck_assert_int_eq(report_hists_set_info(
				 set, &(struct report_info){ .command = "io", .duration_ns = 5 }),
			 0);
	return set;
}

static struct report_grid *some_grid(void)
{
	static const struct report_column columns[] = {
		{ "NAME", "name", REPORT_UNIT_TEXT, .width = 9 },
		{ "N", "n", REPORT_UNIT_COUNT, .adds = true },
		{ "RATE", "rate", REPORT_UNIT_BYTES, .per_second = true }
	};
	const struct report_grid_spec spec = { "by name", "top", "requests", "names", columns, 3 };
	struct report_grid *g = NULL;

	ck_assert_int_eq(report_grid_new(&spec, &g), 0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(
			report_grid_add(g, (struct report_cell[]){ { .text = i ? "x\xff" : NULL },
								   { .number = UINT64_MAX >> i },
								   { .real = 1.1 * i } }),
			0);
	ck_assert_int_eq(report_grid_sort(g, 1, true, 3), 0);
	return g;
}

static struct bytes figures(const struct report_format *f, const struct report_hists *set,
			    const struct report_grid *g, const struct report_options *options)
{
	struct bytes b = { 0 };
	FILE *out = open_memstream(&b.s, &b.size);

	ck_assert_int_eq(set ? f->write_hists(set, out, options) : f->write_grid(g, out, options),
			 0);
	fclose(out);
	return b;
}

static void assert_same_figures(const struct report_hists *set, const struct report_grid *g)
{
	struct bytes b = figures(report_format_by_name("rawprof"), set, g, NULL);
	struct report_file file;

	ck_assert_int_eq(report_read(b.s, b.size, &file), 0);
	ck_assert_int_eq(!set, !file.hists);
	ck_assert_int_eq(!g, !file.grid);
	for (const struct report_format *f = report_formats; f->name; f++) {
		struct bytes x, y;

		if (!f->write_hists)
			continue;
		x = figures(f, set, g, NULL);
		y = figures(f, file.hists, file.grid, &file.show);
		ck_assert_msg(x.size == y.size && !memcmp(x.s, y.s, x.size), "%s differs", f->name);
		free(x.s);
		free(y.s);
	}
	report_file_free(&file);
	for (size_t bit = 0; bit < 8 * b.size; bit++) {
		b.s[bit / 8] ^= (char)(1 << bit % 8);
		assert_refused(b.s, b.size);
		b.s[bit / 8] ^= (char)(1 << bit % 8);
	}
	free(b.s);
}

START_TEST(histograms_and_grids)
{
	struct report_hists *set = some_hists();
	struct report_grid *g = some_grid();

	assert_same_figures(set, NULL);
	assert_same_figures(NULL, g);
	report_hists_free(set);
	report_grid_free(g);
}
END_TEST

START_TEST(a_series_has_an_end)
{
	const struct report_format *f = report_format_by_name("rawprof");
	struct report_hists *set = some_hists();
	struct bytes part = figures(f, set, NULL, &(struct report_options){ .part = true });
	struct bytes end = figures(f, set, NULL, NULL);
	const size_t size = 2 * part.size + end.size;
	char *all = malloc(size);
	struct report_file file;

	memcpy(all, part.s, part.size);
	memcpy(all + part.size, part.s, part.size);
	memcpy(all + 2 * part.size, end.s, end.size);
	ck_assert_int_eq(report_read(all, size, &file), 0);
	ck_assert(file.show.part && file.next->show.part && !file.next->next->show.part);
	ck_assert_ptr_null(file.next->next->next);
	report_file_free(&file);
	for (size_t cut = 0; cut < size; cut++)
		assert_refused(all, cut);
	free(all);
	free(part.s);
	free(end.s);
	report_hists_free(set);
}
END_TEST

/* ---- what no writer writes */

static void put32(char *at, uint64_t v)
{
	for (int i = 0; i < 4; i++)
		at[i] = (char)(v >> 8 * i);
}

/* With the checksums that belong to what it is now. */
static void seal(struct bytes *b)
{
	unsigned char *s = (unsigned char *)b->s;
	const unsigned int n = s[10];
	uLong crc;

	crc = crc32(crc32(0, NULL, 0), s, 12);
	put32(b->s + 12, crc32(crc, s + 16, 24 * n));
}

START_TEST(a_bomb_is_not_lit)
{
	struct report *r = full_report();
	struct bytes b = saved(r, NULL);
	struct report_file file;

	/* The first section says that it has 4 GB, then a little too much. */
	put32(b.s + 16 + 16, 0xffffffff);
	seal(&b);
	ck_assert_int_eq(report_read(b.s, b.size, &file), -EFBIG);
	put32(b.s + 16 + 16, (8 << 20) + 64);
	seal(&b);
	ck_assert_int_eq(report_read(b.s, b.size, &file), -EFBIG);
	put32(b.s + 16 + 16, 8 << 20);
	seal(&b);
	ck_assert_int_eq(report_read(b.s, b.size, &file), -EINVAL);
	ck_assert_ptr_nonnull(strstr(file.why, "compression of the section META"));
	free(b.s);
	report_free(r);
}
END_TEST

START_TEST(what_repeats_itself_is_readable)
{
	struct report *r = new_cpu_report();
	struct report_file file;
	struct bytes b;
	size_t n;

	ADD(r, "app", 1, 1, user(r, "a"));
	for (uint32_t i = 0; i < 1800000; i++)
		ck_assert_int_eq(report_add_moment(r, &(struct report_moment){ .time_ns = i }), 0);
	b = saved(r, NULL);
	ck_assert_int_eq(report_read(b.s, b.size, &file), 0);
	ck_assert_ptr_nonnull(report_moments(file.report, &n));
	ck_assert_uint_eq(n, 1800000);
	report_file_free(&file);
	free(b.s);
	report_free(r);
}
END_TEST

/* Where the entry of the section NODE is, and the section itself. */
static char *find_nodes(struct bytes *b, size_t *at)
{
	char *entry = b->s + 16;

	for (*at = 16 + 24 * (size_t)b->s[10]; memcmp(entry, "NODE", 4); entry += 24) {
		uint32_t size;

		memcpy(&size, entry + 8, sizeof(size)); /* tests run on little-endian machines */
		*at += size;
	}
	return entry;
}

/* Two bytes are one, which takes many times that in memory. */
START_TEST(too_many_nodes_for_its_size)
{
	enum { SIZE = 600000 };
	static char packed[SIZE];
	struct report *r = full_report();
	struct bytes b = saved(r, NULL);
	struct report_file file;
	size_t at;
	char *entry;

	b.s = realloc(b.s, b.size + SIZE);
	entry = find_nodes(&b, &at);
	b.size = at + SIZE;
	memset(b.s + at, 0, SIZE);
	put32(entry + 4, crc32(0, (unsigned char *)packed, SIZE));
	put32(entry + 8, SIZE);
	put32(entry + 16, 16 * SIZE + 16);
	seal(&b);
	ck_assert_int_eq(report_read(b.s, b.size, &file), -EFBIG);
	ck_assert_ptr_nonnull(strstr(file.why, "NODE would have"));
	put32(entry + 16, 16 * SIZE);
	seal(&b);
	ck_assert_int_eq(report_read(b.s, b.size, &file), -EINVAL);
	free(b.s);
	report_free(r);
}
END_TEST

/* What zlib packs to a fortieth is stored, so that a reader takes it. */
START_TEST(nodes_that_repeat_are_readable)
{
	enum { DEPTH = 1000, STACKS = 4500, FUNCTIONS = 128 };
	static uint32_t f[FUNCTIONS], stack[DEPTH];
	struct report *r = new_cpu_report();
	struct report_file file;
	struct bytes b;
	char name[16];
	uint32_t random = 1;

	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		snprintf(name, sizeof(name), "f%u", (unsigned int)i);
		f[i] = user(r, name);
	}
	for (uint32_t i = 0; i < STACKS; i++) {
		for (uint32_t k = 0; k < DEPTH; k++) {
			random = random * 1664525 + 1013904223;
			stack[DEPTH - 1 - k] =
				f[k < 2 || k % 100 == 0 ? random >> 16 & (FUNCTIONS - 1) : 0];
		}
		add_n(r, "app", 1, stack, DEPTH, 1);
	}
	b = saved(r, NULL);
	ck_assert_int_eq(report_read(b.s, b.size, &file), 0);
	report_file_free(&file);
	free(b.s);
	report_free(r);
}
END_TEST

START_TEST(a_newer_one_is_refused)
{
	struct report *r = full_report();
	struct bytes b = saved(r, NULL);
	struct report_file file;

	b.s[8] = 2;
	seal(&b);
	ck_assert_int_eq(report_read(b.s, b.size, &file), -EINVAL);
	ck_assert_ptr_nonnull(strstr(file.why, "newer rawprof"));
	b.s[8] = 1;
	b.s[16] =
		'X'; /* an unknown section; one with a small letter may be skipped, but not META */
	seal(&b);
	ck_assert_int_eq(report_read(b.s, b.size, &file), -EINVAL);
	ck_assert_ptr_nonnull(strstr(file.why, "XETA is unknown"));
	b.s[16] = 'm';
	seal(&b);
	ck_assert_int_eq(report_read(b.s, b.size, &file), -EINVAL);
	ck_assert_ptr_nonnull(strstr(file.why, "is not there"));
	free(b.s);
	report_free(r);
}
END_TEST

START_TEST(golden_bytes)
{
	struct report *r = full_report();
	struct report_file file;

	ck_assert_int_eq(report_read(saved_golden, sizeof(saved_golden), &file), 0);
	assert_same_forms(r, &shown, file.report, &file.show);
	report_file_free(&file);
	report_free(r);
}
END_TEST

START_TEST(files_that_are_not_there)
{
	struct report_file file;

	ck_assert_int_eq(report_open("/nonexistent/a.rawprof", &file), -ENOENT);
	ck_assert_str_eq(file.why, "No such file or directory");
	ck_assert_int_eq(report_open("/", &file), -EISDIR);
	ck_assert_int_eq(report_open("/dev/null", &file), -EINVAL);
	ck_assert_str_eq(file.why, "it is empty");
	ck_assert_int_eq(report_open("/proc/self/stat", &file), -EINVAL);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, every_form_is_the_same_again);
	tcase_add_test(tests, how_it_is_shown_is_kept);
	tcase_add_test(tests, the_stream_is_kept);
	tcase_add_test(tests, cut_at_any_byte);
	tcase_add_test(tests, any_bit_flipped);
	tcase_add_test(tests, something_behind_it);
	tcase_add_test(tests, histograms_and_grids);
	tcase_add_test(tests, a_series_has_an_end);
	tcase_add_test(tests, a_bomb_is_not_lit);
	tcase_add_test(tests, what_repeats_itself_is_readable);
	tcase_add_test(tests, too_many_nodes_for_its_size);
	tcase_add_test(tests, nodes_that_repeat_are_readable);
	tcase_add_test(tests, a_newer_one_is_refused);
	tcase_add_test(tests, golden_bytes);
	tcase_add_test(tests, files_that_are_not_there);
}

int main(void)
{
	return run_tests("report_saved", add);
}
