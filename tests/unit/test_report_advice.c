/* SPDX-License-Identifier: BSD-2-Clause */
/* Advice: each rule speaks from its threshold on, names what it is about, and is silent below. */
#include <rawprof/grid.h>
#include <rawprof/hist.h>

#include "report/advice/advice.h"
#include "test_report.h"

static struct report_advice advice;
static char met[512]; /* names of the rules that have spoken */

/* What a rule says of a profile; NULL: nothing. */
static const char *of(const char *rule)
{
	for (size_t i = 0; i < advice.n; i++)
		if (!strcmp(advice.rule[i], rule)) {
			strcat(strcat(met, rule), ",");
			return advice.text[i];
		}
	return NULL;
}

static void ask(const struct report *r, unsigned int weight, report_package *package)
{
	const struct report_options options = { .weight = weight };

	report_advice_free(&advice);
	ck_assert_int_eq(report_advise(r, &options, package, &advice), 0);
}

static void set_command(struct report *r, const char *command)
{
	const struct report_info info = { .command = command };

	ck_assert_int_eq(report_set_info(r, &info), 0);
}

/* A function's own share of 100 samples. */
static struct report *with_share(const char *command, uint64_t share)
{
	struct report *r = new_cpu_report();
	const uint32_t main = user(r, "main");

	set_command(r, command);
	ADD(r, "app", 1, share, user(r, "busy"), user(r, "loop"), main);
	ADD(r, "app", 1, 100 - share, user(r, "other"), main);
	return r;
}

START_TEST(hot_function)
{
	struct report *r = with_share("cpu", 50);

	ask(r, 0, NULL);
	ck_assert_str_eq(of("hot function"),
			 "busy itself has 50 % of all samples, called by loop: what it does, or "
			 "how often it is called, decides");
	report_free(r);
	r = with_share("cpu", 51);
	ask(r, 1, NULL);
	ck_assert_ptr_nonnull(strstr(of("hot function"), "busy itself has 51 % of all CPU time"));
	report_free(r);
	r = with_share("cpu", 100);
	ck_assert_int_eq(report_set_info(r, &(struct report_info){ .command = "cpu",
								   .event = "sched:sched_switch" }),
			 0);
	ask(r, 0, NULL);
	ck_assert_ptr_null(of("hot function"));
	report_free(r);
	/* 51 % of another function, which has no name. */
	r = new_cpu_report();
	set_command(r, "cpu");
	ADD(r, "app", 1, 51, user(r, "[app+0x12]"));
	ADD(r, "app", 1, 49, user(r, "busy"));
	ask(r, 0, NULL);
	ck_assert_ptr_null(of("hot function"));
	report_free(r);
	r = with_share("mem", 50);
	ask(r, 0, NULL);
	ck_assert_ptr_null(of("hot function"));
	ck_assert_str_eq(of("allocation site"),
			 "busy has made 50 % of all samples, called by loop");
	report_free(r);
	/* too little, of too few */
	r = new_cpu_report();
	set_command(r, "cpu");
	ADD(r, "app", 1, 49, user(r, "busy"));
	ask(r, 0, NULL);
	ck_assert_uint_eq(advice.n, 0);
	report_free(r);
}
END_TEST

START_TEST(temporary_blocks)
{
	static const struct report_value_type types[] = { { "alloc_objects", "count" },
							  { "alloc_space", "bytes" },
							  { "temporary_objects", "count" },
							  { "temporary_space", "bytes" } };

	for (int freed = 1000; freed >= 999; freed--) {
		struct report *r = NULL;
		uint64_t values[] = { 1200, 64000, (uint64_t)freed, 0 },
			 others[] = { 2133, 0, 9, 9 };
		struct report_sample s = { .comm = "app", .nframes = 1, .values = values };
		uint32_t frame;

		ck_assert_int_eq(report_new(types, 4, &r), 0);
		set_command(r, "mem");
		frame = user(r, "make_list");
		s.frames = &frame;
		ck_assert_int_eq(report_add(r, &s), 0);
		frame = user(r, "keep");
		s.values = others;
		ck_assert_int_eq(report_add(r, &s), 0);
		ask(r, 3, NULL);
		if (freed == 1000)
			ck_assert_ptr_nonnull(strstr(of("temporary blocks"),
						     "30 % of all allocations, 1,000 blocks, are "
						     "made in make_list and freed before"));
		else
			ck_assert_ptr_null(of("temporary blocks"));
		report_free(r);
	}
}
END_TEST

