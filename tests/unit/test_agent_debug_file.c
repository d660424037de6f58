/* SPDX-License-Identifier: BSD-2-Clause */
/* The path of a file that a server asks for is that of an attacker's mapping. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/agent/push.h"

#include "fuse_mount.h"

#define BUILD_ID "00112233445566778899"

static char dir[] = "/tmp/test_debug_fileXXXXXX";

static int asked(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return push_debug_file(path, BUILD_ID);
}

START_TEST(nobody_is_asked_who_may_not_answer)
{
	const int fd = serve_nothing("served");

	if (fd < 0) {
		printf("skip: no FUSE here\n");
		return;
	}
	/* Whoever asks waits until the test has no time left. */
	ck_assert_int_eq(asked("served/program"), -EACCES);
	ck_assert_int_eq(asked("link"), -EACCES);
	ck_assert_int_eq(asked("none"), -ENOENT);
	ck_assert_int_eq(umount2("served", MNT_DETACH), 0);
	close(fd);
}
END_TEST

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	ck_assert(!mkdir("served", 0755) && !symlink("served/program", "link"));
}

static void clean_up(void)
{
	unlink("fuse");
	unlink("link");
	rmdir("served");
	ck_assert_int_eq(rmdir(dir), 0);
}

int main(void)
{
	Suite *s = suite_create("agent_debug_file");
	TCase *t = tcase_create("agent_debug_file");
	SRunner *r;
	int failed;

	tcase_add_unchecked_fixture(t, set_up, clean_up);
	tcase_add_test(t, nobody_is_asked_who_may_not_answer);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
