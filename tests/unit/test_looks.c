/* SPDX-License-Identifier: BSD-2-Clause */
/* What looking at processes may cost, and how many files are held open for it. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/looks.h"
#include "symbolize/file.h"

enum { GONE = UINT32_MAX - 5, MB = 1 << 20 }; /* of no user that is known, so not of root's */

static struct record_looks l;

static void setup(void)
{
	record_looks_init(&l);
}

static void teardown(void)
{
	record_looks_free(&l);
}

static void burn(uint64_t ns)
{
	const uint64_t end = rp_thread_cpu_ns() + ns;

	while (rp_thread_cpu_ns() < end)
		;
}

START_TEST(what_is_cheap_is_free)
{
	for (int i = 0; i < 3000; i++) {
		ck_assert(record_look_begin(&l, GONE));
		burn(100000);
		record_look_end(&l);
	}
}
END_TEST

START_TEST(who_takes_long_waits)
{
	ck_assert(record_look_begin(&l, GONE));
	burn(20000000);
	ck_assert(record_look_goes_on(&l, 0));
	burn(150000000);
	ck_assert(!record_look_goes_on(&l, 0));
	record_look_end(&l);
	ck_assert(!record_look_begin(&l, GONE - 1)); /* the same user */
	if (getuid())
		return;
	ck_assert(record_look_begin(&l, (uint32_t)getpid()));
	burn(150000000);
	ck_assert(record_look_goes_on(&l, 100 * MB));
	record_look_end(&l);
}
END_TEST

START_TEST(a_look_is_paid_at_its_end)
{
	ck_assert(record_look_begin(&l, GONE));
	burn(200000000);
	record_look_end(&l);
	ck_assert(!record_look_begin(&l, GONE));
}
END_TEST

START_TEST(mappings_are_memory)
{
	ck_assert(record_look_begin(&l, GONE));
	ck_assert(record_look_goes_on(&l, 20 * MB));
	ck_assert(!record_look_goes_on(&l, 20 * MB));
	ck_assert(record_look_goes_on(&l, 4 * MB));
	record_looks_settle(&l);
	ck_assert(record_look_goes_on(&l, 20 * MB));
	record_look_end(&l);
}
END_TEST

/* ---- files */

static struct sym_strings strings;
static struct sym_files fs;

/* A file of that user; root may make it another's. */
static int file_of(uid_t uid)
{
	char path[] = "/tmp/test_looks-XXXXXX";
	const int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	unlink(path);
	ck_assert(!uid || getuid() || !fchown(fd, uid, (gid_t)-1));
	return fd;
}

/* How many of so many are held. */
static uint32_t hold(uid_t uid, uint32_t n, uint64_t inode)
{
	uint32_t held = 0, number;

	for (uint32_t i = 0; i < n; i++) {
		const struct sym_file key = { .path = "/a/file", .inode = inode + i };

		ck_assert_int_eq(sym_files_add(&fs, &key, &number), 0);
		sym_file_hold(&fs, &fs.items[number], file_of(uid));
		held += fs.items[number].fd >= 0;
	}
	return held;
}

START_TEST(files_that_are_held)
{
	struct rlimit limit;

	ck_assert(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = 128;
	ck_assert(!setrlimit(RLIMIT_NOFILE, &limit));
	sym_files_init(&fs, &strings, "/proc");
	ck_assert_uint_eq(hold(1000, 60, 1000), 32); /* of 64 */
	if (!getuid()) {
		ck_assert_uint_eq(hold(1001, 60, 2000), 16);
		ck_assert_uint_eq(hold(0, 10, 3000), 10);
	}
	ck_assert_int_eq(close(sym_file_release(&fs, &fs.items[0])), 0);
	ck_assert_int_eq(fs.items[0].fd, -1);
	ck_assert_int_eq(sym_file_release(&fs, &fs.items[0]), -1);
	ck_assert_uint_eq(hold(1000, 1, 4000), getuid() ? 1 : 0); /* the other has taken of it */
	sym_files_free(&fs);
	sym_strings_free(&strings);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("looks");
	TCase *tc = tcase_create("looks");
	SRunner *r = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, what_is_cheap_is_free);
	tcase_add_test(tc, who_takes_long_waits);
	tcase_add_test(tc, a_look_is_paid_at_its_end);
	tcase_add_test(tc, mappings_are_memory);
	tcase_add_test(tc, files_that_are_held);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
