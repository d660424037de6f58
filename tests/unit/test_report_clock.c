/* SPDX-License-Identifier: BSD-2-Clause */
/* Dates beside those of the C library. */
#include <check.h>
#include <stdlib.h>
#include <time.h>

#include <rawprof/report.h>

#include "report/clock.h"

static void same(struct wall_clock c, const struct tm *tm)
{
	ck_assert_uint_eq(c.year, tm->tm_year + 1900);
	ck_assert_uint_eq(c.month, tm->tm_mon + 1);
	ck_assert_uint_eq(c.day, tm->tm_mday);
	ck_assert_uint_eq(c.hour, tm->tm_hour);
	ck_assert_uint_eq(c.minute, tm->tm_min);
	ck_assert_uint_eq(c.second, tm->tm_sec);
	ck_assert_int_eq(c.offset, tm->tm_gmtoff / 60);
}

/* Both ends of every day until 2554, where 64 bits of nanoseconds end. */
START_TEST(test_utc)
{
	const uint64_t last = UINT64_MAX / 1000000000 / 86400;

	for (uint64_t day = 0; day < last; day += _i ? 7 : 1) {
		const time_t ends[] = { day * 86400, day * 86400 + 86399 };
		struct tm tm;

		gmtime_r(&ends[_i], &tm);
		same(report_clock_utc((uint64_t)ends[_i] * 1000000000 + 999999999), &tm);
	}
}
END_TEST

static const char *const zones[] = { "UTC0", "CET-1CEST,M3.5.0,M10.5.0/3",
				     "NST3:30NDT,M3.2.0,M11.1.0", "<+0545>-5:45", "<-11>11" };

START_TEST(test_local)
{
	ck_assert_int_eq(setenv("TZ", zones[_i], 1), 0);
	tzset();
	for (time_t t = 0; t < 4000000000; t += 86400 * 11 + 3601) {
		char text[REPORT_CLOCK_TEXT], expected[32];
		struct tm tm;

		localtime_r(&t, &tm);
		same(report_clock_local((uint64_t)t * 1000000000), &tm);
		strftime(expected, sizeof(expected), "%H:%M:%S.000789", &tm);
		report_clock((uint64_t)t * 1000000000 + 789999, text);
		ck_assert_str_eq(text, expected);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("clocks");
	TCase *t = tcase_create("clocks");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, test_utc, 0, 2);
	tcase_add_loop_test(t, test_local, 0, sizeof(zones) / sizeof(zones[0]));
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
