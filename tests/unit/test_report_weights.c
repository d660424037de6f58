/* SPDX-License-Identifier: BSD-2-Clause */
/* Profiles with several weights, and with a label that tells what a weight was. */
#include "json_lines.h"
#include "test_report.h"

static const struct report_value_type memory_types[] = { { "alloc_objects", "count" },
							 { "alloc_space", "bytes" },
							 { "inuse_objects", "count" },
							 { "inuse_space", "bytes" } };

static void allocated(struct report *r, const uint32_t *frames, size_t n, uint64_t objects,
		      uint64_t bytes, uint64_t left, uint64_t left_bytes)
{
	uint64_t values[] = { objects, bytes, left, left_bytes };
	struct report_sample s = {
		.comm = "app", .pid = 1, .tid = 1, .frames = frames, .nframes = n, .values = values
	};

	ck_assert_int_eq(report_add(r, &s), 0);
}

/* parse() allocates much and keeps nothing, load() little and keeps all of it. */
static struct report *memory(void)
{
	struct report_info info = { .command = "mem", .target = "./app" };
	struct report *r = NULL;
	uint32_t frames[2];

	ck_assert_int_eq(report_new(memory_types, 4, &r), 0);
	frames[1] = user(r, "main");
	frames[0] = user(r, "parse");
	allocated(r, frames, 2, 1000, 3 << 20, 0, 0);
	frames[0] = user(r, "load");
	allocated(r, frames, 2, 10, 1 << 20, 10, 1 << 20);
	allocated(r, frames + 1, 1, 1, 512, 1, 512);
	ck_assert_int_eq(report_set_info(r, &info), 0);
	return r;
}

START_TEST(weights_have_names)
{
	struct report *r = memory();

	ck_assert_int_eq(report_value_by_name(r, "alloc_objects"), 0);
	ck_assert_int_eq(report_value_by_name(r, "inuse_space"), 3);
	ck_assert_int_eq(report_value_by_name(r, "bytes"), -ENOENT);
	ck_assert_uint_eq(report_total(r, 1), (4 << 20) + 512);
	ck_assert_uint_eq(report_total(r, 2), 11);
	report_free(r);
}
END_TEST

START_TEST(tables_of_each_weight)
{
	struct report_options options = { .weight = 1, .top_stacks = 1 };
	struct report *r = memory();
	char *text = written(r, report_write_table, &options);

	ck_assert_str_eq(text, "rawprof mem: ./app\n"
			       "1,011 alloc_objects; shown by alloc_space\n"
			       "\n"
			       "            SELF            TOTAL  FUNCTION"
			       "                                                   MODULE\n"
			       "  75.0% 3.00 MiB   75.0% 3.00 MiB  parse   "
			       "                                                   app\n"
			       "  25.0% 1.00 MiB   25.0% 1.00 MiB  load    "
			       "                                                   app\n"
			       "   0.0%    512 B  100.0% 4.00 MiB  main    "
			       "                                                   app\n"
			       "\n"
			       "STACKS, heaviest 1 of 3, innermost first\n"
			       "  75.0% 3.00 MiB  app\n"
			       "        parse < main\n");
	free(text);
	options.weight = 3;
	text = written(r, report_write_table, &options);
	ck_assert_ptr_nonnull(strstr(text, "\n 100.0% 1.00 MiB  100.0% 1.00 MiB  load "));
	ck_assert_ptr_nonnull(strstr(text, "\n   0.0%    512 B  100.0% 1.00 MiB  main "));
	ck_assert_ptr_null(strstr(text, "parse"));
	free(text);
	options.weight = 2;
	text = written(r, report_write_table, &options);
	ck_assert_ptr_nonnull(strstr(text, "\n  90.9%   10   90.9%   10  load "));
	ck_assert_ptr_nonnull(strstr(text, "\n   9.1%    1  100.0%   11  main "));
	free(text);
	report_free(r);
}
END_TEST

START_TEST(other_formats_of_each_weight)
{
	struct report_options options = { .weight = 3 };
	struct report *r = memory();
	char *text = written(r, report_write_folded, &options), *lines;

	ck_assert_str_eq(text, "app;main 512\napp;main;load 1048576\n");
	free(text);
	options.divisor = 1024;
	options.weight = 1;
	text = written(r, report_write_folded, &options);
	ck_assert_str_eq(text, "app;main 1\napp;main;load 1024\napp;main;parse 3072\n");
	free(text);
	options.divisor = 0;
	text = written(r, report_write_svg, &options);
	ck_assert_ptr_nonnull(strstr(text, "<title>parse (3.00 MiB, 74.99%)</title>"));
	ck_assert_ptr_nonnull(strstr(text, "<title>all (4.00 MiB, 100.00%)</title>"));
	free(text);
	text = written(r, report_write_perf, &options);
	ck_assert_ptr_nonnull(strstr(text, " 3145728 "));
	free(text);
	text = written(r, report_write_json, &options);
	lines = json_lines(text);
	assert_line(lines, ".value_types[3].type \"inuse_space\"");
	assert_line(lines, ".totals[1] 4194816");
	assert_line(lines, ".totals[3] 1049088");
	assert_line(lines, ".samples[0].values# 4");
	free(lines);
	free(text);
	text = written(r, report_write_speedscope, &options);
	lines = json_lines(text);
	assert_line(lines, ".profiles# 4");
	assert_line(lines, ".activeProfileIndex 1");
	assert_line(lines, ".profiles[0].endValue 1011");
	assert_line(lines, ".profiles[0].unit \"none\"");
	assert_line(lines, ".profiles[3].endValue 1049088");
	assert_line(lines, ".profiles[3].unit \"bytes\"");
	free(lines);
	free(text);
	report_free(r);
}
END_TEST

