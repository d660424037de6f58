/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables on disk that are small: a page each of what there is room for, and no more than 65,536. */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwind/cache.h"

static char dir[64];
static struct unwind_cache_dir d;

static void setup(void)
{
	strcpy(dir, "/tmp/rawprof-small-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	d = (struct unwind_cache_dir){ .max_bytes = 1 << 30 };
	d.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(d.fd, 0);
}

static void teardown(void)
{
	char command[96];

	close(d.fd);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	ck_assert_int_eq(system(command), 0);
}

static int entries(void)
{
	DIR *all = opendir(dir);
	struct dirent *e;
	int n = 0;

	ck_assert_ptr_nonnull(all);
	while ((e = readdir(all)))
		n += e->d_name[0] != '.';
	closedir(all);
	return n;
}

/* Of one byte each, stored one after the other. */
static void store(uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		char name[UNWIND_CACHE_NAME];

		snprintf(name, sizeof(name), "%032x", i);
		ck_assert_int_eq(unwind_cache_store(&d, name, "", 1), 0);
	}
}

static bool is_there(uint32_t i)
{
	char name[UNWIND_CACHE_NAME];

	snprintf(name, sizeof(name), "%032x", i);
	return !faccessat(d.fd, name, F_OK, 0);
}

/* Each takes a page of the disk. */
START_TEST(test_small_entries)
{
	d.max_bytes = 16 * 4096;
	store(0, 16);
	ck_assert_int_eq(entries(), 16);
	store(16, 17);
	ck_assert_int_eq(entries(), 12); /* a quarter went, and one came */
	d.is_counted = false;
	store(17, 100);
	ck_assert(is_there(99));
	ck_assert_int_le(entries(), 16);
}
END_TEST

/* And an inode. */
START_TEST(test_number_of_entries)
{
	const struct timespec used[2] = { { 1000, 0 }, { 1000, 0 } };
	char name[UNWIND_CACHE_NAME];

	store(0, 1 << 16);
	ck_assert_int_eq(entries(), 1 << 16);
	snprintf(name, sizeof(name), "%032x", 60000);
	ck_assert_int_eq(utimensat(d.fd, name, used, 0), 0);
	store(1 << 16, (1 << 16) + 1);
	ck_assert_int_eq(entries(), (3 << 14) + 1); /* as above */
	ck_assert(!is_there(60000) && is_there(1 << 16));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("small tables on disk");
	TCase *t = tcase_create("small");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, 300);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_small_entries);
	tcase_add_test(t, test_number_of_entries);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
