/* SPDX-License-Identifier: BSD-2-Clause */
/* A file that is there whole or not at all, also where a file cannot be without a name. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "cli/output_file.h"

/* As file systems that know nothing of O_TMPFILE, such as NFS. */
static bool old_file_system, no_names;

int openat(int dir, const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (old_file_system && (flags & __O_TMPFILE)) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (no_names && (flags & O_CREAT)) {
		errno = EDQUOT;
		return -1;
	}
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

static char dir[64], path[96];
static char said[300];

static void keep(void *ctx, enum rp_level level, const char *message)
{
	(void)ctx;
	(void)level;
	snprintf(said, sizeof(said), "%s", message);
}

static void begin(void)
{
	old_file_system = no_names = false;
	snprintf(dir, sizeof(dir), "/tmp/test_output_file.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/result", dir);
	rp_log_setup(RP_ERROR, keep, NULL);
}

static int drop(const char *name, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(name);
}

static void end(void)
{
	nftw(dir, drop, 4, FTW_DEPTH | FTW_PHYS);
	rp_log_setup(RP_WARN, NULL, NULL);
}

static int names;

static int count(const char *name, const struct stat *st, int type)
{
	(void)name;
	(void)st;
	names += type == FTW_F;
	return 0;
}

/* How many files the directory has. */
static int files(void)
{
	names = 0;
	ftw(dir, count, 4);
	return names;
}

static void write_text(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static void assert_text(const char *expected)
{
	char text[32] = "";
	FILE *f = fopen(path, "r");

	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(text, sizeof(text), f));
	fclose(f);
	ck_assert_str_eq(text, expected);
}

static void write_result(const char *text, bool commit)
{
	struct output_file f;

	ck_assert_int_eq(output_file_open(path, &f), 0);
	ck_assert_int_ge(f.dir, 0);
	ck_assert_int_eq(*f.temporary != 0, old_file_system);
	ck_assert_int_eq(write(f.fd, text, strlen(text)), (ssize_t)strlen(text));
	if (commit)
		ck_assert_int_eq(output_commit(&f), 0);
	close(f.fd);
	output_file_close(&f);
	output_file_close(&f); /* the second time it is nothing */
}

START_TEST(a_file_is_replaced_when_it_is_whole)
{
	struct stat st;

	old_file_system = _i;
	write_result("lost", false);
	ck_assert_int_eq(files(), 0);
	write_result("first", true);
	assert_text("first");
	write_result("lost", false);
	assert_text("first");
	write_result("second", true);
	assert_text("second");
	ck_assert_int_eq(files(), 1);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
}
END_TEST

START_TEST(what_took_the_name_meanwhile_is_replaced)
{
	struct output_file f;

	old_file_system = _i;
	ck_assert_int_eq(output_file_open(path, &f), 0);
	ck_assert_int_eq(symlink("/etc/passwd", path), 0); /* no link is written through */
	ck_assert_int_eq(write(f.fd, "here", 4), 4);
	ck_assert_int_eq(output_commit(&f), 0);
	close(f.fd);
	output_file_close(&f);
	assert_text("here");
	ck_assert_int_eq(files(), 1);
}
END_TEST

START_TEST(a_name_that_cannot_be_had_leaves_nothing)
{
	struct output_file f;

	old_file_system = _i;
	ck_assert_int_eq(output_file_open(path, &f), 0);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(output_commit(&f), -EISDIR);
	close(f.fd);
	output_file_close(&f);
	ck_assert_int_eq(files(), 0);
}
END_TEST

START_TEST(failures_are_told_with_their_reason)
{
	struct output_file f = { .fd = 77, .dir = 78 };

	old_file_system = no_names = true;
	ck_assert_int_eq(output_file_open(path, &f), -EDQUOT);
	ck_assert_ptr_nonnull(strstr(said, strerror(EDQUOT)));
	ck_assert_int_eq(output_file_open("/dev/null/x", &f), -ENOTDIR);
	ck_assert_int_eq(output_file_open("/", &f), -EISDIR);
	ck_assert_int_eq(output_file_open("..", &f), -EISDIR);
	ck_assert_int_eq(f.fd, 77); /* untouched */
	ck_assert_int_eq(f.dir, 78);
}
END_TEST

START_TEST(links_are_followed_by_hand)
{
	char link[128], target[128], text[96];
	struct output_file f;

	snprintf(link, sizeof(link), "%s/down", dir);
	snprintf(target, sizeof(target), "%s/a/..//a/link", dir);
	snprintf(text, sizeof(text), "%s/a", dir);
	ck_assert_int_eq(mkdir(text, 0700), 0);
	snprintf(text, sizeof(text), "..//result");
	ck_assert_int_eq(symlink(text, target), 0);
	ck_assert_int_eq(symlink("a/./link", link), 0);
	ck_assert_int_eq(output_file_open(link, &f), 0);
	ck_assert_str_eq(f.name, "result");
	ck_assert_int_eq(write(f.fd, "x", 1), 1);
	ck_assert_int_eq(output_commit(&f), 0);
	close(f.fd);
	output_file_close(&f);
	assert_text("x");
}
END_TEST

/* Its owner may have put it there to read what root writes, or to let it wait for a reader. */
START_TEST(pipes_of_other_users_are_not_written)
{
	struct output_file f;
	int reader;

	if (geteuid())
		return;
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ck_assert_int_eq(output_file_open(path, &f), 0);
	close(f.fd);
	ck_assert_int_eq(chown(path, 12345, 12345), 0);
	ck_assert_int_eq(output_file_open(path, &f), -EACCES);
	close(reader);
}
END_TEST

START_TEST(what_is_no_file_is_written_in_place)
{
	static const char *const places[] = { "/dev/null", "/dev/fd/1", "/proc/self/fd/1" };
	struct output_file f;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		ck_assert_int_eq(output_file_open(places[i], &f), 0);
		ck_assert_int_eq(f.dir, -1);
		ck_assert_int_eq(output_commit(&f), 0);
		close(f.fd);
		output_file_close(&f);
	}
}
END_TEST

START_TEST(another_users_link_is_not_followed)
{
	char link[128];
	struct output_file f;

	if (geteuid())
		return; /* it takes root to make one */
	write_text(path, "theirs");
	snprintf(link, sizeof(link), "%s/link", dir);
	ck_assert_int_eq(symlink(path, link), 0);
	ck_assert_int_eq(lchown(link, 65534, 65534), 0);
	ck_assert_int_eq(output_file_open(link, &f), -EPERM);
	ck_assert_ptr_nonnull(strstr(said, "'link' in it is a symbolic link of another user"));
	assert_text("theirs");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("output files");
	TCase *t = tcase_create("output files");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, begin, end);
	tcase_add_loop_test(t, a_file_is_replaced_when_it_is_whole, 0, 2);
	tcase_add_loop_test(t, what_took_the_name_meanwhile_is_replaced, 0, 2);
	tcase_add_loop_test(t, a_name_that_cannot_be_had_leaves_nothing, 0, 2);
	tcase_add_test(t, failures_are_told_with_their_reason);
	tcase_add_test(t, links_are_followed_by_hand);
	tcase_add_test(t, pipes_of_other_users_are_not_written);
	tcase_add_test(t, what_is_no_file_is_written_in_place);
	tcase_add_test(t, another_users_link_is_not_followed);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
