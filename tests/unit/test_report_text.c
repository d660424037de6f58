/* SPDX-License-Identifier: BSD-2-Clause */
/* What a person or a line-based tool reads: table, folded, perf script, samples as they come. */
#include <regex.h>

#include "test_report.h"

static void assert_has(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in:\n%s", part, text);
}

/* 60 samples in leaf, 30 in side, 10 in a function that called itself. */
static struct report *known_report(void)
{
	struct report *r = new_cpu_report();
	uint32_t m = user(r, "main"), leaf = user(r, "leaf"), side = user(r, "side");
	uint32_t self = user(r, "recurse"), sys = kernel(r, "do_read");

	ADD(r, "app", 1, 60, leaf, m);
	ADD(r, "app", 1, 30, sys, side, m);
	ADD(r, "app", 1, 10, self, self, self, m);
	return r;
}

START_TEST(table_knows_self_and_total)
{
	struct report *r = known_report();
	char *text = written(r, report_write_table, NULL);

	assert_has(text, "  60.0%   60   60.0%   60  leaf  ");
	assert_has(text, "  30.0%   30   30.0%   30  do_read  ");
	assert_has(text,
		   "  10.0%   10   10.0%   10  recurse  "); /* once a sample, not three times */
	assert_has(text, "              100.0%  100  main  ");
	assert_has(text, "               30.0%   30  side  ");
	assert_has(text, "100 samples\n");
	assert_has(text, "STACKS, heaviest 3 of 3, innermost first\n"
			 "  60.0% 60  app\n        leaf < main\n"
			 "  30.0% 30  app\n        do_read < side < main\n"
			 "  10.0% 10  app\n        recurse (x3) < main\n");
	ck_assert(strstr(text, " leaf ") < strstr(text, " do_read "));
	ck_assert(strstr(text, " recurse ") < strstr(text, " main "));
	ck_assert_ptr_null(strchr(text, '\033'));
	free(text);
	report_free(r);
}
END_TEST

START_TEST(table_obeys_its_options)
{
	struct report *r = known_report();
	struct report_options o = {
		.top_functions = 2, .top_stacks = 1, .sort = REPORT_BY_TOTAL, .weight = 1
	};
	char *text = written(r, report_write_table, &o);

	assert_has(text, "shown by cpu\n");
	assert_has(text, "100.0% 1.00 us  main ");
	assert_has(text, " 60.0%  600 ns   60.0%  600 ns  leaf");
	assert_has(text, "in 3 more functions\n");
	assert_has(text, "heaviest 1 of 3");
	ck_assert_ptr_null(strstr(text, "side"));
	ck_assert(strstr(text, " main ") < strstr(text, " leaf "));
	free(text);

	o = (struct report_options){ .width = 90, .utf8 = true, .color = true };
	text = written(r, report_write_table, &o);
	assert_has(text, "━━━━━━━━"); /* 60 % of 14 */
	assert_has(text, " ← ");
	assert_has(text, "\033[36mdo_read");
	free(text);
	report_free(r);
}
END_TEST

/* Columns of the widest line, counting a UTF-8 character as one. */
static size_t widest(const char *text)
{
	size_t most = 0, n = 0;

	for (; *text; text++) {
		if (*text == '\n') {
			most = n > most ? n : most;
			n = 0;
		} else if ((*text & 0xc0) != 0x80) {
			n++;
		}
	}
	return most;
}

/* A stack of long names. */
static struct report *wide_report(uint64_t weight)
{
	struct report *r = new_cpu_report();
	uint32_t frames[40];
	char *name = malloc(3001);

	memset(name, 'n', 3000);
	name[3000] = 0;
	memcpy(name, "ns::f<int>(", 11);
	for (int i = 0; i < 40; i++) {
		name[20] = (char)('A' + i);
		frames[i] = user(r, name);
	}
	add_n(r, "app", 1, frames, 40, weight);
	free(name);
	return r;
}