START_TEST(preemption)
{
	static const struct report_value_type types[] = { { "samples", "count" },
							  { "wall", "nanoseconds" } };
	static const struct {
		uint64_t running, runnable; /* ms */
		bool speaks;
	} cases[] = { { 800, 200, true }, { 801, 199, false }, { 100, 99, false } };

	for (size_t i = 0; i < 3; i++) {
		const char *const states[] = { "on CPU", "runnable", "poll" };
		struct report *r = NULL;

		ck_assert_int_eq(report_new(types, 2, &r), 0);
		set_command(r, "wall");
		for (int k = 0; k < 3; k++) {
			const struct report_label label = { .key = "state", .str = states[k] };
			const uint64_t values[] = { 9, 1000000 * (k == 0   ? cases[i].running
								  : k == 1 ? cases[i].runnable
									   : 5000) };
			const struct report_sample s = {
				.comm = "app", .labels = &label, .nlabels = 1, .values = values
			};

			ck_assert_int_eq(report_add(r, &s), 0);
		}
		ask(r, 1, NULL);
		if (cases[i].speaks)
			ck_assert_ptr_nonnull(
				strstr(of("preemption"), " 20 % of that time (200 ms)"));
		else
			ck_assert_ptr_null(of("preemption"));
		report_free(r);
	}
}
END_TEST

static bool package(const char *path, char text[REPORT_PACKAGE])
{
	snprintf(text, REPORT_PACKAGE, "libfoo6-dbgsym");
	return !strcmp(path, "/usr/lib/libfoo.so.6");
}

START_TEST(missing_symbols)
{
	static const char *const names[] = { NULL, "[libfoo.so.6+0x1234]" };

	for (int i = 0; i < 2; i++) {
		struct report *r = new_cpu_report();
		const uint32_t unnamed =
			add_frame(r, (struct report_frame){ .name = names[i],
							    .module = "/usr/lib/libfoo.so.6",
							    .address = 0x1234 });

		ADD(r, "app", 1, 95, user(r, "busy"));
		ADD(r, "app", 1, 4, unnamed);
		ask(r, 0, package);
		ck_assert_ptr_null(of("missing symbols"));
		ADD(r, "app", 1, 1, unnamed);
		ask(r, 0, package);
		ck_assert_str_eq(of("missing symbols"),
				 "functions of /usr/lib/libfoo.so.6, which have no names, have 5 % "
				 "of all samples: the package libfoo6-dbgsym, or --debuginfod, "
				 "knows them");
		ask(r, 0, NULL);
		ck_assert_ptr_nonnull(
			strstr(of("missing symbols"), "a file with its debug symbols"));
		ck_assert_ptr_nonnull(strstr(of("missing symbols"), "--debuginfod"));
		advice.asked_debuginfod = true;
		ck_assert_int_eq(report_advise(r, NULL, NULL, &advice), 0);
		ck_assert_ptr_null(strstr(advice.text[advice.n - 1], "--debuginfod"));
		report_free(r);
	}
}
END_TEST

START_TEST(node_without_names)
{
	for (int i = 0; i < 2; i++) {
		struct report *r = new_cpu_report();
		const uint32_t jit =
			add_frame(r, (struct report_frame){ .address = 0x7f0000001234 });

		ADD(r, i ? "node" : "java", 1, 10, jit, user(r, "main"));
		ADD(r, i ? "node" : "java", 1, 90, user(r, "main"));
		ask(r, 0, NULL);
		if (i)
			ck_assert_ptr_nonnull(strstr(of("node"), "has 10 % of all samples: run it "
								 "with --perf-basic-prof"));
		else
			ck_assert_ptr_null(of("node"));
		report_free(r);
	}
}
END_TEST

START_TEST(stacks_cut)
{
	static const char *const notes[] = { "user stacks: 98.0 % whole, 1 too deep",
					     "user stacks: 98.0 % whole", NULL };

	for (int i = 0; i < 3; i++) {
		const struct report_info info = { .note = notes[i] };
		struct report *r = with_share("cpu", 20);

		ck_assert_int_eq(report_set_info(r, &info), 0);
		ask(r, 0, NULL);
		if (!i)
			ck_assert_ptr_nonnull(
				strstr(of("stacks cut"), "1 user stacks were deeper"));
		else
			ck_assert_ptr_null(of("stacks cut"));
		report_free(r);
	}
}
END_TEST

