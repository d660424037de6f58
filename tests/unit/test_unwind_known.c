/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file whose table was asked for before is not read again. That shows by a descriptor that only
 * names it (O_PATH): from what such a file holds nothing can be read.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <rawprof/unwind.h>

#include "unwind/cache.h"

static char base[64], file[96], dir[96];
static struct unwind_cache *cache;

/* Rests, so that its times say that it did not change since. */
static void rest(void)
{
	const time_t changed = time(NULL);

	while (time(NULL) <= changed + 2)
		usleep(10000);
}

static void copy_to_file(void)
{
	char command[256];

	snprintf(command, sizeof(command), "cp /proc/%d/exe %s && chmod 755 %s", (int)getpid(),
		 file, file);
	ck_assert_int_eq(system(command), 0);
}

static void setup(void)
{
	strcpy(base, "/tmp/rawprof-known-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(base));
	snprintf(file, sizeof(file), "%s/file", base);
	snprintf(dir, sizeof(dir), "%s/cache", base);
	copy_to_file();
	ck_assert_int_eq(unwind_cache_open(&cache, dir, 0), 0);
}

static void teardown(void)
{
	char command[96];

	unwind_cache_close(cache);
	snprintf(command, sizeof(command), "rm -rf '%s'", base);
	ck_assert_int_eq(system(command), 0);
}

/* Number of gaps of the table that was asked for, which is freed, or @err. */
static int gaps_of(struct unwind_table *t, int err)
{
	int n = err ? err : (int)t->ngaps;

	if (!err)
		unwind_table_free(t);
	return n;
}

static int ask(int flags, bool is_computed)
{
	int fd = open(file, flags | O_CLOEXEC), err;
	struct unwind_table *t;

	ck_assert_int_ge(fd, 0);
	err = unwind_cache_table(cache, &t, fd, is_computed, NULL);
	close(fd);
	return gaps_of(t, err);
}

static int ask_first(bool *has_more)
{
	int fd = open(file, O_PATH | O_CLOEXEC), err;
	struct unwind_table *t;

	err = unwind_cache_first(cache, &t, fd, has_more);
	close(fd);
	return gaps_of(t, err);
}

/* Rested, and asked for once. */
static void make_known(bool is_computed)
{
	rest();
	ck_assert_int_ge(ask(O_RDONLY, is_computed), 0);
}

START_TEST(test_not_read_again)
{
	bool has_more = true;
	int gaps;

	make_known(false);
	ck_assert_int_eq(ask(O_PATH, false), 0);
	ck_assert_int_eq(ask_first(&has_more), 0);
	ck_assert(!has_more);
	ck_assert_int_eq(ask(O_PATH, true), -ENOEXEC); /* that has to be computed */
	gaps = ask(O_RDONLY, true);
	ck_assert_int_gt(gaps, 0);
	ck_assert_int_eq(ask(O_PATH, true), gaps);
	ck_assert_int_eq(ask(O_PATH, false), gaps);
	ck_assert_int_eq(ask_first(&has_more), gaps);
	ck_assert(!has_more);
}
END_TEST

START_TEST(test_known_to_the_next)
{
	make_known(true);
	unwind_cache_close(cache);
	ck_assert_int_eq(unwind_cache_open(&cache, dir, 0), 0);
	ck_assert_int_gt(ask(O_PATH, true), 0);
}
END_TEST

/* It may still change without a new time. */
START_TEST(test_fresh)
{
	struct stat st;

	do {
		copy_to_file();
		ck_assert_int_eq(stat(file, &st), 0);
		ck_assert_int_gt(ask(O_RDONLY, true), 0);
	} while (time(NULL) > st.st_ctim.tv_sec + 1); /* a busy machine: it had rested by then */
	ck_assert_int_eq(ask(O_PATH, true), -ENOEXEC);
}
END_TEST

/* The same size, and the time of the last change as it was: st_ctime tells. */
START_TEST(test_changed)
{
	struct timespec times[2];
	struct stat st;
	int fd;

	make_known(true);
	ck_assert_int_eq(stat(file, &st), 0);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	fd = open(file, O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, "\x7f", 1, 0), 1);
	ck_assert_int_eq(futimens(fd, times), 0);
	close(fd);
	rest();
	ck_assert_int_eq(ask(O_PATH, true), -ENOEXEC);
}
END_TEST