START_TEST(table_fits_its_width)
{
	static const unsigned int widths[] = { 0, 60, 80, 100, 200 };
	/* Weights are never cut, so these may need more than the narrowest terminals have. */
	struct report *r[] = { wide_report(5), wide_report(123456789012345) };

	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
		for (int form = 0; form < 4; form++) {
			struct report_options o = { .width = widths[i], .utf8 = form & 1 };
			char *text = written(r[form / 2], report_write_table, &o);
			size_t width = widths[i] ? widths[i] : 100;

			ck_assert_uint_le(widest(text), form / 2 && width < 100 ? 96 : width);
			free(text);
		}
	}
	report_free(r[0]);
	report_free(r[1]);
}
END_TEST

START_TEST(long_names_lose_their_arguments_first)
{
	static const struct {
		const char *name, *shown;
	} cases[] = {
		{ "f(int)", "  f(int)  " },
		{ "std::map<std::pair<int, long>, "
		  "std::vector<std::string>>::find_or_insert(std::pair<int, long> const&)",
		  "  std::map<...>::find_or_insert(std::pair<...> const&)  " },
		{ "std::map<std::pair<int, long>, int>::find(std::pair<int, long> const&, "
		  "a_very_long_type_name_here &)",
		  "  std::map<...>::find(...)  " },
		{ "std::basic_ostream<char>& std::operator<< <std::char_traits<char> "
		  ">(std::basic_ostream<char>&, x)",
		  "  std::basic_ostream<...>& std::operator<< <...>(...)  " },
		{ "a_name_without_any_brackets_that_goes_on_for_much_longer_"
		  "than_the_column_is_wide_to_its_very_end",
		  "  a_name_without_any_brackets_tha..._column_is_wide_to_its_very_end  " },
		{ "<frozen importlib._bootstrap_external of a package with a long name>",
		  "  <frozen importlib._bootstrap_ex... of a package with a long name>  " },
		{ "unbalanced<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<"
		  "<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<",
		  "  unbalanced<<<<<<<<<<<<<<<<<<<<<...<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<  " },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct report *r = new_cpu_report();
		char *text;

		ADD(r, "app", 1, 1, user(r, cases[i].name));
		text = written(r, report_write_table, NULL);
		assert_has(text, cases[i].shown);
		free(text);
		report_free(r);
	}
}
END_TEST

START_TEST(empty_reports_say_so)
{
	struct report *r = new_cpu_report();
	struct report_ledger l = { 5, 0, &(struct report_ledger_line){ "idle", 5, REPORT_FILTERED },
				   1 };
	char *text;

	ck_assert_int_eq(report_set_ledger(r, &l), 0);
	text = written(r, report_write_table, NULL);
	ck_assert_str_eq(text, "rawprof\n0 samples\n\nNothing was recorded: no samples.\n\n"
			       "ledger: 5 samples fired = 0 kept + 5 filtered (idle 5) + 0 lost\n");
	free(text);
	text = written(r, report_write_folded, NULL);
	ck_assert_str_eq(text, "");
	free(text);
	text = written(r, report_write_perf, NULL);
	ck_assert_str_eq(text, "");
	free(text);
	report_free(r);
}
END_TEST

START_TEST(table_says_what_was_profiled)
{
	struct report *r = known_report();
	struct report_info info = { .command = "cpu",
				    .target = "pid 7",
				    .event = "cycles",
				    .rate_asked = 99,
				    .rate_achieved = 98.5,
				    .duration_ns = 10000000000,
				    .cpus = 1 };
	char *text;

	add_n(r, "app", 1, NULL, 0, 25);
	ck_assert_int_eq(report_set_info(r, &info), 0);
	text = written(r, report_write_table, NULL);
	ck_assert_ptr_eq(strstr(text, "rawprof cpu: pid 7\n125 samples of cycles at 99 Hz "
				      "(98.5 achieved) in 10.0 s on 1 CPU\n"),
			 text);
	assert_has(text, "  20.0%   25  without a stack\n");
	assert_has(text, "  20.0% 25  app\n        [no stack]\n");
	free(text);
	report_free(r);
}
END_TEST