START_TEST(throttled)
{
	static const double achieved[] = { 89.9, 90, 0 };

	for (int i = 0; i < 3; i++) {
		const struct report_info info = { .rate_asked = 100, .rate_achieved = achieved[i] };
		struct report *r = with_share("cpu", 20);

		ck_assert_int_eq(report_set_info(r, &info), 0);
		ask(r, 0, NULL);
		if (!i)
			ck_assert_ptr_nonnull(strstr(
				of("throttled"), "90 samples a second of CPU time instead of 100"));
		else
			ck_assert_ptr_null(of("throttled"));
		report_free(r);
	}
}
END_TEST

START_TEST(slow_few)
{
	static const char *const keys[] = { "disk", "op" }, *const others[] = { "pid", "op" };
	static const struct {
		const char *const *keys;
		uint64_t slow;
		unsigned int fast;
		bool speaks;
	} cases[] = { { keys, 11000000, 196, true },
		      { keys, 9000000, 196, false },
		      { keys, 11000000, 90, false },
		      { others, 11000000, 196, false } };

	for (size_t i = 0; i < 4; i++) {
		const char *const sda[] = { "sda", "read" }, *const sdb[] = { "sdb", "write" };
		const struct report_hists_spec spec = { .title = "latency",
							.metric = "io_latency",
							.events = "requests",
							.unit = REPORT_UNIT_NS,
							.bits = REPORT_HIST_BITS,
							.keys = cases[i].keys,
							.nkeys = 2 };
		struct report_hists *set = NULL;
		struct report_hist *h;

		ck_assert_int_eq(report_hists_new(&spec, &set), 0);
		ck_assert_int_eq(report_hists_get(set, sdb, &h), 0);
		report_hist_add(h, 1000000, 500);
		ck_assert_int_eq(report_hists_get(set, sda, &h), 0);
		report_hist_add(h, 1000000, cases[i].fast);
		report_hist_add(h, cases[i].slow, 4);
		report_advice_free(&advice);
		ck_assert_int_eq(report_advise_hists(set, &advice), 0);
		if (cases[i].speaks)
			ck_assert_ptr_nonnull(strstr(of("slow few"),
						     "of 200 requests of sda, read "
						     "the slowest hundredth take "));
		else
			ck_assert_uint_eq(advice.n, 0);
		report_hists_free(set);
	}
}
END_TEST

START_TEST(one_lock)
{
	static const struct report_column columns[] = {
		{ "LOCK", "lock", REPORT_UNIT_TEXT },
		{ "RELEASED IN", "released_in", REPORT_UNIT_TEXT },
		{ "TOTAL", "total", REPORT_UNIT_NS },
	};
	const struct report_grid_spec spec = { .title = "waits",
					       .metric = "lock",
					       .events = "waits",
					       .columns = columns,
					       .ncolumns = 3 };

	for (uint64_t heavy = 3; heavy <= 4; heavy++) {
		const struct report_cell rows[][3] = {
			{ { .text = "queue" }, { .text = "drain" }, { .number = heavy * 1000000 } },
			{ { .text = "log" }, { .text = "write" }, { .number = 4000000 } },
		};
		struct report_grid *g = NULL;

		ck_assert_int_eq(report_grid_new(&spec, &g), 0);
		ck_assert_int_eq(report_grid_add(g, rows[0]), 0);
		report_advice_free(&advice);
		ck_assert_int_eq(report_advise_grid(g, &advice), 0);
		ck_assert_uint_eq(advice.n, 0);
		ck_assert_int_eq(report_grid_add(g, rows[1]), 0);
		ck_assert_int_eq(report_advise_grid(g, &advice), 0);
		ck_assert_str_eq(
			of("one lock"),
			heavy == 4 ? "50 % of all time waited for locks is for queue (4.00 ms)"
				     ", which is held up in drain"
				   : "57 % of all time waited for locks is for log (4.00 ms), "
				     "which is held up in write");
		report_grid_free(g);
	}
}
END_TEST

/* No rule without a test here: each has spoken. Tests run in one process, in order. */
START_TEST(each_rule)
{
	for (const struct advice_rule *rule = report_advice_rules; rule->name; rule++)
		ck_assert_msg(strstr(met, rule->name), "%s is not tested", rule->name);
	report_advice_free(&advice);
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_test(t, hot_function);
	tcase_add_test(t, temporary_blocks);
	tcase_add_test(t, preemption);
	tcase_add_test(t, missing_symbols);
	tcase_add_test(t, node_without_names);
	tcase_add_test(t, stacks_cut);
	tcase_add_test(t, throttled);
	tcase_add_test(t, slow_few);
	tcase_add_test(t, one_lock);
	tcase_add_test(t, each_rule);
}

int main(void)
{
	setenv("CK_FORK", "no", 1); /* for each_rule */
	return run_tests("report_advice", add_tests);
}
