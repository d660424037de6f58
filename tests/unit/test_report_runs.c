/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several runs of each side, made up: of programs whose functions take more or less time from run
 * to run, as chance has it or in two ways; of one function that became slower; of parts of them.
 */
#include "test_diff_made.h"

enum { FUNCTIONS = 20, SAMPLES = 5000, MOST = 8 };

struct made {
	size_t a, b;   /* runs */
	double noise;  /* of each function, in each run, relative to what it takes */
	double of_f0;  /* of the heaviest one, beside */
	double slower; /* times the time of f1, in B */
	double longer; /* times the samples of a run of B */
};

/* Functions whose shares fall off, below the one of the two that they are shared out to. */
static struct report *run_of(const struct made *made, bool is_b)
{
	struct report *r = new_cpu_report();
	const uint32_t main = user(r, "main"), half[2] = { user(r, "even"), user(r, "odd") };
	const double samples = SAMPLES * (is_b && made->longer > 0 ? made->longer : 1);
	double share[FUNCTIONS], sum = 0;

	for (int i = 0; i < FUNCTIONS; i++) {
		share[i] = pow(i + 1, -1.2) * exp(made->noise * normal());
		share[i] *= i ? 1 : exp(made->of_f0 * normal());
		share[i] *= i == 1 && is_b ? made->slower : 1;
		sum += pow(i + 1, -1.2);
	}
	for (int i = 0; i < FUNCTIONS; i++) {
		const double mean = samples * share[i] / sum, n = mean + sqrt(mean) * normal();
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		if (n >= 1)
			ADD(r, "app", 1, (uint64_t)n, user(r, name), half[i % 2], main);
	}
	return r;
}

struct compared {
	struct report *runs[SIDES][MOST];
	struct report_diff *d;
};

static struct compared compare(const struct made *made)
{
	static const struct report_diff_options plain;
	struct compared c = { .d = NULL };
	struct report_runs sides[SIDES];

	for (int side = 0; side < SIDES; side++) {
		const size_t n = side ? made->b : made->a;

		for (size_t i = 0; i < n; i++)
			c.runs[side][i] = run_of(made, side == SIDE_B);
		sides[side] = (struct report_runs){ (const struct report *const *)c.runs[side], n };
	}
	ck_assert_int_eq(report_diff_new(&sides[SIDE_A], &sides[SIDE_B], &plain, &c.d), 0);
	return c;
}

static void compared_free(struct compared *c)
{
	report_diff_free(c->d);
	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < MOST; i++)
			report_free(c->runs[side][i]);
}

/* How many of so many say nothing, or just what became slower. */
static unsigned int right(const struct made *made, unsigned int n, double *between)
{
	const char *expected = made->slower > 1 ? "app f1 main odd" : "";
	unsigned int count = 0;

	*between = 0;
	for (unsigned int i = 0; i < n; i++) {
		struct compared c = compare(made);

		count += !strcmp(said(c.d), expected);
		*between += c.d->between / n;
		compared_free(&c);
	}
	return count;
}

/* What runs of one side differ by is no change, whether it is little or half. */
START_TEST(noise_of_runs)
{
	static const double noises[] = { 0, 0.02, 0.1, 0.4 };
	double between;

	for (size_t i = 0; i < sizeof(noises) / sizeof(*noises); i++)
		for (size_t n = 3; n <= 5; n += 2) {
			const struct made made = { n, n, noises[i], .slower = 1 };
			const unsigned int silent = right(&made, 100, &between);

			ck_assert_msg(silent >= 98, "%zu runs, %g: %u of 100 say nothing", n,
				      noises[i], silent);
			if (noises[i] >= 0.1)
				/* that of three in four, as few runs show it */
				ck_assert_msg(between > 0.9 * noises[i] &&
						      between < 1.7 * noises[i],
					      "%g: %g", noises[i], between);
		}
}
END_TEST

