/* SPDX-License-Identifier: BSD-2-Clause */
/* Profiles made of others: parts, times, callers, sums by keys. */
#include <rawprof/grid.h>

#include "base/hash.h"
#include "test_report.h"

/* Of three processes; the stream has a wait of each state. */
static struct report *some_report(void)
{
	struct report *r = new_cpu_report();
	const uint32_t leaf = user(r, "leaf"), middle = user(r, "middle"), root = user(r, "root");
	const uint32_t sys = kernel(r, "sys");
	const struct report_ledger ledger = { 11, 11, NULL, 0, NULL };
	const struct report_label state = { "state", "blocked" }, size = { "size", NULL, 4096 };
	const uint32_t stack[] = { sys, middle, root };
	const uint64_t values[] = { 4, 40 };
	const struct report_sample labelled[] = {
		{ "web", 3, 31, &state, 1, stack, 3, values },
		{ "web", 3, 32, &size, 1, stack, 2, values },
	};

	ADD(r, "app", 1, 1, leaf, middle, root);
	ADD(r, "app", 2, 2, leaf, leaf, middle, leaf, root);
	ck_assert_int_eq(report_add(r, &labelled[0]), 0);
	ck_assert_int_eq(report_add(r, &labelled[1]), 0);
	ck_assert_int_eq(report_set_ledger(r, &ledger), 0);
	return r;
}

/* The folded form of what is selected. */
static void assert_selected(const char *expression, uint64_t kept)
{
	struct report *r = some_report(), *part = NULL;
	char why[REPORT_WHY];

	ck_assert_msg(!report_select(r, expression, &part, why), "%s: %s", expression, why);
	ck_assert_msg(report_total(part, 0) == kept, "%s: %d", expression,
		      (int)report_total(part, 0));
	ck_assert_uint_eq(report_get_ledger(part)->kept, kept);
	ck_assert(report_ledger_closes(report_get_ledger(part), NULL));
	report_free(part);
	report_free(r);
}

static void assert_nothing(const char *expression)
{
	struct report *r = some_report(), *part = NULL;
	char why[REPORT_WHY];

	ck_assert_int_eq(report_select(r, expression, &part, why), -EINVAL);
	ck_assert_str_eq(why, "no sample of the profile fits");
	ck_assert_ptr_null(part);
	report_free(r);
}

START_TEST(expressions)
{
	assert_selected("comm=app", 3);
	assert_selected("comm!=app", 8);
	assert_selected("comm=a*,web", 11);
	assert_selected("comm = 'web'", 8);
	assert_selected("pid=1", 1);
	assert_selected("pid=1,2", 3);
	assert_selected("tid=32", 4);
	assert_selected("symbol=leaf", 3);
	assert_selected("symbol=root", 7);
	assert_selected("leaf=sys", 8);
	assert_nothing("leaf=root");
	assert_selected("symbol~^l.*f$", 3);
	assert_selected("symbol!~oo", 4);
	assert_selected("dso=app", 11);
	assert_selected("dso=/bin/app", 11);
	assert_selected("dso='[kernel]'", 8); /* as it is, before it is a glob */
	assert_selected("state=blocked", 4);
	assert_selected("not state=blocked", 7);
	assert_selected("size=4096", 4);
	assert_selected("comm=app and pid=2 or tid=31", 6);
	assert_selected("comm=app and (pid=2 or tid=31)", 2);
	assert_selected("not (comm=app or state=blocked)", 4);
	assert_selected("not not comm=app", 3);
}
END_TEST

static void assert_wrong(const char *expression, const char *because)
{
	struct report *r = some_report(), *part = NULL;
	char why[REPORT_WHY];

	ck_assert_int_eq(report_select(r, expression, &part, why), -EINVAL);
	ck_assert_ptr_null(part);
	ck_assert_msg(strstr(why, because) != NULL, "%s: %s", expression, why);
	report_free(r);
}

START_TEST(wrong_expressions)
{
	char deep[400];

	assert_wrong("", "ends too early");
	assert_wrong("comm", "behind 'comm'");
	assert_wrong("comm=", "ends too early");
	assert_wrong("comm=a or", "ends too early");
	assert_wrong("comm=a pid=1", "before 'pid=1'");
	assert_wrong("(comm=a", "')' is missing");
	assert_wrong("comm=a)", "before ')'");
	assert_wrong("comm='a", "not closed");
	assert_wrong("comm~(", "no regular expression");
	assert_wrong("cgroup=a", "nothing has a 'cgroup'");
	memset(deep, '(', sizeof(deep));
	deep[sizeof(deep) - 1] = '\0';
	assert_wrong(deep, "too deeply");
}
END_TEST

