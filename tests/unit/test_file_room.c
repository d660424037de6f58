/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that processes map without end: a user's share of what is remembered of them. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "record/file_room.h"
#include "symbolize/file.h"
#include "symbolize/history.h"

enum {
	GONE = UINT32_MAX - 5, /* of no user that is known, so not of root's */
	FREE = 4 << 20,	       /* for which nobody pays */
	SHARE = 32 << 20,      /* half of 64 MB */
	MANY = 100000,
	NAME = 240,
};

static struct record_whose whose;
static struct record_room room;
static struct sym_strings strings;
static struct sym_history history;
static struct sym_files fs;

static void setup(void)
{
	record_file_room_init(&room, &whose);
	sym_files_init(&fs, &strings, "/proc");
	sym_history_init(&history, &strings);
	fs.room = record_file_room(&room);
}

static void teardown(void)
{
	sym_files_free(&fs);
	sym_history_free(&history);
	sym_strings_free(&strings);
	record_share_free(&room.share);
}

static const char *map(uint32_t pid, uint32_t number)
{
	char path[NAME + 1];
	const struct sym_file key = { .path = path, .dev = 1, .inode = number + 1 };
	uint32_t file;

	snprintf(path, sizeof(path), "/memfd:%0*u", NAME - 7, number);
	ck_assert_int_eq(sym_files_add(&fs, pid, &key, &file), 0);
	ck_assert_uint_lt(file, fs.count);
	return fs.items[file].path;
}

static void map_many(uint32_t pid, uint32_t first)
{
	for (uint32_t i = 0; i < MANY; i++)
		map(pid, first + i);
}

/* What takes a share at least is the name, and what is kept of a file. */
#define LEAST (NAME + sizeof(struct sym_file))

START_TEST(a_share_is_all_there_is)
{
	char kept[NAME + 1];

	map_many(GONE, 0);
	ck_assert_uint_gt(fs.count, (FREE + SHARE) / (2 * LEAST));
	ck_assert_uint_lt(fs.count, (FREE + SHARE) / LEAST);
	ck_assert_str_eq(map(GONE, MANY), "[anon]");
	ck_assert_uint_eq(strings.count, fs.count); /* names of what has no room are not kept */
	snprintf(kept, sizeof(kept), "/memfd:%0*u", NAME - 7, 17);
	ck_assert_str_eq(map(GONE, 17), kept); /* one that is known needs no more room */
}
END_TEST

START_TEST(others_have_theirs)
{
	map_many(GONE, 0);
	ck_assert_str_eq(map(GONE, MANY), "[anon]");
	ck_assert_int_eq(strncmp(map((uint32_t)getpid(), MANY), "/memfd:", 7), 0);
}
END_TEST

START_TEST(what_is_forgotten_is_given_back)
{
	uint32_t had;

	map_many(GONE, 0);
	had = fs.count;
	ck_assert_str_eq(map(GONE, MANY), "[anon]");
	ck_assert_int_eq(sym_files_forget(&fs, &history), 0);
	ck_assert_uint_eq(fs.count, 0);
	ck_assert_uint_eq(room.share.all, 0);
	map_many(GONE, MANY);
	ck_assert_uint_gt(fs.count, had / 4 * 3); /* but for those that were free */
	ck_assert_uint_lt(fs.count, had);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("file room");
	TCase *tc = tcase_create("file room");
	SRunner *r = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_share_is_all_there_is);
	tcase_add_test(tc, others_have_theirs);
	tcase_add_test(tc, what_is_forgotten_is_given_back);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
