/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of a difference is certain: the tests' arithmetic against figures of tables, the scale, the
 * verdicts, and a thousand made-up pairs of profiles, of which next to none may say anything.
 */
#include "base/clock.h"
#include "slower.h"
#include "test_diff_made.h"

enum { FUNCTIONS = 40 };

/* A profile of functions below main, as many samples of each as said. */
static struct report *profile(const uint64_t *counts, size_t n)
{
	struct report *r = new_cpu_report();
	const uint32_t main = user(r, "main"), half[2] = { user(r, "even"), user(r, "odd") };

	for (size_t i = 0; i < n; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%zu", i);
		if (counts[i])
			ADD(r, "app", 1, counts[i], user(r, name), half[i % 2], main);
	}
	return r;
}

struct pair {
	struct report *a, *b;
	struct report_diff *d;
};

static struct pair compared(const uint64_t *a, const uint64_t *b, size_t n,
			    const struct report_diff_options *options)
{
	static const struct report_diff_options plain;
	struct pair p = { profile(a, n), profile(b, n), NULL };

	ck_assert_int_eq(new_diff(p.a, p.b, options ? options : &plain, &p.d), 0);
	return p;
}

static void pair_free(struct pair *p)
{
	report_diff_free(p->d);
	report_free(p->a);
	report_free(p->b);
}

static const struct diff_row *row_of(const struct report_diff *d, const char *name)
{
	for (uint32_t i = 0; i < d->names.count; i++)
		if (!strcmp(diff_text(d, i), name))
			return &d->rows[i];
	ck_abort_msg("no %s", name);
}

/* Of the normal distribution, both sides (Abramowitz and Stegun, table 26.1 and 26.2). */
START_TEST(chance)
{
	static const double known[][2] = { { 0, 1 },
					   { 0.5, 0.6170750774519738 },
					   { 1, 0.3173105078629141 },
					   { 1.959963984540054, 0.05 },
					   { 2.99, 0.0027897744709845006 },
					   { 3.01, 0.0026124768975389397 },
					   { 4, 6.334248366623996e-05 },
					   { 6, 1.973175290075396e-09 },
					   { 10, 1.523970604832094e-23 } };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const double p = report_diff_chance(known[i][0]);

		ck_assert_msg(fabs(p / known[i][1] - 1) < 1e-6, "%g: %.12g, not %.12g", known[i][0],
			      p, known[i][1]);
		ck_assert_double_eq(report_diff_chance(-known[i][0]), p);
	}
	ck_assert_double_ge(report_diff_chance(1e9), 0);
	ck_assert_double_le(report_diff_chance(60), 1e-300);
	for (double x = 0; x < 600; x += 0.37)
		ck_assert(fabs(report_diff_exp_minus(x) / exp(-x) - 1) < 1e-6);
}
END_TEST

/* For a few events it is near the exact test of a binomial. */
START_TEST(z_of_few)
{
	const struct report_diff_options none = { .scale = REPORT_DIFF_NONE, .noise = 1e-9 };
	const uint64_t a[] = { 1000, 0, 20, 5 }, b[] = { 1000, 20, 0, 15 };
	struct pair p = compared(a, b, 4, &none);
	const double exact = 2 * ldexp(1, -20); /* of 20 coins all fall on one side */
	double z = row_of(p.d, "f1")->z_self;

	ck_assert_double_eq(row_of(p.d, "f0")->z_self, 0);
	ck_assert(z > 0 && report_diff_chance(z) > exact / 2 && report_diff_chance(z) < exact * 2);
	ck_assert_double_eq(row_of(p.d, "f2")->z_self, -z);
	/* 15 or more of 20, or 5 or fewer: 0.0414 */
	z = report_diff_chance(row_of(p.d, "f3")->z_self);
	ck_assert_msg(z > 0.035 && z < 0.05, "%g", z);
	pair_free(&p);
}
END_TEST

