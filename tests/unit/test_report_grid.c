/* SPDX-License-Identifier: BSD-2-Clause */
/* Grids: order, what is left out, tables, JSON and Prometheus text. */
#include <math.h>

#include <rawprof/grid.h>

#include "json_lines.h"
#include "prometheus_lines.h"
#include "test_report.h"

static const struct report_column columns[] = {
	{ "PID", "pid", REPORT_UNIT_ID },
	{ "COMM", "comm", REPORT_UNIT_TEXT, .width = 20 },
	{ "READ", "read", REPORT_UNIT_BYTES, .per_second = true, .adds = true },
	{ "COUNT", "requests", REPORT_UNIT_COUNT, .adds = true },
	{ "P99", "p99", REPORT_UNIT_NS },
	{ "UTIL", "util", REPORT_UNIT_PERCENT },
};
#define COLUMNS (sizeof(columns) / sizeof(*columns))
static const struct report_grid_spec top = {
	.title = "block requests by process",
	.metric = "io_top",
	.events = "requests",
	.rows = "processes",
	.columns = columns,
	.ncolumns = COLUMNS,
};

static void row(struct report_grid *g, uint64_t pid, const char *comm, double read, uint64_t count,
		uint64_t p99, double util)
{
	struct report_cell cells[COLUMNS] = { { .number = pid }, { .text = comm },
					      { .real = read },	 { .number = count },
					      { .number = p99 }, { .real = util } };

	ck_assert_int_eq(report_grid_add(g, cells), 0);
}

static struct report_grid *new_grid(void)
{
	struct report_grid *g = NULL;

	ck_assert_int_eq(report_grid_new(&top, &g), 0);
	return g;
}

static struct report_grid *four(void)
{
	static const struct report_ledger_line line = { "ring full", 1, REPORT_LOST };
	struct report_info info = { .command = "io", .duration_ns = 1000000000 };
	struct report_ledger ledger = { 1250, 1249, &line, 1 };
	struct report_grid *g = new_grid();

	row(g, 30, "dd", 3 << 20, 24, 5000000, 12.34);
	row(g, 7, "postgres", 1.5e6, 1200, 812345, 3);
	row(g, 200, NULL, 0, 5, 999, 0);
	row(g, 8, "postgres", 1.5e6, 20, 77, 100);
	ck_assert_int_eq(report_grid_set_info(g, &info), 0);
	ck_assert_int_eq(report_grid_set_ledger(g, &ledger), 0);
	return g;
}

static char *written_grid(const struct report_grid *g, const char *format,
			  const struct report_options *options)
{
	char *text = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&text, &length);

	ck_assert_int_eq(report_format_by_name(format)->write_grid(g, f, options), 0);
	ck_assert_int_eq(fclose(f), 0);
	return text;
}

START_TEST(a_table)
{
	struct report_grid *g = four();
	char *text = written_grid(g, "table", NULL);

	ck_assert_str_eq(
		text,
		"rawprof io\n"
		"4 processes in 1.00 s; block requests by process\n"
		"\n"
		"PID  COMM            READ  COUNT      P99    UTIL\n"
		"  7  postgres  1.43 MiB/s  1,200   812 us    3.0%\n"
		"  8  postgres  1.43 MiB/s     20    77 ns  100.0%\n"
		" 30  dd        3.00 MiB/s     24  5.00 ms   12.3%\n"
		"200  -              0 B/s      5   999 ns    0.0%\n"
		"\n"
		"ledger: 1,250 requests fired = 1,249 kept + 0 filtered + 1 lost (ring full 1)\n");
	free(text);
	report_grid_free(g);
}
END_TEST

/* What is left out is summed, where a sum says something. */
START_TEST(the_rest)
{
	struct report_grid *g = four();
	char *text;

	ck_assert_int_eq(
		report_grid_sort(g, (unsigned int)report_grid_column(g, "requests"), false, 2), 0);
	text = written_grid(g, "table", NULL);
	ck_assert_ptr_nonnull(strstr(text,
				     "\n"
				     "PID  COMM                       READ  COUNT      P99   UTIL\n"
				     "  7  postgres             1.43 MiB/s  1,200   812 us   3.0%\n"
				     " 30  dd                   3.00 MiB/s     24  5.00 ms  12.3%\n"
				     "     in 2 more processes  1.43 MiB/s     25\n"
				     "\n"));
	free(text);
	report_grid_free(g);
}
END_TEST

