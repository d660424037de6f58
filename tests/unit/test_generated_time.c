/* SPDX-License-Identifier: BSD-2-Clause */
/* Computing rules of code in memory: nobody has much time for it, and nobody takes root's. */
#include <check.h>
#include <stdlib.h>

#include "base/clock.h"
#include "record/generated_time.h"

#define MS (NS_PER_SECOND / 1000)

static struct generated_time t;
static uint64_t now;

static void setup(void)
{
	t = (struct generated_time){ 0 };
	now = NS_PER_SECOND;
}

static bool compute(uint32_t uid, uint64_t ns)
{
	const bool has_time = record_generated_has_time(&t, uid, now);

	if (has_time)
		record_generated_spent(&t, uid, now, ns);
	return has_time;
}

/* Milliseconds that @n users, from @uid on, get when they ask for all that they can have. */
static uint64_t all_of(uint32_t uid, uint32_t n)
{
	uint64_t ms = 0, before;

	do {
		before = ms;
		for (uint32_t i = 0; i < n; i++)
			ms += compute(uid + i, MS);
	} while (ms != before && ms < 100000);
	return ms;
}

static uint64_t all_for_seconds(uint32_t uid, uint32_t n, uint32_t seconds)
{
	uint64_t ms = 0;

	for (uint32_t i = 0; i < seconds * 100; i++, now += 10 * MS)
		ms += all_of(uid, n);
	return ms;
}

START_TEST(test_part_of_the_time)
{
	uint64_t ms = all_of(1000, 1);

	ck_assert(ms > 100 && ms < 150);
	now += 20 * NS_PER_SECOND;
	ms = all_for_seconds(1000, 1, 1000);
	ck_assert(ms > 20000 && ms < 20400);
	setup();
	ms = all_for_seconds(0, 1, 1000);
	ck_assert(ms > 20000 && ms < 20400);
}
END_TEST

/* A day later there is no more than at the beginning. */
START_TEST(test_nothing_is_saved_up)
{
	const uint64_t first = all_of(1000, 1), root = all_of(0, 1);

	now += 86400 * NS_PER_SECOND;
	ck_assert_uint_eq(all_of(1000, 1), first);
	ck_assert_uint_eq(all_of(0, 1), root);
	ck_assert(first <= 200 && root <= 200);
}
END_TEST

/*
 * Whoever has many uids has 8 % of the time in all; root's is his own. These are so large that
 * /etc/subuid of the machine has none of them: what it has is one user's.
 */
START_TEST(test_many_uids)
{
	const uint32_t many[] = { 8, 40, 300 };

	for (int i = 0; i < 3; i++) {
		uint64_t ms;

		setup();
		ms = all_of(3000000000, many[i]);
		ck_assert(ms > 300 && ms <= 410);
		ck_assert(compute(0, MS));
		now += 10 * MS;
		ck_assert(compute(1001, MS)); /* who asks first */
		ms = all_for_seconds(3000000000, many[i], 100);
		ck_assert(ms > 7900 && ms < 8100);
		ck_assert(compute(0, MS));
	}
}
END_TEST

/* Whoever asks all the time, and first, leaves another his part; he has some at once. */
START_TEST(test_others_have_theirs)
{
	uint64_t ms = 0;

	all_of(1000, 3);
	ck_assert(compute(2000, MS));
	for (int i = 0; i < 100000; i++, now += 10 * MS) {
		all_of(1000, 3);
		ms += all_of(2000, 1);
	}
	ck_assert(ms > 19900 && ms < 20400);
}
END_TEST

/* What a user owes is not forgotten when others come and go. */
START_TEST(test_debts_are_kept)
{
	all_of(1000, 1);
	for (uint32_t i = 0; i < 100; i++)
		ck_assert(compute(3000000000 + i, MS / 100));
	ck_assert(!compute(1000, MS));
	ck_assert(compute(200000, MS));
}
END_TEST

/* A look that was kept waiting for ten seconds is its user's debt alone. */
START_TEST(test_very_long)
{
	ck_assert(compute(1000, 10 * NS_PER_SECOND));
	ck_assert(compute(2000, MS));
	now += 400 * NS_PER_SECOND;
	ck_assert(!compute(1000, MS));
	ck_assert(!record_generated_is_paid(&t, now));
	now += 100 * NS_PER_SECOND;
	ck_assert(record_generated_is_paid(&t, now));
	ck_assert(compute(1000, MS));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("time for code in memory");
	TCase *tc = tcase_create("time");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, tc);
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, test_part_of_the_time);
	tcase_add_test(tc, test_nothing_is_saved_up);
	tcase_add_test(tc, test_many_uids);
	tcase_add_test(tc, test_others_have_theirs);
	tcase_add_test(tc, test_debts_are_kept);
	tcase_add_test(tc, test_very_long);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
