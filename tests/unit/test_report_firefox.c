/* SPDX-License-Identifier: BSD-2-Clause */
/* Profiles for Firefox Profiler, read by a strict parser of JSON. */
#include "json_lines.h"
#include "test_timeline.h"

static char *parsed(const struct report *r, unsigned int weight)
{
	const struct report_options options = { .weight = weight };
	char *document = written(r, report_write_firefox, &options);
	char *lines = json_lines(document);

	free(document);
	return lines;
}

/* "[1,2,3]" of an array of numbers. */
static void assert_column(const char *lines, const char *path, const char *expected)
{
	char line[128], got[512] = "";

	for (unsigned int i = 0;; i++) {
		const char *at;
		int n = snprintf(line, sizeof(line), "%s[%u] ", path, i);

		for (at = lines; at && strncmp(at, line, (size_t)n); at = at ? at + 1 : NULL)
			at = strchr(at, '\n');
		if (!at)
			break;
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%.*s", i ? "," : "",
			 (int)strcspn(at + n, "\n"), at + n);
	}
	ck_assert_str_eq(got, expected);
}

START_TEST(a_thread_over_time)
{
	struct report *r = wall_report(false);
	char *lines = parsed(r, 1);

	assert_line(lines, ".meta.preprocessedProfileVersion 66");
	assert_line(lines, ".meta.interval 10");
	assert_line(lines, ".meta.startTime 1767323045123.456789");
	assert_line(lines, ".meta.profilingEndTime 110");
	assert_line(lines, ".meta.categories[4].color \"grey\"");
	assert_line(lines, ".meta.categories[5].name \"Python\"");
	assert_line(lines, ".meta.categories[11].subcategories[1] \"futex\"");
	assert_line(lines, ".threads# 2");
	assert_line(lines, ".threads[0].name \"app\"");
	assert_line(lines, ".threads[0].pid \"10\"");
	assert_line(lines, ".threads[0].tid 11");
	assert_line(lines, ".threads[0].isMainThread true");
	assert_line(lines, ".threads[1].isMainThread false");
	assert_line(lines, ".threads[1].processName \"app\"");
	assert_line(lines, ".threads[0].samples.weightType \"tracing-ms\"");
	assert_line(lines, ".threads[0].samples.length 6");
	/* Two samples, the wait, what is runnable, nothing, what has no time. */
	assert_column(lines, ".threads[0].samples.time", "5,15,20,50,60,100");
	assert_column(lines, ".threads[0].samples.stack", "2,2,4,5,null,2");
	assert_column(lines, ".threads[0].samples.weight", "10,10,30,10,0,70");
	/* It runs when it does not wait. */
	assert_column(lines, ".threads[0].samples.threadCPUDelta", "0,10000000,5000000,0,0,0");
	assert_column(lines, ".threads[1].samples.time", "49,59");
	assert_column(lines, ".threads[1].samples.threadCPUDelta", "0,10000000");
	free(lines);

	lines = parsed(r, 0);
	assert_line(lines, ".threads[0].samples.weightType \"samples\"");
	assert_column(lines, ".threads[0].samples.weight", "1,1,1,0,0,7");
	free(lines);
	report_free(r);
}
END_TEST

START_TEST(samples_on_cpus)
{
	const struct report_info info = { .period_type = { "cpu", "nanoseconds" },
					  .period = 10 * MS,
					  .duration_ns = 60 * MS };
	struct report *r = new_cpu_report();
	const uint32_t frame = user(r, "f");
	const uint64_t values[] = { 3, 30 * MS };
	const uint32_t id = sample_of_thread(r, "app", 1, 1, NULL, 0, &frame, 1, values);
	char *lines;

	ck_assert_int_eq(report_set_info(r, &info), 0);
	ck_assert_int_eq(report_set_stream(r, 1, 0), 0);
	/* Times whose weights were known in the end alone have equal parts of them. */
	moment(r, REPORT_AT, 5 * MS, 0, id, 0, 1);
	moment(r, REPORT_AT, 15 * MS, 0, id, 0, 1);
	moment(r, REPORT_AT, 40 * MS, 0, id, 0, 1);
	lines = parsed(r, 1);
	assert_column(lines, ".threads[0].samples.time", "0,5,15,25,30,40,50");
	assert_column(lines, ".threads[0].samples.stack", "null,0,0,null,null,0,null");
	assert_column(lines, ".threads[0].samples.weight", "0,10,10,0,0,10,0");
	assert_column(lines, ".threads[0].samples.threadCPUDelta",
		      "0,10000000,10000000,0,0,10000000,0");
	assert_line(lines, ".meta.profilingEndTime 60");
	free(lines);
	report_free(r);
}
END_TEST