/* ---- a label */

static void waited(struct report *r, const char *state, uint64_t ns, const uint32_t *frames,
		   size_t n)
{
	struct report_label label = { .key = "state", .str = state };
	uint64_t values[] = { 1, ns };
	struct report_sample s = { .comm = "app",
				   .pid = 1,
				   .tid = 1,
				   .labels = &label,
				   .nlabels = state ? 1 : 0,
				   .frames = frames,
				   .nframes = n,
				   .values = values };

	ck_assert_int_eq(report_add(r, &s), 0);
}

/* main is in every state, read() waits for the disk alone, work() runs and is runnable. */
static struct report *wall(void)
{
	static const struct report_value_type types[] = { { "samples", "count" },
							  { "wall", "nanoseconds" } };
	struct report *r = NULL;
	uint32_t frames[2];

	ck_assert_int_eq(report_new(types, 2, &r), 0);
	frames[1] = user(r, "main");
	frames[0] = user(r, "read");
	waited(r, "disk", 2000000, frames, 2);
	frames[0] = user(r, "work");
	waited(r, "running", 5000000, frames, 2);
	waited(r, "runnable", 1000000, frames, 2);
	frames[0] = user(r, "old");
	waited(r, NULL, 500000, frames, 2);
	waited(r, "disk", 1500000, frames, 0);
	return r;
}

static const struct report_options by_state = { .weight = 1, .color_by_label = "state" };

START_TEST(stacks_end_with_the_label)
{
	struct report_options options = by_state;
	struct report *r = wall();
	char *text = written(r, report_write_folded, &options);

	ck_assert_str_eq(text, "app;[unknown];[disk] 1500000\n"
			       "app;main;old 500000\n"
			       "app;main;read;[disk] 2000000\n"
			       "app;main;work;[runnable] 1000000\n"
			       "app;main;work;[running] 5000000\n");
	free(text);
	options.reverse = true;
	text = written(r, report_write_folded, &options);
	ck_assert_str_eq(text, "app;[disk];[unknown] 1500000\n"
			       "app;[disk];read;main 2000000\n"
			       "app;[runnable];work;main 1000000\n"
			       "app;[running];work;main 5000000\n"
			       "app;old;main 500000\n");
	free(text);
	options = (struct report_options){ .weight = 1, .color_by_label = "no such label" };
	text = written(r, report_write_folded, &options);
	ck_assert_ptr_nonnull(strstr(text, "app;main;work 6000000\n"));
	ck_assert_ptr_null(strstr(text, "[disk]"));
	free(text);
	report_free(r);
}
END_TEST

START_TEST(a_table_sums_each_value)
{
	struct report_options options = by_state;
	struct report *r = wall();
	char *text = written(r, report_write_table, &options);

	ck_assert_ptr_nonnull(strstr(text, "\n"
					   "         WEIGHT  STATE\n"
					   "  50.0% 5.00 ms  running\n"
					   "  35.0% 3.50 ms  disk\n"
					   "  10.0% 1.00 ms  runnable\n"
					   "   5.0%  500 us  [unknown]\n"
					   "\n"));
	free(text);
	report_free(r);
}
END_TEST

/* The colour of the frame with this name; when is which of several. */
static const char *fill_of(const char *svg, const char *name, int which)
{
	static char color[4][8];
	static int turn;
	char title[64];

	snprintf(title, sizeof(title), "<title>%s (", name);
	for (svg = strstr(svg, title); svg && which; which--)
		svg = strstr(svg + 1, title);
	ck_assert_msg(svg != NULL, "no frame %s", name);
	svg = strstr(svg, "fill=\"") + 6;
	turn = (turn + 1) % 4;
	snprintf(color[turn], 8, "%.7s", svg);
	return color[turn];
}

/* Degrees of the hue of "#rrggbb", or -1 for a grey: channels less than 30 apart. */
static int hue(const char *color)
{
	unsigned int rgb = (unsigned int)strtoul(color + 1, NULL, 16);
	int r = rgb >> 16, g = rgb >> 8 & 255, b = rgb & 255;
	int most = r > g ? (r > b ? r : b) : g > b ? g : b;
	int least = r < g ? (r < b ? r : b) : g < b ? g : b;
	int span = most - least;

	if (span < 30)
		return -1;
	if (most == r)
		return (60 * (g - b) / span + 360) % 360;
	return most == g ? 120 + 60 * (b - r) / span : 240 + 60 * (r - g) / span;
}