/* The same, of one pair, cannot be told: that is what the runs are for. */
START_TEST(noise_of_a_pair)
{
	const struct made made = { 1, 1, 0.1, .slower = 1 };
	double between;

	ck_assert_uint_lt(right(&made, 20, &between), 18);
	ck_assert_double_eq(between, 0);
}
END_TEST

/* A fifth more is seen through a noise of two percent, and through that of another function. */
START_TEST(slower)
{
	struct made made = { 5, 5, 0.02, .slower = 1.3 };
	double between;
	unsigned int exact = right(&made, 40, &between);

	ck_assert_msg(exact >= 36, "%u of 40", exact);
	made.longer = 1.7;
	exact = right(&made, 40, &between);
	ck_assert_msg(exact >= 36, "of longer runs: %u of 40", exact);
	made.of_f0 = 0.3;
	exact = right(&made, 40, &between);
	ck_assert_msg(exact >= 20, "beside a noisy one: %u of 40", exact);
}
END_TEST

/* One run of A beside several of B: these say for both how much runs differ. */
START_TEST(one_beside_several)
{
	const struct made made = { 1, 6, 0.1, .slower = 1 };
	double between;
	const unsigned int silent = right(&made, 60, &between);

	ck_assert_msg(silent >= 59, "%u of 60", silent);
}
END_TEST

/* In which order the runs come says nothing. */
START_TEST(any_order)
{
	const struct made made = { 3, 3, 0.05, .slower = 1.5 };
	struct compared c = compare(&made);
	const struct report *turned[] = { c.runs[SIDE_A][2], c.runs[SIDE_A][0], c.runs[SIDE_A][1] };
	const struct report_runs a = { turned, 3 },
				 b = { (const struct report *const *)c.runs[SIDE_B], 3 };
	struct report_diff *d;
	char first[1024];

	snprintf(first, sizeof(first), "%s", said(c.d));
	ck_assert_int_eq(report_diff_new(&a, &b, &(struct report_diff_options){ .noise = 0 }, &d),
			 0);
	ck_assert_str_eq(said(d), first);
	ck_assert(fabs(d->scale / c.d->scale - 1) < 1e-9);
	ck_assert(fabs(d->between / c.d->between - 1) < 1e-9);
	report_diff_free(d);
	compared_free(&c);
}
END_TEST

/* Of a part the scale and the points are those of the whole. */
START_TEST(part_of)
{
	const struct made made = { 1, 1, 0, .slower = 2, .longer = 3 };
	struct compared c = compare(&made);
	struct report *part[SIDES];
	struct report_diff *d;
	char why[REPORT_WHY];

	for (int side = 0; side < SIDES; side++)
		ck_assert_int_eq(report_select(c.runs[side][0], "leaf=f1", &part[side], why), 0);
	ck_assert_int_eq(new_diff(part[SIDE_A], part[SIDE_B],
				  &(struct report_diff_options){ .part_of = c.d }, &d),
			 0);
	ck_assert_double_eq(d->scale, c.d->scale);
	for (uint32_t i = 0; i < c.d->names.count; i++)
		for (uint32_t j = 0; j < d->names.count; j++)
			if (!strcmp(diff_text(c.d, i), "f1") && !strcmp(diff_text(d, j), "f1")) {
				ck_assert_double_eq(diff_points(c.d, &c.d->rows[i].self),
						    diff_points(d, &d->rows[j].self));
				ck_assert_uint_eq(d->rows[j].verdict, DIFF_SELF);
			}
	report_diff_free(d);
	report_free(part[SIDE_A]);
	report_free(part[SIDE_B]);
	compared_free(&c);
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_test(t, noise_of_runs);
	tcase_add_test(t, noise_of_a_pair);
	tcase_add_test(t, slower);
	tcase_add_test(t, one_beside_several);
	tcase_add_test(t, any_order);
	tcase_add_test(t, part_of);
}

int main(void)
{
	return run_tests("report_runs", add_tests);
}