/* Files that others may write to, and those of others, are read each time. */
START_TEST(test_of_others)
{
	for (int i = 0; i < 3; i++) {
		if (i == 2 && geteuid())
			break;
		if (i == 2) {
			ck_assert_int_eq(chmod(file, 0755), 0);
			ck_assert_int_eq(chown(file, 12345, 12345), 0);
		} else {
			ck_assert_int_eq(chmod(file, (mode_t[]){ 0775, 0757 }[i]), 0);
		}
		make_known(true);
		ck_assert_int_eq(ask(O_PATH, true), -ENOEXEC);
	}
}
END_TEST

/* Who made the file system says what its times are. */
START_TEST(test_other_file_system)
{
	char command[256];

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return; /* not root */
	snprintf(command, sizeof(command), "%s/other", base);
	ck_assert_int_eq(mkdir(command, 0700), 0);
	ck_assert_int_eq(mount("none", command, "tmpfs", 0, "size=64m"), 0);
	snprintf(file, sizeof(file), "%s/other/file", base);
	copy_to_file();
	make_known(true);
	ck_assert_int_eq(ask(O_PATH, true), -ENOEXEC);
	ck_assert_int_eq(umount2(command, MNT_DETACH), 0);
}
END_TEST

/* What a debug file says, or what is missing as there is none, is not known by the file. */
START_TEST(test_debug_file)
{
	static const char make[] =
		"cd %s && echo 'int f(void) { return 1; } int g(void) { return f() + 1; }' >a.c && "
		"gcc -g -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -shared -nostdlib "
		"-fPIC -o file a.c && objcopy --only-keep-debug file file.debug && strip file && "
		"objcopy --add-gnu-debuglink=file.debug file && mv file.debug away";
	char command[512];
	struct unwind_table *t;
	int fd;

	snprintf(command, sizeof(command), make, base);
	ck_assert_int_eq(system(command), 0);
	make_known(true);
	ck_assert_int_eq(ask(O_PATH, true), -ENOEXEC);
	snprintf(command, sizeof(command), "cd %s && mv away file.debug", base);
	ck_assert_int_eq(system(command), 0);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(unwind_cache_table(cache, &t, fd, true, NULL), 0);
	ck_assert_uint_ge(t->nfdes, 2); /* f and g */
	unwind_table_free(t);
	close(fd);
	ck_assert_int_eq(ask(O_PATH, true), -ENOEXEC);
}
END_TEST

#ifdef __x86_64__
extern const char __ehdr_start[], _init[];

/* What was computed of another file with the same .eh_frame takes the place of the table. */
START_TEST(test_table_of_other_code)
{
	static const char nop = '\x90';
	char was[96];
	int fd;

	make_known(true);
	strcpy(was, file);
	snprintf(file, sizeof(file), "%s/other", base);
	copy_to_file();
	fd = open(file, O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, &nop, 1, _init - __ehdr_start + 4), 1);
	close(fd);
	ck_assert_int_gt(ask(O_RDONLY, true), 0);
	strcpy(file, was);
	ck_assert_int_eq(ask(O_PATH, true), -ENOEXEC);
	ck_assert_int_gt(ask(O_RDONLY, true), 0);
	ck_assert_int_gt(ask(O_PATH, true), 0);
}
END_TEST
#endif

/* Without the table, and spoilt: as if nothing were known. */
START_TEST(test_spoilt)
{
	char command[256];

	make_known(true);
	snprintf(command, sizeof(command), "find %s -type f -size +200c ! -name secret -delete",
		 dir);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(ask(O_PATH, true), -ENOEXEC);
	ck_assert_int_gt(ask(O_RDONLY, true), 0);
	ck_assert_int_gt(ask(O_PATH, true), 0);
	for (int i = 0; i < 2; i++) {
		snprintf(command, sizeof(command),
			 "find %s -type f -size -200c -exec truncate -s %s {} +", dir,
			 i ? "+1" : "-1");
		ck_assert_int_eq(system(command), 0);
		ck_assert_int_eq(ask(O_PATH, true), -ENOEXEC);
		ck_assert_int_gt(ask(O_RDONLY, true), 0);
		ck_assert_int_gt(ask(O_PATH, true), 0);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("files that are known");
	TCase *t = tcase_create("known");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_not_read_again);
	tcase_add_test(t, test_known_to_the_next);
	tcase_add_test(t, test_fresh);
	tcase_add_test(t, test_changed);
	tcase_add_test(t, test_of_others);
	tcase_add_test(t, test_other_file_system);
	tcase_add_test(t, test_debug_file);
#ifdef __x86_64__
	tcase_add_test(t, test_table_of_other_code);
#endif
	tcase_add_test(t, test_spoilt);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
