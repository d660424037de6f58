/* SPDX-License-Identifier: BSD-2-Clause */
/* The agent's directory: where it is made, and which windows go when there are too many. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
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

/* ---- which go */

static struct agent_store *store;
static uint64_t begin_ms; /* of the window at 0 s */

static void open_store(uint64_t keep_bytes, double keep_time)
{
	begin_ms = (rp_monotonic_ns() + rp_wall_offset_ns()) / 1000000;
	ck_assert_int_eq(agent_store_open(below("store"), keep_bytes, keep_time, &store), 0);
}

static int put(const char *kind, int64_t seconds, size_t size)
{
	static const char data[1 << 20];
	const struct agent_window w = { .start_ns =
						(begin_ms + (uint64_t)(seconds * 1000)) * 1000000,
					.duration_ns = NS_PER_SECOND,
					.size = size };

	return agent_store_put(store, kind, &w, data);
}

static bool there(const char *kind, int64_t seconds)
{
	char name[AGENT_FILE_NAME];

	agent_store_name(kind, (begin_ms + (uint64_t)(seconds * 1000)) * 1000000, name);
	return !faccessat(agent_store_dir(store), name, F_OK, 0);
}

/* Whoever makes windows large takes away only those. */
START_TEST(large_ones_go_first)
{
	open_store(2000000, 0);
	for (int i = 0; i < 20; i++) { /* those of another kind are as large as they like */
		ck_assert_int_eq(put("cpu", i, i % 2 ? 1000 : 7000), 0);
		ck_assert_int_eq(put("mem", i, 40000), 0);
	}
	for (int i = 20; i < 35; i++)
		ck_assert_int_eq(put("cpu", i, 1000000), 0);
	for (int i = 0; i < 20; i++)
		ck_assert(there("cpu", i) && there("mem", i));
	for (int i = 20; i < 34; i++)
		ck_assert(!there("cpu", i));
	ck_assert(there("cpu", 34)); /* the newest stays */
	ck_assert_uint_eq(agent_store_state(store).files, 41);
	ck_assert_uint_eq(agent_store_state(store).bytes, 1880000);
	ck_assert_uint_eq(agent_store_state(store).removed, 14);
	agent_store_close(store);
}
END_TEST

/* Nor by those of all kinds together. */
START_TEST(large_ones_of_all_kinds)
{
	open_store(4000000, 0);
	for (int i = 0; i < 80; i++)
		for (int k = 0; k < AGENT_KINDS; k++)
			ck_assert_int_eq(put(agent_kinds[k].name, i, i < 60 ? 4000 : 250000), 0);
	for (int i = 0; i < 60; i++)
		for (int k = 0; k < AGENT_KINDS; k++)
			ck_assert(there(agent_kinds[k].name, i));
	ck_assert_uint_gt(agent_store_state(store).bytes, 3000000);
	agent_store_close(store);
}
END_TEST

/* An hour in which much happened is what one looks for later. */
START_TEST(some_large_ones_stay)
{
	open_store(2000000, 0);
	for (int i = 0; i < 300; i++)
		ck_assert_int_eq(put("cpu", i, i >= 150 && i < 154 ? 100000 : 10000), 0);
	for (int i = 0; i < 300; i++)
		ck_assert_int_eq(there("cpu", i), i >= 300 - 4 - 160);
	agent_store_close(store);
}
END_TEST

/* Where all are of a size the oldest go. */
START_TEST(the_oldest_go)
{
	open_store(100000, 0);
	for (int i = 0; i < 30; i++)
		ck_assert_int_eq(put("cpu", i, 10000 + (size_t)(i % 3) * 5000), 0);
	for (int i = 0; i < 30; i++)
		ck_assert_int_eq(there("cpu", i), i >= 24);
	ck_assert_int_eq(put("cpu", 30, 200000), 0); /* more than all may have */
	ck_assert_uint_eq(agent_store_state(store).files, 1);
	agent_store_close(store);
}
END_TEST

/* What is old is so by our own clock. */
START_TEST(times_of_a_recorder)
{
	open_store(0, 3600);
	ck_assert_int_eq(put("cpu", -7200, 1), 0);
	ck_assert_int_eq(put("cpu", -1800, 1), 0);
	ck_assert(!there("cpu", -7200));
	ck_assert_int_eq(put("cpu", 7200, 1), 0); /* the clock was set */
	ck_assert_int_eq(put("cpu", 90000, 1), -ERANGE);
	ck_assert_int_eq(put("cpu", -90000, 1), -ERANGE);
	ck_assert_int_eq(put("cpu", INT32_MAX, 1), -ERANGE);
	ck_assert(there("cpu", -1800) && there("cpu", 7200));
	ck_assert_uint_eq(agent_store_state(store).files, 2);
	ck_assert_uint_eq(agent_store_state(store).failed, 3);
	agent_store_close(store);
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
	tcase_add_test(tc, large_ones_go_first);
	tcase_add_test(tc, large_ones_of_all_kinds);
	tcase_add_test(tc, some_large_ones_stay);
	tcase_add_test(tc, the_oldest_go);
	tcase_add_test(tc, times_of_a_recorder);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
