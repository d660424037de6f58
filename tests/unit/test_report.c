/* SPDX-License-Identifier: BSD-2-Clause */
/* The profile in memory: what is equal, what sums to what, what closes. */
#include <limits.h>

#include "test_report.h"

START_TEST(equal_frames_are_one)
{
	struct report *r = new_cpu_report();
	struct report_frame f = { .name = "f", .module = "/bin/app", .address = 1 }, g;
	uint32_t first = add_frame(r, f), other;

	ck_assert_uint_eq(first, 0);
	f.name = strdup("f");
	ck_assert_uint_eq(add_frame(r, f), 0);
	free((char *)f.name);
	f.name = "f";

	g = f;
	g.address = 2;
	ck_assert_uint_eq(add_frame(r, g), 1);
	g = f;
	g.is_return = true;
	ck_assert_uint_eq(add_frame(r, g), 2);
	g = f;
	g.kind = REPORT_KERNEL;
	ck_assert_uint_eq(add_frame(r, g), 3);
	g = f;
	g.build_id = "aa";
	ck_assert_uint_eq(add_frame(r, g), 4);
	g = f;
	g.line = 7;
	ck_assert_uint_eq(add_frame(r, g), 5);
	ck_assert_uint_eq(add_frame(r, f), 0);

	other = 99;
	f.kind = REPORT_FRAME_KINDS;
	ck_assert_int_eq(report_frame_add(r, &f, &other), -EINVAL);
	ck_assert_uint_eq(other, 99);
	report_free(r);
}
END_TEST

START_TEST(equal_samples_are_one)
{
	struct report *r = new_cpu_report();
	uint32_t a = user(r, "a"), b = user(r, "b");
	uint64_t values[] = { 1, 5 };
	struct report_label labels[] = { { "x", "1" }, { "n", NULL, 2, "bytes" } };
	struct report_label swapped[] = { labels[1], labels[0] };
	struct report_sample s = { "app", 1, 1, labels, 2, (uint32_t[]){ a, b }, 2, values };

	ADD(r, "app", 1, 3, a, b);
	ADD(r, "app", 1, 4, a, b);
	ck_assert_uint_eq(report_samples(r), 1);
	ADD(r, "app", 1, 1, b, a);
	ADD(r, "app", 2, 1, a, b);
	ADD(r, "ppa", 1, 1, a, b);
	ADD(r, "app", 1, 1, b);
	add_n(r, "app", 1, NULL, 0, 1);
	ck_assert_uint_eq(report_samples(r), 6);
	ck_assert_uint_eq(report_stacks(r), 4);

	ck_assert_int_eq(report_add(r, &s), 0);
	s.labels = swapped;
	ck_assert_int_eq(report_add(r, &s), 0);
	ck_assert_uint_eq(report_samples(r), 7);
	labels[1].num = 3;
	s.labels = labels;
	ck_assert_int_eq(report_add(r, &s), 0);
	ck_assert_uint_eq(report_samples(r), 8);
	ck_assert_uint_eq(report_total(r, 0), 3 + 4 + 5 + 3);
	ck_assert_uint_eq(report_total(r, 1), 120 + 15);
	ck_assert_uint_eq(report_total(r, 2), 0);
	report_free(r);
}
END_TEST

START_TEST(what_has_settled_can_grow)
{
	struct report *r = new_cpu_report();
	uint32_t a = user(r, "a"), b = user(r, "b");

	report_settle(r);
	ADD(r, "app", 1, 3, a, b);
	report_settle(r);
	ADD(r, "app", 1, 4, a, b);
	ck_assert_uint_eq(report_samples(r), 1);
	report_settle(r);
	ADD(r, "app", 1, 1, b);
	ADD(r, "app", 1, 1, a, b);
	ADD(r, "app", 1, 1, b, b);
	ck_assert_uint_eq(report_samples(r), 3);
	ck_assert_uint_eq(report_stacks(r), 3);
	ck_assert_uint_eq(report_total(r, 0), 3 + 4 + 1 + 1 + 1);
	report_free(r);
}
END_TEST