/* One function takes a fifth more: by shares, all would have changed. */
START_TEST(slower_function)
{
	const uint64_t a[] = { 6000, 5000, 4000, 3000, 2000, 1000 };
	const uint64_t b[] = { 6000, 5000, 4800, 3000, 2000, 1000 };
	uint64_t less[6];
	struct pair p = compared(a, b, 6, NULL);
	const struct diff_row *row = row_of(p.d, "f2");

	ck_assert_str_eq(said(p.d), "app even f2 main");
	ck_assert_uint_eq(row->verdict, DIFF_SELF);
	ck_assert(row->p_self < 1e-3);
	ck_assert(fabs(diff_points(p.d, &row->self) - 100.0 * 800 / 21000) < 1e-9);
	ck_assert_uint_eq(row_of(p.d, "even")->verdict, DIFF_CARRIED);
	ck_assert_uint_eq(row_of(p.d, "odd")->verdict, DIFF_SAME);
	ck_assert(fabs(p.d->scale - 1) < 1e-9);
	ck_assert_uint_eq(p.d->nstable, 5);
	pair_free(&p);
	/* The same, of a recording that took as long as the other: 20,000 samples in all. */
	for (int i = 0; i < 6; i++)
		less[i] = (uint64_t)((double)b[i] * 21000 / 21800 + 0.5);
	p = compared(a, less, 6, NULL);
	ck_assert_str_eq(said(p.d), "app even f2 main");
	ck_assert(fabs(p.d->scale - 21000.0 / 21800) < 1e-3);
	ck_assert(fabs(diff_points(p.d, &row_of(p.d, "f2")->self) - 100.0 * 800 / 21000) < 0.1);
	pair_free(&p);
	/* What shrank says so, and its callers too. */
	p = compared(b, a, 6, NULL);
	ck_assert_str_eq(said(p.d), "app even f2 main");
	ck_assert(row_of(p.d, "f2")->z_self < 0);
	pair_free(&p);
}
END_TEST

START_TEST(new_and_gone)
{
	const uint64_t a[] = { 1000, 900, 800, 300, 0, 700 }, b[] = { 1000, 900, 800, 0, 300, 700 };
	struct pair p = compared(a, b, 6, NULL);
	char *table = NULL;
	size_t size;
	FILE *f = open_memstream(&table, &size);

	ck_assert_int_eq(report_diff_write_table(p.d, f), 0);
	fclose(f);
	ck_assert_ptr_nonnull(strstr(table, "  -8.11    gone   -8.11    gone  >99.999%  f3"));
	ck_assert_ptr_nonnull(strstr(table, "  +8.11     new   +8.11     new  >99.999%  f4"));
	ck_assert_ptr_null(strstr(table, " f0 "));
	free(table);
	pair_free(&p);
}
END_TEST

/* Both 100 %, by time, and as they are. */
/* Two processes: as many samples of the one, in the same functions, and of the other. */
static struct report *two_processes(const char *one, uint64_t n, const char *other, uint64_t m)
{
	struct report *r = new_cpu_report();
	const uint32_t main = user(r, "main");

	ADD(r, one, 1, n, user(r, "work"), main);
	ADD(r, one, 1, n, user(r, "rest"), main);
	ADD(r, other, 2, m, user(r, "load"), main);
	return r;
}

static const char *said_between(struct report *a, struct report *b)
{
	static const struct report_diff_options plain;
	struct pair p = { a, b, NULL };
	const char *text;

	ck_assert_int_eq(new_diff(a, b, &plain, &p.d), 0);
	text = said(p.d);
	pair_free(&p);
	return text;
}

/* Another name is no news, even if some moments were of a process that both have. */
START_TEST(renamed_programs)
{
	ck_assert_str_eq(said_between(two_processes("v1", 3000, "rawprof", 2),
				      two_processes("v2", 3000, "rawprof", 3)),
			 "");
	ck_assert_ptr_nonnull(strstr(said_between(two_processes("app", 3000, "load", 2),
						  two_processes("app", 3000, "busy", 9000)),
				     "busy"));
}
END_TEST

/* Names of processes are looked for in a set: each of one side beside each of the other is long. */
START_TEST(many_processes)
{
	enum { MANY = 40000 };
	static const struct report_diff_options plain;
	struct pair p = { new_cpu_report(), new_cpu_report(), NULL };
	const uint32_t main_a = user(p.a, "main"), main_b = user(p.b, "main");
	uint64_t began;
	char name[16];

	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "a%d", i);
		ADD(p.a, name, 1, 1, main_a);
		*name = 'b';
		ADD(p.b, name, 1, 1, main_b);
	}
	began = rp_thread_cpu_ns();
	ck_assert_int_eq(new_diff(p.a, p.b, &plain, &p.d), 0);
	ck_assert_uint_lt(rp_thread_cpu_ns() - began, 20 * NS_PER_SECOND * slower());
	pair_free(&p);
}
END_TEST

START_TEST(scales)
{
	const uint64_t a[] = { 100, 200, 300 }, b[] = { 200, 400, 600 };
	const struct report_info one = { .duration_ns = 1000000000 },
				 four = { .duration_ns = 4000000000 };
	struct report_diff_options options = { .scale = REPORT_DIFF_TOTAL };
	struct pair p = compared(a, b, 3, &options);
	struct report_diff *d;

	ck_assert_double_eq(p.d->scale, 2);
	options.scale = REPORT_DIFF_TIME;
	ck_assert_int_eq(new_diff(p.a, p.b, &options, &d), -ENOENT);
	ck_assert_int_eq(report_set_info(p.a, &one), 0);
	ck_assert_int_eq(report_set_info(p.b, &four), 0);
	ck_assert_int_eq(new_diff(p.a, p.b, &options, &d), 0);
	ck_assert_double_eq(d->scale, 4);
	report_diff_free(d);
	options.scale = REPORT_DIFF_NONE;
	ck_assert_int_eq(new_diff(p.a, p.b, &options, &d), 0);
	ck_assert_double_eq(d->scale, 1);
	report_diff_free(d);
	options.weight_b = 2;
	ck_assert_int_eq(new_diff(p.a, p.b, &options, &d), -EINVAL);
	pair_free(&p);
}
END_TEST