#define ASSERT_HUE(svg, name, which, from, to)                                                     \
	do {                                                                                       \
		int hue_ = hue(fill_of(svg, name, which));                                         \
		ck_assert_msg(hue_ >= (from) && hue_ <= (to), "hue of %s: %d", name, hue_);        \
	} while (0)

/* Hot, cold, yellow in the order that was asked for; what is of several values has none. */
START_TEST(frames_have_the_colour_of_their_value)
{
	static const char *const order[] = { "running", "disk", "never seen", NULL };
	struct report_options options = by_state;
	struct report *r = wall();
	char *svg, *again;

	options.label_order = order;
	svg = written(r, report_write_svg, &options);
	ASSERT_HUE(svg, "[running]", 0, 8, 26);
	ASSERT_HUE(svg, "[disk]", 0, 200, 220);
	ASSERT_HUE(svg, "[disk]", 1, 200, 220);
	ASSERT_HUE(svg, "[runnable]", 0, 42, 58);
	ASSERT_HUE(svg, "read", 0, 200, 220);
	ASSERT_HUE(svg, "[unknown]", 0, 200, 220);
	ASSERT_HUE(svg, "work", 0, -1, -1);
	ASSERT_HUE(svg, "old", 0, -1, -1);
	ASSERT_HUE(svg, "main", 0, -1, -1);
	ASSERT_HUE(svg, "app", 0, -1, -1);
	/* The legend has values, and only those that occur. */
	ck_assert_ptr_nonnull(strstr(svg, "y=\"64\">[running]</text>"));
	ck_assert_ptr_null(strstr(svg, "never seen"));
	ck_assert_ptr_null(strstr(svg, "y=\"64\">user</text>"));
	again = written(r, report_write_svg, &options);
	ck_assert_str_eq(svg, again);
	free(again);
	free(svg);
	/* By name, if no order is asked for: disk is the first. */
	options.label_order = NULL;
	svg = written(r, report_write_svg, &options);
	ASSERT_HUE(svg, "[disk]", 0, 8, 26);
	ASSERT_HUE(svg, "read", 0, 8, 26);
	free(svg);
	report_free(r);
}
END_TEST

/* From the leaf, a value's frames are below it. */
START_TEST(colours_of_a_reversed_graph)
{
	static const char *const order[] = { "running", "disk", NULL };
	struct report_options options = by_state;
	struct report *r = wall();
	char *svg;

	options.label_order = order;
	options.reverse = true;
	svg = written(r, report_write_svg, &options);
	ASSERT_HUE(svg, "[running]", 0, 8, 26);
	ASSERT_HUE(svg, "[disk]", 0, 200, 220);
	ASSERT_HUE(svg, "read", 0, 200, 220);
	ASSERT_HUE(svg, "old", 0, -1, -1);
	ASSERT_HUE(svg, "app", 0, -1, -1);
	free(svg);
	report_free(r);
}
END_TEST

/*
 * Stack and state of one comm end a stack that goes on elsewhere; values are numbers and hostile.
 */
START_TEST(odd_labels)
{
	struct report_options options = { .width = 80, .color_by_label = "k" };
	struct report *r = new_cpu_report();
	uint32_t a = user(r, "a");
	char *text;

	for (int i = -1; i < 30; i++) {
		struct report_label label = { .key = "k", .num = i };
		uint64_t values[] = { 1, 1 };
		struct report_sample s = { "app", 1, 1, &label, 1, &a, 1, values };

		if (i >= 0 && i < (int)HOSTILE_NAMES)
			label.str = hostile_names[i];
		ck_assert_int_eq(report_add(r, &s), 0);
	}
	text = written(r, report_write_folded, &options);
	ck_assert_ptr_nonnull(strstr(text, "app;a;[-1] 1\n"));
	ck_assert_ptr_nonnull(strstr(text, "app;a;[a:b:c] 1\n"));
	free(text);
	text = written(r, report_write_table, &options);
	ck_assert_ptr_nonnull(strstr(text, "  35.5% 11  in 11 more\n"));
	free(text);
	text = written(r, report_write_svg, &options);
	ASSERT_HUE(text, "a", 0, -1, -1);
	ck_assert_ptr_null(strstr(text, "<script>alert"));
	free(text);
	report_free(r);

	r = new_cpu_report();
	for (const struct report_format *f = report_formats; f->name; f++)
		if (f->write)
			free(written(r, f->write, &options));
	report_free(r);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, weights_have_names);
	tcase_add_test(tests, tables_of_each_weight);
	tcase_add_test(tests, other_formats_of_each_weight);
	tcase_add_test(tests, stacks_end_with_the_label);
	tcase_add_test(tests, a_table_sums_each_value);
	tcase_add_test(tests, frames_have_the_colour_of_their_value);
	tcase_add_test(tests, colours_of_a_reversed_graph);
	tcase_add_test(tests, odd_labels);
}

int main(void)
{
	return run_tests("report_weights", add);
}