START_TEST(wrong_input_adds_nothing)
{
	static uint32_t deep[REPORT_MAX_STACK + 1];
	struct report_value_type five[5] = {
		{ "a", "b" }, { "a", "b" }, { "a", "b" }, { "a", "b" }, { "a", "b" }
	};
	struct report *r = new_cpu_report(), *none = NULL;
	uint64_t values[] = { 1, 1 };
	uint32_t a = user(r, "a"), absent = a + 1;
	struct report_label twice[] = { { "k", "1" }, { "k", "2" } };
	struct report_label taken = { "pid", "1" }, nameless = { "", "1" }, null = { NULL, "1" };
	struct report_label many[REPORT_MAX_LABELS + 1] = { { "k", "1" } };
	struct report_sample s = { "app", 1, 1, NULL, 0, &a, 1, values };

	ck_assert_int_eq(report_new(five, 0, &none), -EINVAL);
	ck_assert_int_eq(report_new(five, 5, &none), -EINVAL);
	five[0].unit = NULL;
	ck_assert_int_eq(report_new(five, 1, &none), -EINVAL);
	ck_assert_ptr_null(none);

	s.frames = &absent;
	ck_assert_int_eq(report_add(r, &s), -EINVAL);
	s.frames = deep;
	s.nframes = REPORT_MAX_STACK + 1;
	ck_assert_int_eq(report_add(r, &s), -E2BIG);
	s.nframes = 1;
	s.nlabels = 2;
	s.labels = twice;
	ck_assert_int_eq(report_add(r, &s), -EINVAL);
	s.nlabels = 1;
	s.labels = &taken;
	ck_assert_int_eq(report_add(r, &s), -EINVAL);
	s.labels = &nameless;
	ck_assert_int_eq(report_add(r, &s), -EINVAL);
	s.labels = &null;
	ck_assert_int_eq(report_add(r, &s), -EINVAL);
	s.labels = many;
	s.nlabels = REPORT_MAX_LABELS + 1;
	ck_assert_int_eq(report_add(r, &s), -E2BIG);
	ck_assert_uint_eq(report_samples(r), 0);
	ck_assert_uint_eq(report_total(r, 0), 0);

	s.nlabels = 0;
	s.nframes = REPORT_MAX_STACK;
	ck_assert_int_eq(report_add(r, &s), 0);
	ck_assert_uint_eq(report_total(r, 0), 1);
	report_free(r);
	report_free(NULL);
}
END_TEST

START_TEST(sums_saturate)
{
	struct report *r = new_cpu_report();
	uint32_t a = user(r, "a");
	uint64_t half[] = { 1ull << 63, 1 };
	struct report_sample s = { "app", 1, 1, NULL, 0, &a, 1, half };
	char *text;

	ck_assert_int_eq(report_add(r, &s), 0);
	ck_assert_uint_eq(report_total(r, 0), 1ull << 63);
	text = written(r, report_write_folded, NULL);
	ck_assert_str_eq(text, "app;a 9223372036854775808\n");
	free(text);
	ck_assert_int_eq(report_add(r, &s), 0);
	ck_assert_uint_eq(report_total(r, 0), UINT64_MAX);
	s.pid = 2;
	ck_assert_int_eq(report_add(r, &s), 0);
	ck_assert_uint_eq(report_total(r, 0), UINT64_MAX);
	ck_assert_uint_eq(report_total(r, 1), 3);
	text = written(r, report_write_folded, NULL);
	ck_assert_str_eq(text, "app;a 18446744073709551615\n");
	free(text);
	for (const struct report_format *f = report_formats; f->name; f++)
		if (f->write)
			free(written(r, f->write, NULL));
	report_free(r);
}
END_TEST

START_TEST(many_of_everything)
{
	struct report *r = new_cpu_report();
	enum { FRAMES = 5000, STACKS = 20000 };
	static uint32_t ids[FRAMES];
	char name[32];

	for (int i = 0; i < FRAMES; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		ids[i] =
			add_frame(r, (struct report_frame){ .name = name, .address = (uint64_t)i });
		ck_assert_uint_eq(ids[i], i);
	}
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < STACKS; i++)
			ADD(r, "app", 1, 1, ids[i % FRAMES], ids[i / 7 % FRAMES], ids[i / FRAMES],
			    ids[0]);
	ck_assert_uint_eq(report_samples(r), STACKS);
	ck_assert_uint_eq(report_stacks(r), STACKS);
	ck_assert_uint_eq(report_total(r, 0), 2 * STACKS);
	report_free(r);
}
END_TEST