static void assert_around(const char *function, bool callers, const char *folded)
{
	struct report *r = some_report(), *part = NULL;
	char why[REPORT_WHY], *text;

	ck_assert_int_eq(report_around(r, function, callers, &part, why), 0);
	text = written(part, report_write_folded, NULL);
	ck_assert_str_eq(text, folded);
	free(text);
	report_free(part);
	report_free(r);
}

START_TEST(callers_and_callees)
{
	struct report *r = some_report(), *part = NULL;
	char why[REPORT_WHY];

	assert_around("leaf", true, "app;root;leaf;middle;leaf;leaf 2\napp;root;middle;leaf 1\n");
	assert_around("leaf", false, "app;leaf 1\napp;leaf;middle;leaf;leaf 2\n");
	assert_around(
		"mid*", true,
		"app;root;leaf;middle 2\napp;root;middle 1\nweb;middle 4\nweb;root;middle 4\n");
	assert_around("sys", false, "web;sys 8\n");
	ck_assert_int_eq(report_around(r, "nothing", true, &part, why), -EINVAL);
	ck_assert_str_eq(why, "no stack has such a function");
	report_free(r);
}
END_TEST

/* ---- times */

static void moment(struct report *r, uint64_t time, enum report_moment_kind kind, uint64_t weight,
		   uint32_t sample, uint32_t count)
{
	ck_assert_int_eq(report_add_moment(r, &(struct report_moment){ .time_ns = time,
								       .cpu = sample % 2,
								       .kind = kind,
								       .weight = weight,
								       .sample = sample,
								       .count = count }),
			 0);
}

static void assert_between(const struct report *r, uint64_t from, uint64_t to, uint64_t count,
			   uint64_t weight)
{
	struct report *part = NULL;
	char why[REPORT_WHY];

	ck_assert_int_eq(report_between(r, from, to, &part, why), 0);
	ck_assert_uint_eq(report_total(part, 0), count);
	ck_assert_uint_eq(report_total(part, 1), weight);
	ck_assert_uint_eq(report_get_info(part)->start_ns, 5000 + from);
	report_free(part);
}

START_TEST(samples_of_a_time)
{
	struct report *r = some_report(), *part = NULL;
	char why[REPORT_WHY];
	size_t n;

	ck_assert_int_eq(report_between(r, 0, 5, &part, why), -EINVAL);
	ck_assert_str_eq(why, "it has no times");
	ck_assert_int_eq(report_set_stream(r, 1, 0), 0);
	ck_assert_int_eq(
		report_set_info(r, &(struct report_info){ .start_ns = 5000, .duration_ns = 1000 }),
		0);
	for (uint32_t i = 0; i < 10; i++)
		moment(r, 100 * i, REPORT_AT, 10, i % 4, 1);
	moment(r, 250, REPORT_WOKEN, 77, 0, 0);
	assert_between(r, 0, UINT64_MAX, 10, 100);
	assert_between(r, 0, 100, 1, 10);
	assert_between(r, 100, 300, 2, 20);
	assert_between(r, 950, 2000, 0, 0);
	ck_assert_uint_eq(report_without_time(r), 1);
	ck_assert_int_eq(report_between(r, 200, 400, &part, why), 0);
	/* Those at 200 and 300; the times count from the new beginning, and who woke is kept. */
	ck_assert_uint_eq(report_moments(part, &n)[0].time_ns, 0);
	ck_assert_uint_eq(report_moments(part, &n)[1].time_ns, 100);
	ck_assert_uint_eq(n, 2);
	ck_assert_uint_eq(report_get_info(part)->duration_ns, 200);
	ck_assert(report_ledger_closes(report_get_ledger(part), NULL));
	report_free(part);
	report_free(r);
}
END_TEST

START_TEST(waits_weigh_what_is_within)
{
	struct report *r = some_report();

	ck_assert_int_eq(report_set_stream(r, 1, 0), 0);
	ck_assert_int_eq(
		report_set_info(r, &(struct report_info){ .start_ns = 5000, .duration_ns = 1000 }),
		0);
	moment(r, 300, REPORT_UNTIL, 200, 0, 1); /* [100, 300) */
	moment(r, 900, REPORT_UNTIL, 100, 1, 1); /* [800, 900) */
	moment(r, 50, REPORT_UNTIL, 500, 2, 1);	 /* began before the recording */
	assert_between(r, 0, UINT64_MAX, 3, 800);
	assert_between(r, 100, 200, 0, 100);
	assert_between(r, 250, 850, 1, 50 + 50);
	assert_between(r, 200, 301, 1, 100);
	assert_between(r, 301, 800, 0, 0);
	report_free(r);
}
END_TEST