START_TEST(folded_is_rooted_merged_and_sorted)
{
	struct report *r = new_cpu_report();
	uint32_t m = user(r, "main"), k = kernel(r, "sys"), at_other_address, secret, nowhere, jit,
		 inl;
	struct report_options o = { .annotate = true, .delimiter = true, .addresses = true };
	char *text;

	at_other_address = add_frame(
		r, (struct report_frame){ .name = "main", .module = "/bin/app", .address = 5 });
	secret = add_frame(r, (struct report_frame){ .module = "/opt/libsecret.so",
						     .address = 0x7010,
						     .module_addr = 0x10 });
	nowhere = add_frame(r, (struct report_frame){ .address = 0xabc });
	jit = add_frame(r, (struct report_frame){ .name = "js", .kind = REPORT_JIT });
	inl = add_frame(r, (struct report_frame){ .name = "in", .kind = REPORT_INLINED });
	ADD(r, "b c;d", 1, 2, k, m);
	ADD(r, "b c;d", 2, 3, k, at_other_address);
	ADD(r, "a", 1, 1, secret, m);
	ADD(r, "a", 1, 1, nowhere, m);
	ADD(r, "a", 1, 1, inl, jit, m);
	ADD(r, "a", 1, 0, m);
	add_n(r, "", 1, NULL, 0, 4);
	text = written(r, report_write_folded, NULL);
	ck_assert_str_eq(text, "[unknown];[unknown] 4\n"
			       "a;main;[libsecret.so] 1\n"
			       "a;main;[unknown] 1\n"
			       "a;main;js;in 1\n"
			       "b_c:d;main;sys 5\n");
	free(text);
	text = written(r, report_write_folded, &o);
	ck_assert_str_eq(text, "[unknown];[unknown] 4\n"
			       "a;main;[libsecret.so+0x10] 1\n"
			       "a;main;[unknown+0xabc] 1\n"
			       "a;main;js_[j];in_[i] 1\n"
			       "b_c:d;main;-;sys_[k] 5\n");
	free(text);
	o = (struct report_options){ .reverse = true, .weight = 1 };
	text = written(r, report_write_folded, &o);
	assert_has(text, "b_c:d;sys;main 50\n");
	assert_has(text, "a;in;js;main 10\n");
	free(text);
	report_free(r);
}
END_TEST

START_TEST(folded_divides_and_rounds)
{
	struct report *r = new_cpu_report();
	struct report_options o = { .weight = 1, .divisor = 1000, .unit = "us" };
	char *text;

	ADD(r, "a", 1, 149, user(r, "x"));
	ADD(r, "a", 1, 150, user(r, "y"));
	ADD(r, "a", 1, 1, user(r, "z"));
	text = written(r, report_write_folded, &o);
	ck_assert_str_eq(text, "a;x 1\na;y 2\na;z 0\n");
	free(text);
	report_free(r);
}
END_TEST

/* Every line must be what readers take: no separator within a frame, one space before the count. */
START_TEST(folded_lines_parse_whatever_the_names)
{
	struct report *r = hostile_report();
	char *text = written(r, report_write_folded, NULL), *rest = text, *line;
	unsigned long long sum = 0;

	while ((line = strsep(&rest, "\n")) && *line) {
		char *space = strrchr(line, ' '), *end;
		int separators = 0;

		ck_assert_ptr_nonnull(space);
		ck_assert(strchr(line, ';') < space);
		sum += strtoull(space + 1, &end, 10);
		ck_assert_int_eq(*end, 0);
		for (char *c = line; *c; c++)
			separators += *c == ';';
		ck_assert_int_eq(separators, REPORT_FRAME_KINDS);
		ck_assert_ptr_null(memchr(line, ' ', (size_t)(strchr(line, ';') - line)));
	}
	ck_assert_uint_eq(sum, HOSTILE_NAMES + 1);
	free(text);
	report_free(r);
}
END_TEST