START_TEST(books_close_or_say_so)
{
	struct report_ledger_line lines[] = { { "idle", 10, REPORT_FILTERED },
					      { "other process", 2, REPORT_FILTERED },
					      { "ring full", 3, REPORT_LOST },
					      { "throttled", 0, REPORT_LOST } };
	struct report_ledger l = { 1015, 1000, lines, 4 };
	char text[512];
	int64_t gap = 77;
	FILE *f;

	ck_assert(report_ledger_closes(&l, &gap));
	ck_assert_int_eq(gap, 0);
	f = fmemopen(text, sizeof(text), "w");
	ck_assert_int_eq(report_print_ledger(f, &l, "samples"), 0);
	fclose(f);
	ck_assert_str_eq(
		text,
		"ledger: 1,015 samples fired = 1,000 kept + 12 filtered (idle 10, other process 2)"
		" + 3 lost (ring full 3)\n");

	l.fired += 5;
	ck_assert(!report_ledger_closes(&l, &gap));
	ck_assert_int_eq(gap, 5);
	f = fmemopen(text, sizeof(text), "w");
	ck_assert_int_eq(report_print_ledger(f, &l, "samples"), 0);
	fclose(f);
	ck_assert_ptr_nonnull(
		strstr(text, "\nledger: does not close: 5 samples are not accounted for\n"));

	l.fired -= 12;
	ck_assert(!report_ledger_closes(&l, &gap));
	ck_assert_int_eq(gap, -7);
	f = fmemopen(text, sizeof(text), "w");
	ck_assert_int_eq(report_print_ledger(f, &l, "samples"), 0);
	fclose(f);
	ck_assert_ptr_nonnull(
		strstr(text, "\nledger: does not close: 7 samples are counted twice\n"));

	/* Wrapped around, these would close. */
	l = (struct report_ledger){ 0, 1, lines, 1 };
	lines[0].count = UINT64_MAX;
	ck_assert(!report_ledger_closes(&l, &gap));
	ck_assert_int_eq(gap, INT64_MIN);
	ck_assert(!report_ledger_closes(&l, NULL));
	l = (struct report_ledger){ UINT64_MAX, 0, NULL, 0 };
	ck_assert(!report_ledger_closes(&l, &gap));
	ck_assert_int_eq(gap, INT64_MAX);
}
END_TEST