/* ---- sums */

static char *grouped(const struct report *r, const char *keys, unsigned int weight)
{
	struct report_grid *g = NULL;
	char why[REPORT_WHY], *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	ck_assert_msg(!report_group(r, keys, weight, 0, &g, why), "%s", why);
	ck_assert_int_eq(report_grid_write_json(g, f, NULL), 0);
	fclose(f);
	report_grid_free(g);
	return text;
}

START_TEST(sums_by_keys)
{
	struct report *r = some_report();
	struct report_grid *g;
	char why[REPORT_WHY], *text = grouped(r, "comm,symbol", 0);

	ck_assert_ptr_nonnull(
		strstr(text, "\"samples\":8,\"cpu\":80,\"comm\":\"web\",\"symbol\":\"sys\""));
	ck_assert_ptr_nonnull(
		strstr(text, "\"samples\":3,\"cpu\":30,\"comm\":\"app\",\"symbol\":\"leaf\""));
	free(text);
	text = grouped(r, "pid,tid,state", 1);
	ck_assert_ptr_nonnull(strstr(text, "\"pid\":3,\"tid\":31,\"state\":\"blocked\""));
	ck_assert_ptr_nonnull(strstr(text, "\"pid\":3,\"tid\":32}"));
	free(text);
	text = grouped(r, "dso,size", 0);
	ck_assert_ptr_nonnull(strstr(text, "\"dso\":\"[kernel]\",\"size\":\"4096\""));
	free(text);
	ck_assert_int_eq(report_group(r, "nothing", 0, 0, &g, why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "nothing has a 'nothing'"));
	ck_assert_int_eq(report_group(r, "comm,comm", 0, 0, &g, why), -EINVAL);
	ck_assert_int_eq(report_group(r, "cpu", 0, 0, &g, why), -EINVAL);
	ck_assert_int_eq(report_group(r, "pid,pid,pid,pid,pid,pid,pid,pid,pid", 0, 0, &g, why),
			 -EINVAL);
	ck_assert_int_eq(report_set_stream(r, 1, 0), 0);
	for (uint32_t i = 0; i < 3; i++)
		moment(r, i, REPORT_AT, 10, i, 1);
	text = grouped(r, "cpu", 1);
	ck_assert_ptr_nonnull(strstr(text, "\"samples\":2,\"value\":20,\"cpu\":\"0\""));
	ck_assert_ptr_nonnull(strstr(text, "\"samples\":1,\"value\":10,\"cpu\":\"1\""));
	free(text);
	report_free(r);
}
END_TEST

START_TEST(a_tree)
{
	static const char text[] = "CALLS\n"
				   "  72.7%     8         web\n"
				   "  36.4%     4           middle\n"
				   "  36.4%     4      4    sys\n"
				   "  36.4%     4           root\n"
				   "  36.4%     4           middle\n"
				   "  36.4%     4      4    sys\n"
				   "  27.3%     3         app\n"
				   "  27.3%     3         root\n"
				   "  18.2%     2           leaf\n"
				   "  18.2%     2           middle\n"
				   "  18.2%     2           leaf\n"
				   "  18.2%     2      2    leaf\n"
				   "   9.1%     1           middle\n"
				   "   9.1%     1      1    leaf\n";
	struct report *r = some_report();
	char *tree = written(r, report_write_tree, NULL);
	ck_assert_ptr_nonnull(strstr(tree, strchr(text, '\n') + 1));
	free(tree);
	report_free(r);
}
END_TEST