/* Nanoseconds are worth as many events as they are samples. */
START_TEST(weights)
{
	const uint64_t a[] = { 100, 200, 300, 20 }, b[] = { 110, 190, 310, 30 };
	const struct report_diff_options by_time = { .weight_a = 1, .weight_b = 1 };
	struct pair p = compared(a, b, 4, NULL), q = compared(a, b, 4, &by_time);

	for (int i = 0; i < 4; i++) {
		char name[] = { 'f', (char)('0' + i), 0 };

		ck_assert(fabs(row_of(p.d, name)->z_self - row_of(q.d, name)->z_self) < 1e-6);
		ck_assert_uint_eq(row_of(q.d, name)->self.of[SIDE_B].w, b[i] * 10);
	}
	pair_free(&p);
	pair_free(&q);
}
END_TEST

/* What interrupts a program comes in bursts, which say little; the program's own do not. */
START_TEST(bursts)
{
	static const char *const entries[] = { "asm_sysvec_apic_timer_interrupt",
					       "exit_to_user_mode_loop", "own_work" };

	for (int i = 0; i < 3; i++) {
		const uint64_t a[] = { 3000, 2500, 2000, 1500 };
		struct report *profiles[2];
		struct report_diff *d;

		for (int side = 0; side < 2; side++) {
			struct report *r = profiles[side] = profile(a, 4);
			const uint32_t main = user(r, "main");

			ADD(r, "app", 1, side ? 80 : 20, kernel(r, "leaf"), kernel(r, entries[i]),
			    main);
		}
		ck_assert_int_eq(new_diff(profiles[0], profiles[1],
					  &(struct report_diff_options){ .noise = 0 }, &d),
				 0);
		ck_assert_str_eq(said(d), i < 2 ? "" : "app leaf main own_work");
		report_diff_free(d);
		report_free(profiles[0]);
		report_free(profiles[1]);
	}
}
END_TEST

/* ---- profiles made up */

/* n samples of functions whose shares fall off, each share wrong by so much of itself. */
static void draw(uint64_t *counts, unsigned int n, double noise, double slower)
{
	double share[FUNCTIONS], sum = 0;

	for (int i = 0; i < FUNCTIONS; i++) {
		share[i] = pow(i + 1, -1.2) * (1 + noise * normal()) * (i == 1 ? slower : 1);
		sum += share[i];
		counts[i] = 0;
	}
	while (n--) {
		double at = uniform() * sum;
		int i = 0;

		for (; i < FUNCTIONS - 1 && at >= share[i]; i++)
			at -= share[i];
		counts[i]++;
	}
}

static const char *said_of(unsigned int n, double noise, double slower, bool *silent)
{
	static char names[1024];
	uint64_t a[FUNCTIONS], b[FUNCTIONS];
	struct pair p;

	draw(a, n, noise, 1);
	draw(b, n, noise, slower);
	p = compared(a, b, FUNCTIONS, NULL);
	snprintf(names, sizeof(names), "%s", said(p.d));
	*silent = p.d->verdicts[DIFF_SAME] == p.d->names.count;
	pair_free(&p);
	return names;
}

START_TEST(thousand_pairs)
{
	unsigned int wrong = 0;
	bool silent;

	for (int i = 0; i < 1000; i++) {
		said_of(i % 2 ? 400 : 6000, i % 4 < 2 ? 0 : 0.01, 1, &silent);
		wrong += !silent;
	}
	ck_assert_msg(wrong <= 10, "%u of 1000 pairs report something", wrong);
}
END_TEST

START_TEST(hundred_slower)
{
	unsigned int exact = 0;
	bool silent;

	for (int i = 0; i < 100; i++)
		exact += !strcmp(said_of(30000, 0.005, 1.2, &silent), "app f1 main odd");
	ck_assert_msg(exact >= 80, "%u of 100 pairs report what is slower, and no more", exact);
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_test(t, chance);
	tcase_add_test(t, z_of_few);
	tcase_add_test(t, slower_function);
	tcase_add_test(t, new_and_gone);
	tcase_add_test(t, renamed_programs);
	tcase_add_test(t, many_processes);
	tcase_add_test(t, scales);
	tcase_add_test(t, weights);
	tcase_add_test(t, bursts);
	tcase_add_test(t, thousand_pairs);
	tcase_add_test(t, hundred_slower);
}

int main(void)
{
	return run_tests("report_diff", add_tests);
}
