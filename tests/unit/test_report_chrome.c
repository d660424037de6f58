/* SPDX-License-Identifier: BSD-2-Clause */
/* Chrome's trace events: begins and ends match, and carry what samples weigh. */
#include "json_lines.h"
#include "test_timeline.h"

static char *parsed(const struct report *r)
{
	const struct report_options options = { .weight = 1 };
	char *document = written(r, report_write_chrome, &options);
	char *lines = json_lines(document);

	free(document);
	return lines;
}

START_TEST(stacks_as_slices)
{
	/* ph, ts, name of the events of thread 11 behind the two of its names. */
	static const char *const expected[][3] = {
		{ "\"B\"", "5000", "\"main\"" },      { "\"B\"", "5000", "\"work\"" },
		{ "\"B\"", "5000", "\"inlined\"" },   { "\"E\"", "20000", "\"inlined\"" },
		{ "\"E\"", "20000", "\"work\"" },     { "\"B\"", "20000", "\"futex_wait\"" },
		{ "\"B\"", "20000", "\"futex\"" },    { "\"i\"", "50000", "\"woken\"" },
		{ "\"E\"", "50000", "\"futex\"" },    { "\"B\"", "50000", "\"runnable\"" },
		{ "\"E\"", "60000", "\"runnable\"" }, { "\"E\"", "60000", "\"futex_wait\"" },
		{ "\"E\"", "60000", "\"main\"" },     { "\"i\"", "100000", "\"inlined\"" },
	};
	struct report *r = wall_report(false);
	char *lines = parsed(r), line[128];

	assert_line(lines, ".traceEvents# 19");
	assert_line(lines, ".traceEvents[0].name \"process_name\"");
	assert_line(lines, ".traceEvents[1].args.name \"app\"");
	for (unsigned int i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		static const char *const members[] = { "ph", "ts", "name" };

		for (int k = 0; k < 3; k++) {
			snprintf(line, sizeof(line), ".traceEvents[%u].%s %s", i + 2, members[k],
				 expected[i][k]);
			assert_line(lines, line);
		}
		snprintf(line, sizeof(line), ".traceEvents[%u].tid 11", i + 2);
		assert_line(lines, line);
	}
	assert_line(lines, ".traceEvents[5].args.samples 2");
	assert_line(lines, ".traceEvents[5].args.wall 20000000");
	assert_line(lines, ".traceEvents[8].args.state \"futex\"");
	assert_line(lines, ".traceEvents[9].args.by \"poker\"");
	assert_line(lines, ".traceEvents[10].args.wall 30000000");
	assert_line(lines, ".traceEvents[15].args.wall 70000000");
	assert_line(lines, ".traceEvents[16].args.name \"poker\"");
	free(lines);
	report_free(r);
}
END_TEST

START_TEST(what_overlaps_has_lanes)
{
	struct report *r = io_report();
	char *lines = parsed(r);

	assert_line(lines, ".traceEvents[3].name \"read\"");
	assert_line(lines, ".traceEvents[3].tid 7");
	assert_line(lines, ".traceEvents[4].ts 10000");
	assert_line(lines, ".traceEvents[6].ph \"i\"");
	assert_line(lines, ".traceEvents[6].ts 30000");
	assert_line(lines, ".traceEvents[8].ts 5000");
	assert_line(lines, ".traceEvents[8].tid 4194311");
	assert_line(lines, ".traceEvents[11].ts 20000");
	free(lines);
	report_free(r);
}
END_TEST

START_TEST(equal_and_hostile)
{
	struct report *a = wall_report(false), *b = wall_report(true), *r = new_cpu_report();
	char *x = written(a, report_write_chrome, NULL), *y = written(b, report_write_chrome, NULL);
	char *lines = parsed(r);

	ck_assert_str_eq(x, y);
	assert_line(lines, ".traceEvents# 0");
	free(x);
	free(y);
	free(lines);
	report_free(a);
	report_free(b);
	report_free(r);
	r = hostile_report();
	lines = parsed(r);
	assert_line(lines, ".traceEvents# 17");
	free(lines);
	report_free(r);
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_test(t, stacks_as_slices);
	tcase_add_test(t, what_overlaps_has_lanes);
	tcase_add_test(t, equal_and_hostile);
}

int main(void)
{
	return run_tests("report_chrome", add_tests);
}