START_TEST(places_of_a_function)
{
	struct report *r = new_cpu_report();
	struct report_frame f = { .name = "f",
				  .module = "/bin/app",
				  .build_id = "ab",
				  .address = 0x401010,
				  .symbol_offset = 0x10,
				  .module_addr = 0x1010 };
	const uint32_t leaf = add_frame(r, f), sys = kernel(r, "sys");
	uint32_t call, inlined;
	struct report_place *places = NULL;
	char why[REPORT_WHY];
	size_t n;

	f.is_return = true;
	f.module_addr = 0x1020;
	f.symbol_offset = 0x20;
	call = add_frame(r, f);
	f.name = "in";
	f.kind = REPORT_INLINED;
	f.symbol_offset = 0;
	inlined = add_frame(r, f);
	ADD(r, "app", 1, 3, leaf);
	ADD(r, "app", 1, 2, sys, call);
	ADD(r, "app", 1, 5, leaf, call);
	ADD(r, "app", 1, 7, sys, inlined, call);
	ck_assert_int_eq(report_places(r, "f", 0, &places, &n, why), 0);
	ck_assert_uint_eq(n, 2);
	ck_assert_uint_eq(places[0].start, 0x1000);
	ck_assert_uint_eq(places[0].address, 0x1010);
	ck_assert_uint_eq(places[0].self, 8);
	ck_assert_uint_eq(places[0].total, 8);
	ck_assert_uint_eq(places[1].start, 0x1000);
	ck_assert_uint_eq(places[1].address, 0x101f);
	ck_assert_uint_eq(places[1].self, 0);
	ck_assert_uint_eq(places[1].total, 9);
	ck_assert_str_eq(places[1].build_id, "ab");
	free(places);
	ck_assert_int_eq(report_places(r, "in", 1, &places, &n, why), 0);
	ck_assert_uint_eq(n, 1);
	ck_assert_str_eq(places[0].name, "f");
	ck_assert_uint_eq(places[0].total, 70);
	free(places);
	ck_assert_int_eq(report_places(r, "g", 0, &places, &n, why), -EINVAL);
	report_free(r);
}
END_TEST

START_TEST(lines_go_into_names)
{
	struct report *r = new_cpu_report(), *with = NULL;
	const uint32_t f = add_frame(r, (struct report_frame){ .name = "f",
							       .module = "/bin/app",
							       .address = 1,
							       .file = "src/x.c",
							       .line = 3 });
	const uint32_t other = add_frame(r, (struct report_frame){ .name = "g", .address = 2 });
	char *text;

	ADD(r, "app", 1, 5, f, other);
	ck_assert_int_eq(report_lines_in_names(r, &with), 0);
	text = written(with, report_write_folded, NULL);
	ck_assert_str_eq(text, "app;g;f x.c:3 5\n");
	free(text);
	report_free(with);
	report_free(r);
}
END_TEST

/* What two processes have of a half of a window, or of less. */
struct taken {
	uint64_t of, has[3];
};

static bool take_of(void *ctx, uint64_t of, int32_t pid, uint64_t bytes)
{
	struct taken *t = ctx;

	if (t->of != of)
		*t = (struct taken){ .of = of };
	t->has[pid] += bytes;
	return t->has[pid] < of * 2 / 3;
}

static uint32_t long_name(struct report *r, int number, char fill)
{
	char name[3000];

	for (size_t i = 0; i < sizeof(name); i++) /* packs badly */
		name[i] = (char)('0' + rp_hash_pair((uint32_t)number, (uint32_t)i) % 64);
	snprintf(name, sizeof(name), "%d", number);
	name[strlen(name)] = fill;
	name[sizeof(name) - 1] = '\0';
	return user(r, name);
}

/* What is written within so many bytes. */
static struct report *written_within(struct report *r, uint64_t most, struct taken *t)
{
	const struct report_options show = { .width = 80 };
	struct report_file again = { 0 };
	struct report *copy;
	char *data;
	size_t size;

	ck_assert_int_eq(report_write_within(r, most, take_of, t, &show, &data, &size), 0);
	ck_assert_uint_le(size, most);
	ck_assert_int_eq(report_read(data, size, &again), 0);
	ck_assert_uint_eq(report_total(again.report, 0), report_total(r, 0));
	copy = again.report;
	again.report = NULL;
	report_file_free(&again);
	free(data);
	return copy;
}

/* The one whose names are long has frames of some samples; others have theirs, also the last. */
START_TEST(one_is_too_large)
{
	struct report *r = new_cpu_report(), *less;
	struct taken t = { .of = 0 };
	char *folded;

	for (int i = 0; i < 100; i++) {
		ADD(r, "long", 1, 1, long_name(r, i, 'x'), user(r, "root"));
		ADD(r, "short", 2, 1, user(r, "leaf"), user(r, "root"));
	}
	ADD(r, "short", 2, 1, user(r, "last"), user(r, "root"));
	less = written_within(r, 1 << 20, &t);
	ck_assert_uint_eq(report_samples(less), 102);
	ck_assert_uint_eq(t.of, 0); /* it was not asked for */
	report_free(less);
	less = written_within(r, 30000, &t);
	ck_assert_uint_gt(report_samples(less), 4);
	ck_assert_uint_lt(report_samples(less), 12);
	ck_assert_uint_lt(t.has[2], 1000);
	folded = written(less, report_write_folded, NULL);
	ck_assert_ptr_nonnull(strstr(folded, "short;root;leaf 100\n"));
	ck_assert_ptr_nonnull(strstr(folded, "short;root;last 1\n"));
	free(folded);
	report_free(less);
	report_free(r);
}
END_TEST