static struct report_event some_event(void)
{
	static const struct report_frame frames[] = {
		{ .name = "vfs_read",
		  .address = 0xffffffff81000010,
		  .symbol_offset = 0x10,
		  .kind = REPORT_KERNEL },
		{ .name = "ext4_read",
		  .module = "ext4",
		  .address = 0xffffffffc0000020,
		  .symbol_offset = 0x20,
		  .kind = REPORT_KERNEL },
		{ .name = "tiny",
		  .module = "/bin/app",
		  .address = 0x401234,
		  .kind = REPORT_INLINED },
		{ .name = "run(int, A const&)",
		  .module = "/bin/my app",
		  .address = 0x401234,
		  .symbol_offset = 0x34,
		  .file = "run.c",
		  .line = 12 },
		{ .module = "/lib/x.so", .address = 0x7f0010, .module_addr = 0x10 },
	};

	return (struct report_event){ .wall_ns = 1767323045123456789ull,
				      .mono_ns = 4794564109216123ull,
				      .comm = "Web Content 2",
				      .event = "cpu-clock",
				      .pid = 12,
				      .tid = 13,
				      .cpu = 3,
				      .frames = frames,
				      .nframes = 5 };
}

static char *event_text(const struct report_event *e, int form, const struct report_options *o)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	int err = form == 0   ? report_write_event(f, e, o)
		  : form == 1 ? report_write_event_folded(f, e, o)
			      : report_write_perf_sample(f, e);

	ck_assert_int_eq(err, 0);
	fclose(f);
	return text;
}

START_TEST(events_as_they_come)
{
	struct report_event e = some_event();
	struct report_options o = { .annotate = true, .delimiter = true, .addresses = true };
	char *text;

	setenv("TZ", "UTC-5:30", 1);
	text = event_text(&e, 0, NULL);
	ck_assert_str_eq(text,
			 "2026-01-02T08:34:05.123456+05:30  Web Content 2  pid 12  tid 13  cpu 3  "
			 "cpu-clock\n"
			 "    ffffffff81000010  vfs_read+0x10  ([kernel])\n"
			 "    ffffffffc0000020  ext4_read+0x20  (ext4)\n"
			 "    0000000000401234  tiny (inlined)\n"
			 "    0000000000401234  run(int, A const&)+0x34  (/bin/my app)  run.c:12\n"
			 "    00000000007f0010  [x.so]  (/lib/x.so)\n\n");
	free(text);
	text = event_text(&e, 1, NULL);
	ck_assert_str_eq(text, "2026-01-02T08:34:05.123456+05:30 Web_Content_2 12 13 3 "
			       "[x.so];run(int, A const&);tiny;ext4_read;vfs_read 1\n");
	free(text);
	e.value = 7;
	text = event_text(&e, 1, &o);
	ck_assert_str_eq(
		text, "2026-01-02T08:34:05.123456+05:30 Web_Content_2 12 13 3 "
		      "[x.so+0x10];run(int, A const&);tiny_[i];-;ext4_read_[k];vfs_read_[k] 7\n");
	free(text);
	e.nframes = 0;
	text = event_text(&e, 0, NULL);
	assert_has(text, "cpu-clock  7\n    [no stack]\n\n");
	free(text);
	text = event_text(&e, 1, NULL);
	assert_has(text, " 3 [unknown] 7\n");
	free(text);
}
END_TEST

START_TEST(perf_text_of_one_sample)
{
	struct report_event e = some_event();
	char *text = event_text(&e, 2, NULL);

	ck_assert_str_eq(text, "Web Content_2 12/13 [003] 4794564.109216:          1 cpu-clock:\n"
			       "\tffffffff81000010 vfs_read+0x10 ([kernel.kallsyms])\n"
			       "\tffffffffc0000020 ext4_read+0x20 ([ext4])\n"
			       "\t          401234 tiny (inlined)\n"
			       "\t          401234 run(int, A const&)+0x34 (/bin/my_app)\n"
			       "  run.c:12\n"
			       "\t          7f0010 [unknown] (/lib/x.so)\n\n");
	free(text);
}
END_TEST

/*
 * The patterns by which readers of perf script text know a header and a frame; a line of source, in
 * front of which are two spaces, must not look like a frame to stackcollapse-perf.pl either.
 */
