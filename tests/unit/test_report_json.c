/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON and speedscope, read by a strict parser of RFC 8259. */
#include "json_lines.h"
#include "test_report.h"

static char *parsed(const struct report *r, report_writer *write,
		    const struct report_options *options)
{
	char *document = written(r, write, options), *lines = json_lines(document);

	free(document);
	return lines;
}

START_TEST(json_holds_everything)
{
	struct report *r = new_cpu_report();
	struct report_info info = { .command = "cpu",
				    .target = "a \"b\"",
				    .cpus = 2,
				    .rate_asked = 99.5,
				    .start_ns = 1767323045123456789,
				    .period = 7,
				    .period_type = { "cpu", "nanoseconds" } };
	struct report_ledger_line line = { "ring full", 3, REPORT_LOST };
	struct report_ledger ledger = { 10, 8, &line, 1 };
	struct report_cost cost = { 1, 2, 3, 4, 5 };
	struct report_label labels[] = { { "state", "run" }, { "n", NULL, -3, NULL } };
	uint64_t values[] = { UINT64_MAX, 1 };
	uint32_t frames[] = { kernel(r, "sys"),
			      add_frame(r, (struct report_frame){ .name = "main",
								  .module = "/bin/app",
								  .build_id = "ab",
								  .address = 0x401010,
								  .symbol_offset = 16,
								  .map_start = 0x401000,
								  .map_end = 0x402000,
								  .map_offset = 4096,
								  .module_addr = 0x1010,
								  .file = "m.c",
								  .line = 3,
								  .is_return = true }) };
	struct report_sample s = { "app", 7, 8, labels, 2, frames, 2, values };
	char *lines;

	add_frame(r, (struct report_frame){ .name = "unused" });
	ck_assert_int_eq(report_add(r, &s), 0);
	ck_assert_int_eq(report_set_info(r, &info), 0);
	ck_assert_int_eq(report_set_ledger(r, &ledger), 0);
	report_set_cost(r, &cost);
	lines = parsed(r, report_write_json, NULL);
	assert_line(lines, ".schema \"rawprof-profile\"");
	assert_line(lines, ".version 1");
	assert_line(lines, ".info.command \"cpu\"");
	assert_line(lines, ".info.target \"a \\\"b\\\"\"");
	assert_line(lines, ".info.start_ns 1767323045123456789");
	assert_line(lines, ".info.rate_asked 99.5");
	assert_line(lines, ".info.period.value 7");
	assert_line(lines, ".value_types# 2");
	assert_line(lines, ".value_types[1].unit \"nanoseconds\"");
	assert_line(lines, ".totals[0] 18446744073709551615");
	assert_line(lines, ".frames# 2");
	assert_line(lines, ".frames[0].name \"sys\"");
	assert_line(lines, ".frames[0].kind \"kernel\"");
	assert_line(lines, ".frames[0].address \"0xffffffff81007300\"");
	assert_line(lines, ".frames[0].return false");
	assert_line(lines, ".frames[1].module \"/bin/app\"");
	assert_line(lines, ".frames[1].build_id \"ab\"");
	assert_line(lines, ".frames[1].symbol_offset 16");
	assert_line(lines, ".frames[1].module_address \"0x1010\"");
	assert_line(lines, ".frames[1].map.start \"0x401000\"");
	assert_line(lines, ".frames[1].map.offset 4096");
	assert_line(lines, ".frames[1].file \"m.c\"");
	assert_line(lines, ".frames[1].line 3");
	assert_line(lines, ".frames[1].return true");
	assert_line(lines, ".stacks# 1");
	assert_line(lines, ".stacks[0][0] 0");
	assert_line(lines, ".stacks[0][1] 1");
	assert_line(lines, ".samples# 1");
	assert_line(lines, ".samples[0].comm \"app\"");
	assert_line(lines, ".samples[0].pid 7");
	assert_line(lines, ".samples[0].tid 8");
	assert_line(lines, ".samples[0].labels.state \"run\"");
	assert_line(lines, ".samples[0].labels.n -3");
	assert_line(lines, ".samples[0].stack 0");
	assert_line(lines, ".samples[0].values[0] 18446744073709551615");
	assert_line(lines, ".samples[0].values[1] 1");
	assert_line(lines, ".ledger.fired 10");
	assert_line(lines, ".ledger.closes false");
	assert_line(lines, ".ledger.gap -1");
	assert_line(lines, ".ledger.lines[0].fate \"lost\"");
	assert_line(lines, ".cost.peak_rss_bytes 5");
	free(lines);
	report_free(r);
}
END_TEST

