/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Profiles whose streams show how much their samples scatter: samples made up at random, one by one
 * or in bursts, of a program that does one thing all the time or one after the other.
 */
#include "test_diff_made.h"

enum { FUNCTIONS = 10, SAMPLES = 9000 };

struct made {
	unsigned int burst; /* samples that come together */
	unsigned int phases;
	double slower;	 /* times the time of f1 */
	bool has_stream; /* else the sums alone */
};

/* A phase has every second function, so that each is there for half of the time. */
static int choose(const struct made *made, unsigned int phase)
{
	double share[FUNCTIONS], sum = 0, at;

	for (int i = 0; i < FUNCTIONS; i++) {
		const bool here = made->phases < 2 || (i / 2 + (int)phase) % 2;

		share[i] = here ? 1.0 / (i + 1) * (i == 1 ? made->slower : 1) : 0;
		sum += share[i];
	}
	at = uniform() * sum;
	for (int i = 0; i < FUNCTIONS - 1; i++) {
		if (at < share[i])
			return i;
		at -= share[i];
	}
	return FUNCTIONS - 1;
}

static struct report *profile(const struct made *made)
{
	struct report *r = new_cpu_report();
	const uint32_t main = user(r, "main"), half[2] = { user(r, "even"), user(r, "odd") };
	const struct report_info info = { .period = 10, .period_type = { "cpu", "nanoseconds" } };
	uint64_t values[] = { 1, 10 };
	uint32_t of[FUNCTIONS];
	int function = 0;

	ck_assert_int_eq(report_set_info(r, &info), 0);
	if (made->has_stream)
		ck_assert_int_eq(report_set_stream(r, 1, 0), 0);
	for (int i = 0; i < FUNCTIONS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		of[i] = user(r, name);
	}
	for (unsigned int i = 0; i < SAMPLES; i++) {
		uint32_t id;

		if (i % made->burst == 0)
			function = choose(made, i * made->phases / SAMPLES);
		const uint32_t frames[] = { of[function], half[function % 2], main };
		const struct report_sample s = { .comm = "app",
						 .pid = 1,
						 .tid = 1,
						 .frames = frames,
						 .nframes = 3,
						 .values = values };

		ck_assert_int_eq(report_add_id(r, &s, &id), 0);
		if (made->has_stream)
			ck_assert_int_eq(
				report_add_moment(r, &(struct report_moment){ .time_ns = 10ull * i,
									      .weight = 10,
									      .sample = id,
									      .count = 1 }),
				0);
	}
	return r;
}

struct outcome {
	unsigned int silent, exact;
	double scatter, noise; /* the means of both sides, of all */
};

static struct outcome compare(struct made made, unsigned int pairs, unsigned int weight)
{
	const struct report_diff_options options = { .weight_a = weight, .weight_b = weight };
	const double slower = made.slower;
	struct outcome o = { 0 };

	for (unsigned int i = 0; i < pairs; i++) {
		struct report *a, *b;
		struct report_diff *d;

		made.slower = 1;
		a = profile(&made);
		made.slower = slower;
		b = profile(&made);
		ck_assert_int_eq(new_diff(a, b, &options, &d), 0);
		o.silent += !*said(d);
		o.exact += !strcmp(said(d), "app f1 main odd");
		o.scatter += (d->scatter[SIDE_A] + d->scatter[SIDE_B]) / 2 / pairs;
		o.noise += d->noise / pairs;
		report_diff_free(d);
		report_free(a);
		report_free(b);
	}
	return o;
}

/* An even clock is believed. */
START_TEST(even)
{
	struct made made = { .burst = 1, .slower = 1.3, .has_stream = true };
	struct outcome o = compare(made, 10, 0);

	ck_assert_msg(o.exact >= 9, "%u of 10", o.exact);
	ck_assert_msg(o.scatter >= 1 && o.scatter < 1.25, "%g", o.scatter);
	ck_assert_msg(o.noise >= 0.02 && o.noise < 0.023, "%g", o.noise);
	made.slower = 1;
	o = compare(made, 20, 0);
	ck_assert_msg(o.silent >= 19, "%u of 20 say nothing", o.silent);
	made.has_stream = false;
	o = compare(made, 1, 0);
	ck_assert_double_eq(o.scatter, 0);
	ck_assert_double_eq(o.noise, 0.02);
}
END_TEST

/* Six samples that come together are worth one. */
START_TEST(bursts)
{
	struct made made = { .burst = 6, .slower = 1, .has_stream = true };

	for (unsigned int weight = 0; weight < 2; weight++) {
		const struct outcome o = compare(made, 10, weight);

		ck_assert_msg(o.silent >= 9, "%u of 10 say nothing", o.silent);
		ck_assert_msg(o.scatter > 5 && o.scatter < 7, "%g", o.scatter);
	}
	/* Nobody can tell without a stream. */
	made.has_stream = false;
	made.burst = 12;
	ck_assert_uint_lt(compare(made, 10, 0).silent, 5);
}
END_TEST

/* That a program does one thing after the other is no scatter. */
START_TEST(phases)
{
	const struct made made = { .burst = 1, .phases = 4, .slower = 1.4, .has_stream = true };
	const struct outcome o = compare(made, 10, 0);

	ck_assert_msg(o.scatter < 1.5, "%g", o.scatter);
	ck_assert_msg(o.exact >= 5, "%u of 10", o.exact);
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_test(t, even);
	tcase_add_test(t, bursts);
	tcase_add_test(t, phases);
}

int main(void)
{
	return run_tests("report_scatter", add_tests);
}
