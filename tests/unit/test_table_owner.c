/* SPDX-License-Identifier: BSD-2-Clause */
/* What tables of a user's files may cost: bytes, and time that the bytes do not tell. */
#include <check.h>
#include <stdlib.h>

#include "base/clock.h"
#include "record/table_owner.h"

enum { SMALL = 64 << 10 };

/* A .debug_frame of 64 MB, packed to 64 KB. */
START_TEST(time_counts_where_bytes_are_few)
{
	struct table_owner one = { .uid = 1000 }, other = { .uid = 1001 }, root = { 0 };

	for (int i = 0; i < 10; i++) {
		ck_assert(record_table_owner_may_read(&one, SMALL));
		record_table_owner_spent(&one, SMALL, NS_PER_SECOND);
		record_table_owner_spent(&root, SMALL, 10 * NS_PER_SECOND);
	}
	record_table_owner_spent(&one, SMALL, 10 * NS_PER_SECOND);
	ck_assert(!record_table_owner_may_read(&one, SMALL));
	ck_assert(!record_table_owner_may_make(&one));
	ck_assert(record_table_owner_may_read(&other, SMALL));
	ck_assert(record_table_owner_may_read(&root, SMALL));
	ck_assert(record_table_owner_may_make(&root));
}
END_TEST

/* What its bytes have paid for is not paid for again. */
START_TEST(time_is_in_the_bytes)
{
	struct table_owner one = { .uid = 1000 };

	for (int i = 0; i < 15; i++) {
		ck_assert(record_table_owner_may_read(&one, 64 << 20));
		record_table_owner_spent(&one, 64 << 20, NS_PER_SECOND);
	}
	ck_assert(record_table_owner_may_read(&one, 32 << 20));
}
END_TEST

/* While the recording waits: a second, of which 2 % of the time comes back. */
START_TEST(here_it_is_a_second)
{
	struct table_owner one = { .uid = 1000 };

	ck_assert(record_table_owner_may_make(&one));
	record_table_owner_made(&one, 64 << 20, NS_PER_SECOND / 2);
	ck_assert(record_table_owner_may_make(&one));
	record_table_owner_made(&one, 64 << 20, NS_PER_SECOND);
	ck_assert(!record_table_owner_may_make(&one));
	ck_assert(record_table_owner_may_read(&one, SMALL));
	one.read_ns -= 40 * NS_PER_SECOND; /* as if that long ago */
	ck_assert(record_table_owner_may_make(&one));
	record_table_owner_made(&one, 64 << 20, NS_PER_SECOND);
	ck_assert(!record_table_owner_may_make(&one));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("table_owner");
	TCase *tc = tcase_create("table_owner");
	SRunner *r = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, time_counts_where_bytes_are_few);
	tcase_add_test(tc, time_is_in_the_bytes);
	tcase_add_test(tc, here_it_is_a_second);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