START_TEST(perf_text_parses_whatever_the_names)
{
	struct report *r = hostile_report();
	char *text = written(r, report_write_perf, NULL), *rest = text, *line;
	unsigned int heads = 0, frames = 0, sources = 0;
	regex_t head, frame, loose;

	ck_assert_int_eq(
		regcomp(&head, "^[^ ].* +-1/-2 +[0-9]+\\.[0-9]+: +1 [^ ]+:$", REG_EXTENDED), 0);
	ck_assert_int_eq(regcomp(&frame, "^\t *[0-9a-f]+ .+ \\([^ ]*\\)$", REG_EXTENDED), 0);
	ck_assert_int_eq(
		regcomp(&loose, "^[[:space:]]*[[:alnum:]_]+[[:space:]]*.+ \\(.*\\)", REG_EXTENDED),
		0);
	while ((line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		if (!strncmp(line, "  ", 2)) {
			ck_assert_msg(regexec(&loose, line, 0, NULL, 0), "%s", line);
			ck_assert_str_eq(line + strlen(line) - 2, ":3");
			sources++;
		} else if (*line == '\t') {
			ck_assert_msg(!regexec(&frame, line, 0, NULL, 0), "%s", line);
			frames++;
		} else {
			ck_assert_msg(!regexec(&head, line, 0, NULL, 0), "%s", line);
			heads++;
		}
	}
	ck_assert_uint_eq(heads, HOSTILE_NAMES + 1);
	ck_assert_uint_eq(frames, REPORT_FRAME_KINDS * heads);
	ck_assert_uint_ge(sources, REPORT_FRAME_KINDS * (HOSTILE_NAMES - 2));
	regfree(&loose);
	regfree(&head);
	regfree(&frame);
	free(text);
	report_free(r);
}
END_TEST

START_TEST(perf_text_lays_samples_end_to_end)
{
	struct report *r = new_cpu_report();
	struct report_info info = { .event = "cpu-clock",
				    .period = 10000000,
				    .period_type = { "cpu", "nanoseconds" } };
	char *text;

	ck_assert_int_eq(report_set_info(r, &info), 0);
	ADD(r, "aa", 1, 200, user(r, "x"));
	ADD(r, "bb", 1, 1, user(r, "y"));
	ADD(r, "cc", 1, 1, user(r, "z"));
	text = written(r, report_write_perf, NULL);
	assert_has(text, "aa 1/1 0.000000:        200 cpu-clock:\n");
	assert_has(text, "bb 1/1 2.000000:          1 cpu-clock:\n");
	assert_has(text, "cc 1/1 2.010000:          1 cpu-clock:\n");
	free(text);
	report_free(r);
}
END_TEST

START_TEST(events_notice_a_broken_stream)
{
	struct report_event e = some_event();
	FILE *full = fopen("/dev/full", "w");

	setvbuf(full, NULL, _IONBF, 0);
	ck_assert_int_eq(report_write_event(full, &e, NULL), -ENOSPC);
	ck_assert_int_lt(report_write_event(full, &e, NULL), 0);
	ck_assert_int_lt(report_write_event_folded(full, &e, NULL), 0);
	ck_assert_int_lt(report_write_perf_sample(full, &e), 0);
	fclose(full);
}
END_TEST

static void add(TCase *t)
{
	tcase_add_test(t, table_knows_self_and_total);
	tcase_add_test(t, table_obeys_its_options);
	tcase_add_test(t, table_fits_its_width);
	tcase_add_test(t, long_names_lose_their_arguments_first);
	tcase_add_test(t, empty_reports_say_so);
	tcase_add_test(t, table_says_what_was_profiled);
	tcase_add_test(t, folded_is_rooted_merged_and_sorted);
	tcase_add_test(t, folded_divides_and_rounds);
	tcase_add_test(t, folded_lines_parse_whatever_the_names);
	tcase_add_test(t, events_as_they_come);
	tcase_add_test(t, perf_text_of_one_sample);
	tcase_add_test(t, perf_text_parses_whatever_the_names);
	tcase_add_test(t, perf_text_lays_samples_end_to_end);
	tcase_add_test(t, events_notice_a_broken_stream);
}

int main(void)
{
	return run_tests("report_text", add);
}