START_TEST(json_escapes_every_byte)
{
	struct report *r = new_cpu_report();
	char frames[32], *lines;

	ADD(r, "q\"\\\n\x01\x7f", 1, 1, user(r, "\xff \xc3\xa9 \xc3"));
	lines = parsed(r, report_write_json, NULL);
	assert_line(lines, ".samples[0].comm \"q\\\"\\\\\\u000a\\u0001\\u007f\"");
	assert_line(lines, ".frames[0].name \"\\\\xff \xc3\xa9 \\\\xc3\"");
	free(lines);
	report_free(r);

	r = hostile_report();
	lines = parsed(r, report_write_json, NULL);
	assert_line(lines, ".samples# 15");
	snprintf(frames, sizeof(frames), ".frames# %d", 15 * REPORT_FRAME_KINDS);
	assert_line(lines, frames);
	free(lines);
	report_free(r);
}
END_TEST

START_TEST(empty_documents_are_valid)
{
	struct report *r = new_cpu_report();
	char *lines = parsed(r, report_write_json, NULL);

	assert_line(lines, ".samples# 0");
	assert_line(lines, ".stacks# 0");
	assert_line(lines, ".totals[1] 0");
	ck_assert_ptr_null(strstr(lines, "ledger"));
	free(lines);
	lines = parsed(r, report_write_speedscope, NULL);
	assert_line(lines, ".shared.frames# 0");
	assert_line(lines, ".profiles# 2");
	assert_line(lines, ".profiles[0].samples# 0");
	assert_line(lines, ".profiles[0].endValue 0");
	free(lines);
	report_free(r);
}
END_TEST

START_TEST(speedscope_has_a_profile_for_each_value)
{
	struct report *r = new_cpu_report();
	struct report_options o = { .weight = 1 };
	uint32_t m = add_frame(
		r, (struct report_frame){
			   .name = "main", .module = "/bin/app", .file = "m.c", .line = 4 });
	uint32_t a = user(r, "a"), k = kernel(r, "sys");
	char *lines;

	add_frame(r, (struct report_frame){ .name = "unused" });
	ADD(r, "app", 1, 2, a, m);
	ADD(r, "app", 1, 3, k, a, m);
	ADD(r, "app", 2, 4, k, a, m);
	lines = parsed(r, report_write_speedscope, &o);
	assert_line(lines, ".$schema \"https://www.speedscope.app/file-format-schema.json\"");
	assert_line(lines, ".activeProfileIndex 1");
	assert_line(lines, ".shared.frames# 4");
	assert_line(lines, ".shared.frames[0].name \"a\"");
	assert_line(lines, ".shared.frames[0].file \"/bin/app\"");
	assert_line(lines, ".shared.frames[1].name \"app\"");
	assert_line(lines, ".shared.frames[2].name \"main\"");
	assert_line(lines, ".shared.frames[2].file \"m.c\"");
	assert_line(lines, ".shared.frames[2].line 4");
	assert_line(lines, ".shared.frames[3].name \"sys\"");
	assert_line(lines, ".profiles# 2");
	assert_line(lines, ".profiles[0].type \"sampled\"");
	assert_line(lines, ".profiles[0].unit \"none\"");
	assert_line(lines, ".profiles[0].startValue 0");
	assert_line(lines, ".profiles[0].endValue 9");
	assert_line(lines, ".profiles[0].samples# 2");
	assert_line(lines, ".profiles[0].samples[0]# 3");
	assert_line(lines, ".profiles[0].samples[1][0] 1");
	assert_line(lines, ".profiles[0].samples[1][1] 2");
	assert_line(lines, ".profiles[0].samples[1][2] 0");
	assert_line(lines, ".profiles[0].samples[1][3] 3");
	assert_line(lines, ".profiles[0].weights[0] 2");
	assert_line(lines, ".profiles[0].weights[1] 7");
	assert_line(lines, ".profiles[1].name \"cpu\"");
	assert_line(lines, ".profiles[1].unit \"nanoseconds\"");
	assert_line(lines, ".profiles[1].weights[1] 70");
	assert_line(lines, ".profiles[1].endValue 90");
	free(lines);
	report_free(r);

	r = hostile_report();
	lines = parsed(r, report_write_speedscope, NULL);
	assert_line(lines, ".profiles[0].samples# 15");
	free(lines);
	report_free(r);
}
END_TEST

static void add(TCase *t)
{
	tcase_add_test(t, json_holds_everything);
	tcase_add_test(t, json_escapes_every_byte);
	tcase_add_test(t, empty_documents_are_valid);
	tcase_add_test(t, speedscope_has_a_profile_for_each_value);
}

int main(void)
{
	return run_tests("report_json", add);
}