START_TEST(one_is_singular)
{
	static const struct {
		const char *events, *one, *many;
	} words[] = {
		{ "requests", "1 request fired", "2 requests fired" },
		{ "phases", "1 phase fired", "2 phases fired" },
		{ "switches", "1 switch fired", "2 switches fired" },
		{ "processes", "1 process fired", "2 processes fired" },
		{ "entries", "1 entry fired", "2 entries fired" },
		{ "delay", "1 delay fired", "2 delay fired" },
		{ "s", "1 s fired", "2 s fired" },
		{ "", "1  fired", "2  fired" },
		{ "times on a CPU", "1 time on a CPU fired", "2 times on a CPU fired" },
		{ "switches and samples", "1 switches and samples fired",
		  "2 switches and samples fired" },
		{ "bad\ns", "1 bad\\n fired", "2 bad\\ns fired" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		for (uint64_t n = 0; n <= 3; n++) {
			struct report_ledger l = { n, n ? n - 1 : 0, NULL, 0 };
			char *text = NULL;
			size_t size = 0;
			FILE *f = open_memstream(&text, &size);

			ck_assert_int_eq(report_print_ledger(f, &l, words[i].events), 0);
			fclose(f);
			if (n == 1 || n == 2)
				ck_assert_ptr_nonnull(
					strstr(text, n == 1 ? words[i].one : words[i].many));
			if (n == 3 && !i)
				ck_assert_ptr_nonnull(
					strstr(text, "close: 1 request is not accounted for\n"));
			free(text);
		}
}
END_TEST

START_TEST(cost_is_a_line)
{
	struct report_cost cost = { 3200000, 2000, 14000000, 1500000000, 5400000 };
	char text[512];
	FILE *f = fmemopen(text, sizeof(text), "w");

	ck_assert_int_eq(report_print_cost(f, &cost), 0);
	fclose(f);
	ck_assert_str_eq(text, "own cost: BPF 3.20 ms in 2,000 runs (1.60 us each), "
			       "CPU 14.0 ms user + 1.50 s system, memory 5.15 MiB\n");
	cost = (struct report_cost){ 3200000, 2000, 0, 0, 0, true };
	f = fmemopen(text, sizeof(text), "w");
	ck_assert_int_eq(report_print_cost(f, &cost), 0);
	fclose(f);
	ck_assert_str_eq(text, "own cost: BPF about 3.20 ms in 2,000 runs (1.60 us each), "
			       "CPU 0 ns user + 0 ns system\n");
	cost = (struct report_cost){ .user_cpu_ns = 999 };
	f = fmemopen(text, sizeof(text), "w");
	ck_assert_int_eq(report_print_cost(f, &cost), 0);
	fclose(f);
	ck_assert_str_eq(text, "own cost: CPU 999 ns user + 0 ns system\n");
}
END_TEST

START_TEST(formats_by_name_and_path)
{
	ck_assert_ptr_eq(report_format_by_name("pprof")->write, report_write_pprof);
	for (const struct report_format *f = report_formats; f->name; f++) {
		ck_assert_int_eq(f->binary, strstr(" pprof rawprof perfetto otlp ", f->name) &&
						    strcmp(f->name, "perf") != 0);
		ck_assert_int_eq(f->for_people, !strcmp(f->name, "table"));
		ck_assert_int_eq(f->json, !strcmp(f->name, "json"));
		ck_assert_int_eq(f->has_ledger, f->json || f->for_people);
		ck_assert_int_eq(f->by_name, strstr("table folded svg", f->name) != NULL);
	}
	ck_assert_ptr_null(report_format_by_name("Pprof"));
	ck_assert_ptr_eq(report_format_by_path("x/flame.svg")->write, report_write_svg);
	ck_assert_ptr_eq(report_format_by_path("a.pb.gz")->write, report_write_pprof);
	ck_assert_ptr_eq(report_format_by_path("a.json")->write, report_write_json);
	ck_assert_ptr_eq(report_format_by_path("a.firefox.json")->write, report_write_firefox);
	ck_assert_ptr_eq(report_format_by_path("a.perfetto-trace")->write, report_write_perfetto);
	ck_assert_ptr_eq(report_format_by_path("a.chrome.json")->write, report_write_chrome);
	ck_assert_ptr_eq(report_format_by_path("a.speedscope.json")->write,
			 report_write_speedscope);
	ck_assert_ptr_eq(report_format_by_path("a.folded")->write, report_write_folded);
	ck_assert_ptr_eq(report_format_by_path("a.rawprof")->write, report_write_saved);
	ck_assert_ptr_null(report_format_by_path("a.gz"));
	ck_assert_ptr_null(report_format_by_path("svg"));
	ck_assert_ptr_null(report_format_by_path(""));
}
END_TEST

/* The same profile, added in another order each time. */
static struct report *shuffled(unsigned int seed)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "b" };
	struct report *r = new_cpu_report();
	uint32_t ids[6];
	int order[60], frames[6];

	srand(seed);
	for (int i = 0; i < 60; i++)
		order[i] = i;
	for (int i = 0; i < 6; i++)
		frames[i] = i;
	for (int i = 59; seed && i > 0; i--) {
		int j = rand() % (i + 1), t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
	for (int i = 5; seed && i > 0; i--) {
		int j = rand() % (i + 1), t = frames[i];

		frames[i] = frames[j];
		frames[j] = t;
	}
	for (int k = 0; k < 6; k++) {
		int i = frames[k];

		ids[i] = add_frame(
			r, (struct report_frame){ .name = i == 4 ? NULL : names[i],
						  .module = i % 2 ? "/bin/x" : "/lib/y.so",
						  .build_id = i % 2 ? "ab" : NULL,
						  .address = 0x1000 + 16 * (uint64_t)i,
						  .map_start = 0x1000,
						  .map_end = 0x2000,
						  .file = i == 1 ? "b.c" : NULL,
						  .kind = i == 3 ? REPORT_KERNEL : REPORT_USER });
	}
	for (int k = 0; k < 60; k++) {
		int i = order[k];
		uint64_t values[] = { (uint64_t)(i % 4), 10 };
		struct report_label label = { i % 3 ? "state" : "other", i % 2 ? "run" : "wait" };
		uint32_t stack[] = { ids[i % 6], ids[i / 6 % 6], ids[i / 20], ids[i % 2] };
		struct report_sample s = { i % 5 ? "x" : "y", i % 7, i % 7,	      &label,
					   i % 4 == 0,	      stack, (size_t)(i % 5), values };

		ck_assert_int_eq(report_add(r, &s), 0);
	}
	return r;
}

START_TEST(order_of_insertion_does_not_show)
{
	struct report *r = shuffled(0);

	for (const struct report_format *f = report_formats; f->name; f++) {
		size_t size, other_size;
		char *text;

		if (!f->write)
			continue;
		text = written_bytes(r, f->write, NULL, &size);
		ck_assert_uint_gt(size, 100);
		for (unsigned int seed = 1; seed < 8; seed++) {
			struct report *other = shuffled(seed);
			char *other_text = written_bytes(other, f->write, NULL, &other_size);

			ck_assert_msg(size == other_size && !memcmp(text, other_text, size),
				      "%s differs with seed %u", f->name, seed);
			free(other_text);
			report_free(other);
		}
		free(text);
	}
	report_free(r);
}
END_TEST

START_TEST(hostile_names_break_nothing)
{
	struct report *r = hostile_report();
	struct report_options all = { .width = 80,
				      .utf8 = true,
				      .annotate = true,
				      .delimiter = true,
				      .addresses = true,
				      .title = every_byte(),
				      .subtitle = every_byte() };

	for (const struct report_format *f = report_formats; f->name; f++) {
		for (int i = 0; i < 2 && f->write; i++) {
			size_t size;
			char *text = written_bytes(r, f->write, i ? &all : NULL, &size);

			ck_assert_uint_gt(size, 0);
			for (size_t k = 0; k < size && !f->binary; k++)
				ck_assert_msg((unsigned char)text[k] >= 0x20 || text[k] == '\n' ||
						      (text[k] == '\t' && !strcmp(f->name, "perf")),
					      "%s has byte %d", f->name, text[k]);
			free(text);
		}
	}
	report_free(r);
}
END_TEST

START_TEST(a_full_disk_is_noticed)
{
	struct report *small = new_cpu_report(), *big = new_cpu_report();
	struct report_options wrong = { .weight = 2 };

	ADD(small, "app", 1, 1, user(small, "a"));
	for (int i = 0; i < 3000; i++) {
		uint32_t id =
			add_frame(big, (struct report_frame){ .address = (uint64_t)i * 7919 });

		ADD(big, "app", i, 1, id);
	}
	for (const struct report_format *f = report_formats; f->name; f++) {
		FILE *full, *reader;

		if (!f->write)
			continue;
		full = fopen("/dev/full", "w");
		reader = fopen("/dev/null", "r");

		ck_assert_ptr_nonnull(full);
		ck_assert_int_eq(f->write(small, full, NULL), -ENOSPC);
		fclose(full);
		full = fopen("/dev/full", "w");
		ck_assert_int_eq(f->write(big, full, NULL), -ENOSPC);
		fclose(full);
		ck_assert_int_eq(f->write(big, reader, NULL), -EBADF);
		ck_assert_int_eq(f->write(small, reader, &wrong), -EINVAL);
		fclose(reader);
	}
	report_free(small);
	report_free(big);
}
END_TEST

static void add(TCase *t)
{
	tcase_add_test(t, equal_frames_are_one);
	tcase_add_test(t, equal_samples_are_one);
	tcase_add_test(t, what_has_settled_can_grow);
	tcase_add_test(t, wrong_input_adds_nothing);
	tcase_add_test(t, sums_saturate);
	tcase_add_test(t, many_of_everything);
	tcase_add_test(t, books_close_or_say_so);
	tcase_add_test(t, one_is_singular);
	tcase_add_test(t, cost_is_a_line);
	tcase_add_test(t, formats_by_name_and_path);
	tcase_add_test(t, order_of_insertion_does_not_show);
	tcase_add_test(t, hostile_names_break_nothing);
	tcase_add_test(t, a_full_disk_is_noticed);
}

int main(void)
{
	return run_tests("report", add);
}