/* What takes more in the file than one would say before. */
START_TEST(one_packs_badly)
{
	struct report *r = new_cpu_report(), *less;
	struct report_frame f = { .kind = REPORT_USER, .name = "f", .module = "/m" };
	struct taken t = { .of = 0 };
	uint64_t state = 1, *const words[] = { &f.address, &f.symbol_offset, &f.module_addr };
	uint32_t id;

	for (int i = 0; i < 3000; i++) {
		for (int k = 0; k < 3; k++)
			*words[k] = state = state * 6364136223846793005u + 1442695040888963407u;
		ck_assert_int_eq(report_frame_add(r, &f, &id), 0);
		ADD(r, "one", 1, 1, id);
	}
	ADD(r, "two", 2, 1, user(r, "leaf"));
	less = written_within(r, 80000, &t);
	ck_assert_uint_gt(report_samples(less), 200); /* it was told 78,000, which would fit */
	ck_assert_uint_lt(report_samples(less), 3001);
	report_free(less);
	report_free(r);
}
END_TEST

/* What two users have of a part of a window, each half of what the other one has left. */
struct halves {
	uint64_t of, has[3];
	unsigned int passes;
};

static bool take_half(void *ctx, uint64_t of, int32_t pid, uint64_t bytes)
{
	struct halves *h = ctx;
	const uint64_t other = h->has[3 - pid];

	if (h->of != of)
		*h = (struct halves){ .of = of, .passes = h->passes + 1 };
	h->has[pid] += bytes;
	return other < of && h->has[pid] < (of - other) / 2;
}

/* One whose names are long has so many threads, of each a sample. */
static struct report *of_threads(int threads)
{
	struct report *r = new_cpu_report();
	const uint64_t values[] = { 1, 1 };

	for (int i = 0; i < 100; i++)
		ADD(r, "long", 1, 1, long_name(r, i, 'x'));
	for (int i = 0; i < threads; i++) {
		const uint32_t frame = long_name(r, i % 100, 'x');
		const struct report_sample s = { "long", 1, 10 + i, NULL, 0, &frame, 1, values };

		ck_assert_int_eq(report_add(r, &s), 0);
	}
	ADD(r, "short", 2, 1, user(r, "leaf"), user(r, "root"));
	return r;
}

/* What has no frames takes no share of them. */
START_TEST(masses_of_bare_samples)
{
	const struct report_options show = { .width = 80 };
	struct halves h = { .of = 0 };
	struct report *r = of_threads(10000);
	struct report_file again = { 0 };
	char *data, *folded;
	size_t size;

	ck_assert_int_eq(report_write_within(r, 120000, take_half, &h, &show, &data, &size), 0);
	ck_assert_uint_le(size, 120000);
	ck_assert_int_eq(report_read(data, size, &again), 0);
	ck_assert_uint_eq(report_total(again.report, 0), 10101);
	folded = written(again.report, report_write_folded, NULL);
	ck_assert_ptr_nonnull(strstr(folded, "short;root;leaf 1\n"));
	free(folded);
	report_file_free(&again);
	free(data);
	report_free(r);
}
END_TEST

/* What is too large without frames, too, is not made anew for ever. */
START_TEST(too_many_bare_samples)
{
	const struct report_options show = { .width = 80 };
	struct halves h = { .of = 0 };
	struct report *r = of_threads(10000);
	char *data;
	size_t size;

	ck_assert_int_eq(report_write_within(r, 4096, take_half, &h, &show, &data, &size), 0);
	ck_assert_uint_gt(size, 4096); /* whoever asked sees that it is */
	ck_assert_uint_ge(h.passes, 3);
	ck_assert_uint_le(h.passes, 6);
	free(data);
	report_free(r);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, expressions);
	tcase_add_test(tests, wrong_expressions);
	tcase_add_test(tests, callers_and_callees);
	tcase_add_test(tests, one_is_too_large);
	tcase_add_test(tests, one_packs_badly);
	tcase_add_test(tests, masses_of_bare_samples);
	tcase_add_test(tests, too_many_bare_samples);
	tcase_add_test(tests, samples_of_a_time);
	tcase_add_test(tests, waits_weigh_what_is_within);
	tcase_add_test(tests, sums_by_keys);
	tcase_add_test(tests, a_tree);
	tcase_add_test(tests, places_of_a_function);
	tcase_add_test(tests, lines_go_into_names);
}

int main(void)
{
	return run_tests("report_select", add);
}