/* The order of the pids in the table. */
static void check_order(struct report_grid *g, const char *key, bool reverse, const char *pids)
{
	char *text, *at, is[64] = "";

	ck_assert_int_eq(report_grid_sort(g, (unsigned int)report_grid_column(g, key), reverse, 0),
			 0);
	text = written_grid(g, "table", NULL);
	at = strstr(text, "UTIL\n") + 5;
	for (int i = 0; i < 4; i++, at = strchr(at, '\n') + 1)
		snprintf(is + strlen(is), sizeof(is) - strlen(is), "%d ", atoi(at));
	ck_assert_msg(!strcmp(is, pids), "by %s: %s, not %s", key, is, pids);
	free(text);
}

START_TEST(orders)
{
	struct report_grid *g = four();

	check_order(g, "pid", false, "7 8 30 200 ");
	check_order(g, "pid", true, "200 30 8 7 ");
	check_order(g, "comm", false, "30 7 8 200 ");
	check_order(g, "read", false, "30 7 8 200 ");
	check_order(g, "read", true, "200 7 8 30 ");
	check_order(g, "requests", false, "7 30 8 200 ");
	check_order(g, "p99", false, "30 7 200 8 ");
	check_order(g, "util", false, "8 30 7 200 ");
	ck_assert_int_eq(report_grid_column(g, "PID"), -ENOENT);
	ck_assert_int_eq(report_grid_sort(g, COLUMNS, false, 0), -EINVAL);
	ck_assert_uint_eq(report_grid_rows(g), 4);
	report_grid_clear(g);
	ck_assert_uint_eq(report_grid_rows(g), 0);
	report_grid_free(g);
}
END_TEST

START_TEST(numbers_in_names_count)
{
	struct report_grid *g = new_grid();

	row(g, 1, "cpu10", 0, 0, 0, NAN);
	row(g, 2, "cpu9", 0, 0, 0, 5);
	row(g, 3, "cpu9", 0, 0, 0, NAN);
	row(g, 4, "cpu1", 0, 0, 0, INFINITY);
	check_order(g, "comm", false, "4 2 3 1 ");
	check_order(g, "util", false, "4 2 1 3 ");
	report_grid_free(g);
}
END_TEST

/* The widest text gives way, down to eight columns. */
START_TEST(a_narrow_terminal)
{
	struct report_options options = { .width = 48, .utf8 = true };
	struct report_grid *g = new_grid();
	char *text;

	row(g, 1, "a-long-name-that-does-not-fit", 1e6, 123456, 1, 1);
	text = written_grid(g, "table", NULL);
	ck_assert_ptr_nonnull(strstr(text, "\n  1  a-long-na...-not-fit  977 KiB/s"));
	free(text);
	text = written_grid(g, "table", &options);
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
		if (strstr(line, "KiB/s") && strstr(line, "KiB/s") < end) {
			/* "…" has three bytes */
			ck_assert_int_eq(end - line - 2, 48);
			ck_assert_int_eq(strncmp(line, "  1  a-lon", 10), 0);
		}
	ck_assert_ptr_nonnull(strstr(text, "…"));
	free(text);
	report_grid_free(g);
}
END_TEST

START_TEST(json)
{
	struct report_grid *g = four();
	char *text, *lines;
	static const char *const wanted[] = {
		".schema \"rawprof-grid\"",
		".version 1",
		".info.command \"io\"",
		".title \"block requests by process\"",
		".columns[0].key \"pid\"",
		".columns[2].unit \"bytes\"",
		".columns[2].per_second true",
		".columns[4].unit \"nanoseconds\"",
		".columns[5].unit \"percent\"",
		".columns# 6",
		".rows[0].pid 7",
		".rows[0].comm \"postgres\"",
		".rows[0].read 1500000",
		".rows[0].requests 1200",
		".rows[0].p99 812345",
		".rows[2].util 12.34",
		".rows[3].pid 200",
		".rows# 4",
		".ledger.lines[0].fate \"lost\"",
	};

	/* All rows, however few the table shows. */
	ck_assert_int_eq(report_grid_sort(g, 0, false, 1), 0);
	text = written_grid(g, "json", NULL);
	lines = json_lines(text);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		assert_line(lines, wanted[i]);
	ck_assert_ptr_null(strstr(lines, ".rows[3].comm"));
	ck_assert_ptr_null(strstr(lines, ".columns[1].unit"));
	ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
	free(lines);
	free(text);
	report_grid_free(g);
}
END_TEST

