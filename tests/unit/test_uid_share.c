/* SPDX-License-Identifier: BSD-2-Clause */
/* Shares of users: nobody takes all, and nobody takes root's. */
#include <check.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/subuid.h"
#include "record/generated_time.h"
#include "record/whose.h"

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

/* What is root's too: a user gets most of it, others and root some. */
START_TEST(test_parts)
{
	s.parts = 4;
	ck_assert_uint_eq(record_share_larger(&s, 1000, 0), 0);
	ck_assert(!record_share_matters(&s));
	ck_assert_uint_eq(all_of(1000), 24);
	ck_assert_uint_eq(all_of(1001), 6);
	ck_assert_uint_eq(all_of(1002), 2);
	ck_assert_uint_eq(all_of(1000), 0);
	ck_assert_uint_eq(record_share_larger(&s, 1001, 17), 1000);
	ck_assert_uint_eq(record_share_larger(&s, 1001, 18), 0);
	ck_assert_uint_eq(record_share_larger(&s, 1000, 0), 0);
	ck_assert(record_share_matters(&s));
	/* Of the 32 that are kept for root, and for what others had before anybody was asked. */
	record_share_add(&s, 0, 10);
	record_share_give(&s, 1000, 24);
	ck_assert_uint_eq(record_share_larger(&s, 1000, 0), 1001);
	ck_assert_uint_eq(all_of(1000), 18);
	record_share_add(&s, 0, 30); /* which has more now, as does nobody else */
	record_share_give(&s, 1000, 18);
	ck_assert_uint_eq(all_of(1000), 12);
	record_share_add(&s, 0, 24);
	record_share_give(&s, 1000, 12);
	ck_assert_uint_eq(all_of(1000), 0);
	ck_assert(record_share_fits(&s, 0, 1));
}
END_TEST

/* One who has most of it keeps others from no more than half, once they want it. */
START_TEST(test_contended)
{
	s.parts = 4;
	ck_assert_uint_eq(all_of(1000), 24);
	ck_assert_uint_eq(record_share_contend(&s, 1000), 0); /* nobody has more */
	record_share_give(&s, 1000, 24);
	ck_assert_uint_eq(all_of(1000), 24);
	ck_assert_uint_eq(record_share_contend(&s, 1001), 1000);
	record_share_give(&s, 1000, 24);
	ck_assert_uint_eq(all_of(1000), 16);
	ck_assert_uint_eq(all_of(1001), 8);
	record_share_empty(&s); /* nobody lacks anything then */
	ck_assert_uint_eq(all_of(1000), 24);
}
END_TEST

/* Whose processes are is known of as many as there are, whatever their pids. */
START_TEST(test_whose_is_known)
{
	enum { MANY = 20000, NONE = 5 << 20 /* no process has that pid, so of none it is asked */ };
	struct record_whose whose = { 0 };

	for (uint32_t i = 0; i < MANY; i++)
		record_whose_know(&whose, NONE + i, 1000 + i);
	for (uint32_t i = 0; i < MANY; i++) /* also those that are equal modulo 1,024 */
		ck_assert_uint_eq(record_whose(&whose, NONE + i), 1000 + i);
	ck_assert_uint_eq(record_whose(&whose, NONE + MANY), RECORD_UID_UNKNOWN);
	record_whose_know(&whose, NONE, 7);
	ck_assert_uint_eq(record_whose(&whose, NONE), 7);
	record_whose_free(&whose);
}
END_TEST

/* ---- subordinate uids */

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert(fputs(text, f) >= 0 && !fclose(f));
}