START_TEST(shared_tables)
{
	struct report *r = wall_report(false);
	char *lines = parsed(r, 1);

	assert_column(lines, ".shared.stackTable.frame", "0,1,2,3,4,5,6");
	assert_column(lines, ".shared.stackTable.prefixOffset", "0,1,1,3,4,5,0");
	/* Where calls return to, one less; what was inlined is at its caller's place. */
	assert_column(lines, ".shared.frameTable.address", "4096,8192,8192,-1,-1,-1,-1");
	assert_column(lines, ".shared.frameTable.inlineDepth", "0,0,1,0,0,0,0");
	assert_column(lines, ".shared.frameTable.nativeSymbol", "0,1,1,null,null,null,2");
	/* The wait's leaf is the same function in another category, of its reason. */
	assert_column(lines, ".shared.frameTable.category", "0,0,3,1,11,12,0");
	assert_column(lines, ".shared.frameTable.subcategory", "0,0,0,0,1,0,0");
	assert_column(lines, ".shared.frameTable.func", "0,1,2,3,3,3,4");
	assert_column(lines, ".shared.frameTable.line", "3,20,30,null,null,null,null");
	assert_column(lines, ".shared.funcTable.resource", "0,0,0,-1,1");
	assert_column(lines, ".shared.funcTable.source", "0,0,0,null,null");
	assert_column(lines, ".shared.nativeSymbols.address", "4081,8176,0");
	assert_line(lines, ".libs[0].codeId \"00112233445566778899aabbccddeeff01020304\"");
	assert_line(lines, ".libs[0].breakpadId \"33221100554477668899AABBCCDDEEFF0\"");
	assert_line(lines, ".libs[0].debugPath \"/bin/app\"");
	assert_line(lines, ".libs[1].codeId null");
	assert_line(lines, ".shared.stringArray[6] \"inlined\"");
	free(lines);
	report_free(r);
}
END_TEST

START_TEST(waits_are_markers)
{
	struct report *r = wall_report(false);
	char *lines = parsed(r, 1);

	assert_column(lines, ".threads[0].markers.startTime", "20,50,50");
	assert_column(lines, ".threads[0].markers.endTime", "50,null,60");
	assert_column(lines, ".threads[0].markers.phase", "1,0,1");
	assert_column(lines, ".threads[0].markers.category", "11,4,12");
	assert_line(lines, ".threads[0].markers.data[0].label_state \"futex\"");
	assert_line(lines, ".threads[0].markers.data[0].cause.stack 4");
	assert_line(lines, ".threads[0].markers.data[1].type \"woken\"");
	assert_line(lines, ".threads[0].markers.data[1].by \"poker\"");
	assert_line(lines, ".threads[0].markers.data[1].tid 12");
	assert_line(lines, ".meta.markerSchema[0].fields[0].key \"label_state\"");
	free(lines);
	report_free(r);

	r = io_report();
	lines = parsed(r, 1);
	assert_column(lines, ".threads[0].samples.time", "0,5,20,30");
	assert_column(lines, ".threads[0].samples.stack", "1,1,null,1");
	assert_column(lines, ".threads[0].samples.weight", "10,15,0,0");
	assert_column(lines, ".threads[0].markers.endTime", "10,20,30");
	assert_line(lines, ".threads[0].markers.data[2].label_disk \"vda\"");
	ck_assert_ptr_null(strstr(lines, "threadCPUDelta["));
	free(lines);
	/* Their sizes are in no moment. */
	lines = parsed(r, 2);
	assert_line(lines, ".threads[0].samples.weightType \"bytes\"");
	assert_column(lines, ".threads[0].samples.time", "40");
	assert_column(lines, ".threads[0].samples.weight", "12288");
	free(lines);
	report_free(r);
}
END_TEST

START_TEST(order_does_not_matter)
{
	struct report *a = wall_report(false), *b = wall_report(true);
	char *x = written(a, report_write_firefox, NULL),
	     *y = written(b, report_write_firefox, NULL);

	ck_assert_str_eq(x, y);
	free(x);
	free(y);
	report_free(a);
	report_free(b);
}
END_TEST

START_TEST(without_a_stream)
{
	struct report *r = new_cpu_report();
	char *lines = parsed(r, 0);

	assert_line(lines, ".threads# 0");
	assert_line(lines, ".shared.stackTable.length 0");
	free(lines);
	ADD(r, "app", 1, 5, user(r, "f"), user(r, "main"));
	ADD(r, "app", 1, 2);
	lines = parsed(r, 0);
	assert_column(lines, ".threads[0].samples.weight", "2,5");
	assert_column(lines, ".shared.stackTable.prefixOffset", "0,0,1");
	assert_line(lines, ".shared.stringArray[0] \"[unknown]\"");
	free(lines);
	report_free(r);

	r = hostile_report();
	lines = parsed(r, 0);
	assert_line(lines, ".threads[0].samples.length 15");
	assert_line(lines, ".threads[0].tid -2");
	free(lines);
	report_free(r);
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_test(t, a_thread_over_time);
	tcase_add_test(t, samples_on_cpus);
	tcase_add_test(t, shared_tables);
	tcase_add_test(t, waits_are_markers);
	tcase_add_test(t, order_does_not_matter);
	tcase_add_test(t, without_a_stream);
}

int main(void)
{
	return run_tests("report_firefox", add_tests);
}
