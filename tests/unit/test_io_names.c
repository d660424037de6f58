/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of control groups: those that a walk of the C library finds, and deep ones. */
#include <check.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/budget.h"
#include "cli/io/io.h"

#define DEEP 40 /* more than are open at a time */

static struct io_names names;
static char root[PATH_MAX] = "", text[IO_TEXT];
static int found, misnamed;

static void set_up(void)
{
	FILE *mounts = popen("awk '$3 == \"cgroup2\" { print $2; exit }' /proc/self/mounts", "r");

	if (fgets(root, sizeof(root), mounts))
		root[strcspn(root, "\n")] = '\0';
	pclose(mounts);
	names = (struct io_names){ 0 };
}

static int compare(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *below = path + strlen(root);
	(void)ftw;
	if (type != FTW_D)
		return 0;
	found++;
	misnamed += strcmp(io_cgroup_path(&names, st->st_ino, text), *below ? below : "/") != 0;
	return 0;
}

START_TEST(all_groups_have_names)
{
	if (!*root) {
		printf("skip: no control groups of version 2\n");
		return;
	}
	nftw(root, compare, 16, FTW_PHYS | FTW_MOUNT);
	ck_assert_int_ge(found, 1);
	ck_assert_int_le(misnamed, found / 10 + 2); /* some are made, and go, meanwhile */
	ck_assert_str_eq(io_cgroup_path(&names, 1ull << 60, text), "cgroup-1152921504606846976");
	io_names_free(&names);
}
END_TEST

START_TEST(deep_groups_have_names)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/rawprof-deep-%d", root, getpid()), first = n;
	struct stat st;
	int depth = 0;

	while (*root && depth < DEEP && !mkdir(path, 0755)) {
		n += snprintf(path + n, sizeof(path) - (size_t)n, "/..d");
		depth++;
	}
	if (depth)
		path[n -= 4] = '\0';
	if (depth)
		ck_assert_int_eq(stat(path, &st), 0);
	if (depth)
		ck_assert_str_eq(io_cgroup_path(&names, st.st_ino, text), path + strlen(root));
	else
		printf("skip: no group can be made\n");
	for (; depth && n >= first && !rmdir(path); n -= 4)
		path[n - 4] = '\0';
	io_names_free(&names);
}
END_TEST

/* In place of the groups: directories in memory. False, with a word: it may not. */
static bool make_groups(int users, int of_each)
{
	const char *place = *root ? root : "/sys/fs/cgroup";
	char name[32];

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("groups", place, "tmpfs", 0, "mode=755,nr_inodes=0") || chdir(place)) {
		printf("skip: no file system can be mounted\n");
		return false;
	}
	for (int user = 0; user < users; user++) {
		snprintf(name, sizeof(name), "user%d", user);
		ck_assert(!mkdir(name, 0755) && !chown(name, 1000, 1000) && !chdir(name));
		for (int i = 0; i < of_each; i++) {
			snprintf(name, sizeof(name), "g%d", i);
			ck_assert_int_eq(mkdir(name, 0755), 0);
		}
		ck_assert_int_eq(chdir(".."), 0);
	}
	/* Of root, and looked into after all of those. */
	ck_assert(!mkdir("z", 0755) && !mkdir("z/service", 0755) && !mkdir("z/service/own", 0755));
	return true;
}

START_TEST(many_groups)
{
	struct stat st;

	if (!make_groups(3, 10000))
		return;
	ck_assert_int_eq(stat("z/service/own", &st), 0);
	ck_assert_str_eq(io_cgroup_path(&names, st.st_ino, text), "/z/service/own");
	ck_assert_uint_ge(names.ngroups, 8192);
	ck_assert_uint_le(names.ngroups, 8192 + 8);
	ck_assert(names.groups_full);
	for (size_t i = 0; i < names.ngroups; i++)
		ck_assert_str_eq(io_cgroup_path(&names, names.groups[i].id, text),
				 names.groups[i].path);
	io_names_free(&names);
}
END_TEST

static bool at_once(void *ctx)
{
	(void)ctx;
	return true;
}

START_TEST(a_signal_ends_the_walk)
{
	if (!make_groups(1, 8000))
		return;
	rp_work_watch(at_once, NULL);
	io_cgroup_path(&names, 1, text);
	ck_assert_uint_le(names.ngroups, 4000);
	rp_work_watch(NULL, NULL);
	io_names_free(&names);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("io_names");
	TCase *t = tcase_create("io_names");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, set_up, NULL);
	tcase_add_test(t, all_groups_have_names);
	tcase_add_test(t, deep_groups_have_names);
	tcase_add_test(t, many_groups);
	tcase_add_test(t, a_signal_ends_the_walk);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