START_TEST(test_ranges)
{
	char path[] = "/tmp/test_uid_share-XXXXXX";
	struct subuids all;

	ck_assert_int_ge(close(mkstemp(path)), 0);
	write_file(path, "# a comment\nalice:100000:65536\n1001:165536:65536\nroot:0:1000\n"
			 "lxd:1000000:1000000000\nwrong:300000\nnone:310000:0\nx:400000:9x\n"
			 "much:4000000000:294967295\nhuge:9999999999:2\nminus:-5:3\ncarol:50000:1");
	rp_subuids_read(path, &all);
	unlink(path);
	ck_assert_uint_eq(all.n, 5);
	ck_assert_uint_eq(rp_subuids_first(&all, 99999), 99999);
	ck_assert_uint_eq(rp_subuids_first(&all, 100000), 100000);
	ck_assert_uint_eq(rp_subuids_first(&all, 165535), 100000);
	ck_assert_uint_eq(rp_subuids_first(&all, 165536), 165536);
	ck_assert_uint_eq(rp_subuids_first(&all, 231071), 165536);
	ck_assert_uint_eq(rp_subuids_first(&all, 231072), 231072);
	ck_assert_uint_eq(rp_subuids_first(&all, 999999999), 1000000);
	ck_assert_uint_eq(rp_subuids_first(&all, 1001000000), 1001000000);
	ck_assert_uint_eq(rp_subuids_first(&all, 4294967294), 4000000000);
	ck_assert_uint_eq(rp_subuids_first(&all, RECORD_UID_UNKNOWN), RECORD_UID_UNKNOWN);
	ck_assert_uint_eq(rp_subuids_first(&all, 50000), 50000);
	ck_assert_uint_eq(rp_subuids_first(&all, 5), 5);
	free(all.range);
	rp_subuids_read(path, &all); /* there is none any more */
	ck_assert_uint_eq(all.n, 0);
}
END_TEST

static void ask_spans(const struct subuid_range *range, uint32_t n, const char *expected)
{
	const struct subuids all = { .range = (struct subuid_range *)range, .n = n };
	struct subuid_span span[3];
	char text[200] = "";

	n = rp_subuids_spans(&all, span, 3);
	for (uint32_t i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u-%u ", span[i].first,
			 span[i].last);
	ck_assert_str_eq(text, expected);
}

/* Few spans, none of which has more in it than it must; one uid alone is an ordinary one. */
START_TEST(test_spans)
{
	static const struct subuid_range some[] = { { 231072, 65536 }, { 100000, 65536 },
						    { 165536, 65536 }, { 1000, 1 },
						    { 100100, 10 },    { 4294967000, 65536 },
						    { 500000, 2 } };
	static const struct subuid_range many[] = { { 90000, 100 }, { 10000, 100 }, { 20000, 100 },
						    { 20200, 100 }, { 10110, 100 }, { 10300, 100 },
						    { 80000, 100 } };

	ask_spans(NULL, 0, "");
	ask_spans(some, 5, "100000-165535 165536-231071 231072-296607 ");
	ask_spans(some, 7, "100000-296607 500000-500001 4294967000-4294967295 ");
	ask_spans(many, 7, "10000-20299 80000-80099 90000-90099 ");
	ask_spans(&some[3], 1, "");
}
END_TEST

/* In a mount namespace of this test, whose process is its own. */
START_TEST(test_a_range_is_one_user)
{
	struct generated_time t = { 0 };

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/etc", "tmpfs", 0, NULL)) {
		printf("skip: no mount namespace of its own\n");
		return;
	}
	write_file("/etc/subuid", "alice:100000:65536\n");
	ck_assert_uint_eq(all_of(100007), 32);
	for (uid_t uid = 100000; uid < 100100; uid++)
		ck_assert_uint_eq(all_of(uid), 0);
	ck_assert_uint_eq(all_of(1000), 16);
	record_share_empty(&s);
	record_share_add(&s, 165535, 10);
	ck_assert_uint_eq(all_of(100003), 22);

	record_generated_spent(&t, 100001, 0, 1000000000);
	ck_assert(!record_generated_has_time(&t, 165535, 0));
	ck_assert(record_generated_has_time(&t, 165536, 20000000000));
	ck_assert(!record_generated_has_time(&t, 100002, 20000000000));
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
	tcase_add_test(tc, test_parts);
	tcase_add_test(tc, test_contended);
	tcase_add_test(tc, test_whose_is_known);
	tcase_add_test(tc, test_ranges);
	tcase_add_test(tc, test_spans);
	tcase_add_test(tc, test_a_range_is_one_user);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
