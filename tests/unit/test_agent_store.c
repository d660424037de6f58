/* SPDX-License-Identifier: BSD-2-Clause */
/* The agent's directory: where it is made, and which windows go when there are too many. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/agent/agent.h"

static char home[64];

static const char *below(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", home, name);
	return path;
}

static void make_home(void)
{
	snprintf(home, sizeof(home), "/tmp/test_agent_storeXXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(home));
}

static void remove_home(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -r %s", home);
	ck_assert_int_eq(system(command), 0);
}

/* ---- where */

START_TEST(made_where_no_link_leads)
{
	static const struct {
		const char *name;
		int err;
	} names[] = { { "a", 0 },
		      { "a", 0 },
		      { "b//", 0 },
		      { "a/c/", 0 },
		      { "link/d", -ELOOP },
		      { "link/d/", -ELOOP },
		      { "dangling", -ELOOP },
		      { "none/e", -ENOENT } };
	struct agent_store *s;

	ck_assert_int_eq(mkdir(below("theirs"), 0700), 0);
	ck_assert_int_eq(symlink("theirs", below("link")), 0);
	ck_assert_int_eq(symlink("theirs/f", below("dangling")), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ck_assert_int_eq(agent_store_open(below(names[i].name), 0, 0, &s), names[i].err);
		if (!names[i].err)
			agent_store_close(s);
	}
	ck_assert_int_eq(rmdir(below("theirs")), 0); /* nothing is in it */
	ck_assert_int_eq(chdir(home), 0);
	ck_assert_int_eq(agent_store_open("g", 0, 0, &s), 0);
	agent_store_close(s);
	ck_assert_int_eq(access(below("g"), F_OK), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("agent_store");
	TCase *tc = tcase_create("store");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, make_home, remove_home);
	tcase_add_test(tc, made_where_no_link_leads);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
