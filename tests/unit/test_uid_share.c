/* SPDX-License-Identifier: BSD-2-Clause */
/* Shares of users: nobody takes all, and nobody takes root's. */
#include <check.h>
#include <stdlib.h>

#include "record/uid_share.h"

static struct record_share s;

static void setup(void)
{
	s = RECORD_SHARE(64, "places of a test");
}

static void teardown(void)
{
	record_share_free(&s);
}

/* How many of one a user gets. */
static uint32_t all_of(uid_t uid)
{
	uint32_t n = 0;

	while (n < 1000 && record_share_take(&s, uid, 1))
		n++;
	return n;
}

START_TEST(test_half_of_what_is_left)
{
	ck_assert_uint_eq(all_of(1000), 32);
	ck_assert_uint_eq(all_of(1001), 16);
	ck_assert_uint_eq(all_of(RECORD_UID_UNKNOWN), 8);
	ck_assert_uint_eq(all_of(1000), 0);
	ck_assert_uint_eq(all_of(1002), 4);
	ck_assert_uint_eq(s.all, 60);
}
END_TEST

START_TEST(test_root)
{
	for (uid_t uid = 1000; uid < 1100; uid++)
		all_of(uid);
	ck_assert_uint_eq(all_of(0), 64);
	record_share_empty(&s);
	ck_assert_uint_eq(all_of(0), 64);
	ck_assert_uint_eq(all_of(1000), 32);
}
END_TEST

START_TEST(test_sizes)
{
	ck_assert(!record_share_take(&s, 1000, 33));
	ck_assert(!record_share_take(&s, 1000, UINT64_MAX));
	ck_assert(record_share_take(&s, 1000, 32));
	ck_assert(!record_share_has_room(&s, 1000, 1));
	ck_assert(record_share_has_room(&s, 1000, 0));
	ck_assert(!record_share_take(&s, 0, 65));
	ck_assert(record_share_take(&s, 0, 64));
	ck_assert_uint_eq(s.all, 32);
}
END_TEST

/* What has to be kept counts, also where it is more than there may be. */
START_TEST(test_too_much)
{
	record_share_add(&s, 1000, 100);
	ck_assert_uint_eq(s.all, 100);
	ck_assert_uint_eq(all_of(1000), 0);
	ck_assert_uint_eq(all_of(1001), 0);
	ck_assert_uint_eq(all_of(0), 64);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shares of users");
	TCase *tc = tcase_create("share");
	SRunner *r = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_half_of_what_is_left);
	tcase_add_test(tc, test_root);
	tcase_add_test(tc, test_sizes);
	tcase_add_test(tc, test_too_much);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