START_TEST(prometheus)
{
	struct report_grid *g = four();
	char *text;
	struct prom *p;
	static const struct {
		const char *name, *written;
	} wanted[] = {
		{ "rawprof_io_top_read_bytes_per_second", "1500000" },
		{ "rawprof_io_top_requests", "1200" },
		{ "rawprof_io_top_p99_seconds", "0.000812345" },
		{ "rawprof_io_top_util_percent", "3" },
	};

	/* All rows, however few the table shows. */
	ck_assert_int_eq(report_grid_sort(g, 0, false, 1), 0);
	text = written_grid(g, "prometheus", NULL);
	p = prom_read(text);
	ck_assert_int_eq(p->n, 4 * 4);
	for (int i = 0; i < 4; i++) {
		ck_assert_str_eq(p->sample[4 * i].name, wanted[i].name);
		ck_assert_str_eq(p->sample[4 * i].written, wanted[i].written);
		ck_assert_str_eq(prom_label(&p->sample[4 * i], "pid"), "7");
		ck_assert_str_eq(prom_label(&p->sample[4 * i], "comm"), "postgres");
		ck_assert_ptr_null(prom_label(&p->sample[4 * i + 3], "comm"));
	}
	ck_assert_str_eq(p->type, "gauge");
	ck_assert_str_eq(p->help, "block requests by process: UTIL");
	free(p);
	free(text);
	report_grid_free(g);
}
END_TEST

START_TEST(empty_and_hostile)
{
	struct report_grid *g = new_grid();
	char *text = written_grid(g, "table", NULL), *lines;
	struct prom *p;

	ck_assert_ptr_nonnull(strstr(text, "\nNothing was recorded: no requests.\n"));
	free(text);
	text = written_grid(g, "json", NULL);
	lines = json_lines(text);
	assert_line(lines, ".rows# 0");
	free(lines);
	free(text);
	for (size_t i = 0; i < HOSTILE_NAMES; i++)
		row(g, 1, hostile_names[i], INFINITY, UINT64_MAX, UINT64_MAX, -1e300);
	row(g, 1, every_byte(), NAN, 0, 0, 1e300);
	ck_assert_int_eq(report_grid_sort(g, 3, false, 14), 0);
	text = written_grid(g, "table", NULL);
	for (const char *s = text; *s; s++)
		ck_assert((unsigned char)*s >= 0x20 || *s == '\n');
	free(text);
	text = written_grid(g, "json", NULL);
	lines = json_lines(text);
	assert_line(lines, ".rows# 15");
	assert_line(lines, ".rows[0].requests 18446744073709551615");
	ck_assert_ptr_null(strstr(lines, ".rows[0].read"));
	free(lines);
	free(text);
	text = written_grid(g, "prometheus", NULL);
	p = prom_read(text);
	ck_assert_int_eq(p->n, 3 * 15); /* all rows; infinite ones are left out */
	free(p);
	free(text);
	report_grid_free(g);
	report_grid_free(NULL);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
	struct report_column twice[] = { columns[0], columns[0] }, bad = columns[0];
	struct report_grid_spec spec;
	struct report_grid *g = NULL;

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		spec = top;                                                                        \
		change;                                                                            \
		ck_assert_int_eq(report_grid_new(&spec, &g), -EINVAL);                             \
	} while (0)
	REFUSED(spec.ncolumns = 0);
	REFUSED(spec.ncolumns = REPORT_GRID_MAX_COLUMNS + 1);
	REFUSED((spec.columns = twice, spec.ncolumns = 2));
	REFUSED((bad.key = "a b", spec.columns = &bad, spec.ncolumns = 1));
	REFUSED((bad.key = NULL, spec.columns = &bad, spec.ncolumns = 1));
	REFUSED(spec.title = NULL);
	REFUSED(spec.metric = "io-top");
	ck_assert_ptr_null(g);
}
END_TEST

START_TEST(a_full_disk_is_noticed)
{
	struct report_grid *g = four();
	int n = 0;

	for (const struct report_format *f = report_formats; f->name; f++) {
		FILE *full;

		if (!f->write_grid)
			continue;
		full = fopen("/dev/full", "w");
		ck_assert_int_eq(f->write_grid(g, full, NULL), -ENOSPC);
		fclose(full);
		n++;
	}
	ck_assert_int_eq(n, 4);
	report_grid_free(g);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, a_table);
	tcase_add_test(tests, the_rest);
	tcase_add_test(tests, orders);
	tcase_add_test(tests, numbers_in_names_count);
	tcase_add_test(tests, a_narrow_terminal);
	tcase_add_test(tests, json);
	tcase_add_test(tests, prometheus);
	tcase_add_test(tests, empty_and_hostile);
	tcase_add_test(tests, what_makes_no_sense_is_refused);
	tcase_add_test(tests, a_full_disk_is_noticed);
}

int main(void)
{
	return run_tests("report_grid", add);
}
