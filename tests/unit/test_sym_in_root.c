/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths below the root of a process: no link, and no "..", leads out of it, and none for ever. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolize/proc.h"

#include "fuse_mount.h"

static char dir[] = "/tmp/rawprof-in-root-XXXXXX";

static void put(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	ck_assert(!mkdir("7", 0700) && !mkdir("7/root", 0700) && !mkdir("7/root/a", 0700));
	ck_assert(!mkdir("7/root/a/b", 0700) && !mkdir("7/root/etc", 0700));
	put("outside", "outside");
	put("7/root/outside", "top");
	put("7/root/etc/passwd", "inside");
	put("7/root/a/b/file", "file");
}

static void clean_up(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

/* What is in the file, or the reason why there is none. */
static void ck_leads(bool follow, const char *path, const char *text, int err)
{
	int fd = follow ? sym_proc_follow_in_root(dir, 7, path)
			: sym_proc_open_in_root(dir, 7, path);
	char buf[32] = "";

	if (err)
		ck_assert_msg(fd == err, "%s: %d", path, fd);
	if (err)
		return;
	ck_assert_msg(fd >= 0, "%s: %d", path, fd);
	ck_assert_int_ge(read(fd, buf, sizeof(buf) - 1), 0);
	ck_assert_str_eq(buf, text);
	close(fd);
}

START_TEST(paths_are_below_the_root)
{
	ck_leads(false, "/a/b/file", "file", 0);
	ck_leads(false, "//a/./b//file", "file", 0);
	ck_leads(false, "/etc/passwd", "inside", 0);
	ck_leads(false, "/../../outside", "top", 0);
	ck_leads(false, "/a/../../outside", "top", 0);
	ck_leads(false, "/a/b/../../a/b/file", "file", 0);
	ck_leads(false, "/a/none/file", NULL, -ENOENT);
	ck_leads(false, "/a/b/file/more", NULL, -ENOTDIR);
	ck_leads(false, "/a/b", NULL, -EPERM); /* no plain file */
	ck_leads(false, "/", NULL, -EPERM);
}
END_TEST

START_TEST(links_stay_below_the_root)
{
	ck_assert_int_eq(symlink("/etc", "7/root/absolute"), 0);
	ck_assert_int_eq(symlink("../../../../outside", "7/root/a/up"), 0);
	ck_assert_int_eq(symlink("b/../../a/b", "7/root/a/relative"), 0);
	ck_assert_int_eq(symlink("/proc/self/root/etc", "7/root/magic"), 0);
	ck_leads(false, "/absolute/passwd", "inside", 0);
	ck_leads(false, "/a/relative/file", "file", 0);
	ck_leads(false, "/magic/passwd", NULL, -ENOENT);
	ck_leads(false, "/a/up", NULL, -EPERM); /* the last name is no link */
	ck_leads(true, "/a/up", "top", 0);
	ck_leads(true, "/a/relative/../up", "top", 0);
}
END_TEST

START_TEST(no_way_is_endless)
{
	static char path[PATH_MAX + 8];

	ck_assert_int_eq(symlink("circle", "7/root/circle"), 0);
	ck_assert_int_eq(symlink("grows/a/b", "7/root/grows"), 0);
	ck_assert_int_eq(symlink("a/../twice/../twice", "7/root/twice"), 0);
	ck_leads(true, "/circle", NULL, -ELOOP);
	ck_leads(false, "/circle/file", NULL, -ELOOP);
	ck_leads(false, "/grows/file", NULL, -ELOOP);
	ck_leads(false, "/twice/file", NULL, -ELOOP);
	for (size_t i = 0; i < PATH_MAX - 4; i += 2)
		memcpy(path + i, "/.", 2);
	ck_leads(false, path, NULL, -ELOOP);
	memset(path, 'x', sizeof(path) - 1);
	ck_leads(false, path, NULL, -ENAMETOOLONG);
	path[0] = '/';
	path[NAME_MAX + 2] = '\0';
	ck_leads(false, path, NULL, -ENAMETOOLONG);
}
END_TEST

START_TEST(nothing_stays_open)
{
	int before = dup(0), after;

	close(before);
	ck_assert_int_eq(symlink("../a/../a/b", "7/root/a/link"), 0);
	ck_leads(true, "/a/link/file", "file", 0);
	ck_leads(true, "/a/link/../none", NULL, -ENOENT);
	ck_leads(false, "/a/link", NULL, -EPERM);
	after = dup(0);
	close(after);
	ck_assert_int_eq(after, before);
}
END_TEST

START_TEST(nobody_is_asked_who_may_not_answer)
{
	int fd;

	ck_assert_int_eq(mkdir("7/root/a/served", 0755), 0);
	fd = serve_nothing("7/root/a/served");
	if (fd < 0) {
		printf("skip: no FUSE here\n");
		return;
	}
	ck_leads(false, "/a/served/file", NULL, -EACCES);
	ck_leads(true, "/a/served/file", NULL, -EACCES);
	ck_leads(true, "/a/b/../served/x/file", NULL, -EACCES);
	ck_leads(false, "/a/b/file", "file", 0);
	ck_assert_int_eq(umount2("7/root/a/served", MNT_DETACH), 0);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sym_in_root");
	TCase *t = tcase_create("sym_in_root");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, set_up, clean_up);
	tcase_add_test(t, paths_are_below_the_root);
	tcase_add_test(t, links_stay_below_the_root);
	tcase_add_test(t, no_way_is_endless);
	tcase_add_test(t, nothing_stays_open);
	tcase_add_test(t, nobody_is_asked_who_may_not_answer);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
