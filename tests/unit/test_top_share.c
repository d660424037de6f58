/* SPDX-License-Identifier: BSD-2-Clause */
/* What a user can take of a window of `rawprof top`: names and rows, and nothing of others'. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/top/sources.h"

#define NO_NAME "[names without room]"
#define NAMES 10000

enum { EVIL = 4000001, GOOD, ROOTS }; /* processes: there are no such numbers */

static struct record_whose whose;

/* Each is another user's; what is known of them is known for a second. */
static void know(void)
{
	record_whose_know(&whose, EVIL, 70001);
	record_whose_know(&whose, GOOD, 70002);
	record_whose_know(&whose, ROOTS, 0);
}

static struct top_window *window(void)
{
	struct top_window *w = top_window_new();

	w->whose = &whose;
	know();
	return w;
}

static void add_function(struct top_window *w, uint32_t pid, const char *name)
{
	const union top_value keys[4] = { { .number = pid },
					  { .text = top_name(w, pid, name) },
					  { .text = top_name(w, pid, "a.out") },
					  { .text = top_text(w, "native") } };
	struct top_row *row = top_row(w, TOP_FUNCTIONS, keys);

	ck_assert_ptr_nonnull(row);
	row->cell[4].number++;
}

/* Functions whose names have so many bytes. Returns how many have a name. */
static size_t add_functions(struct top_window *w, uint32_t pid, int bytes)
{
	char name[1025];
	size_t named = 0;

	for (int i = 0; i < NAMES; i++) {
		know();
		snprintf(name, sizeof(name), "%0*d_%u", bytes - 9, i, pid);
		add_function(w, pid, name);
		named += strcmp(top_name(w, pid, name), NO_NAME) != 0;
	}
	return named;
}

static uint64_t sum_of(const struct top_window *w, uint32_t pid, const char *name, size_t *rows)
{
	const struct top_row *row = w->rows[TOP_FUNCTIONS].items;
	uint64_t sum = 0;

	*rows = 0;
	for (uint32_t i = 0; i < w->rows[TOP_FUNCTIONS].count; i++)
		if (row[i].cell[0].number == pid && (!name || !strcmp(row[i].cell[1].text, name))) {
			sum += row[i].cell[4].number;
			++*rows;
		}
	return sum;
}

START_TEST(names_of_a_user_leave_room)
{
	struct top_window *w = window();
	size_t rows;

	ck_assert_uint_lt(add_functions(w, EVIL, 1000), 1600);
	add_function(w, GOOD, "good");
	add_function(w, ROOTS, "roots");
	ck_assert_uint_eq(sum_of(w, GOOD, "good", &rows), 1);
	ck_assert_uint_eq(sum_of(w, ROOTS, "roots", &rows), 1);
	ck_assert_uint_gt(add_functions(w, GOOD, 1000), 400);
	ck_assert_uint_gt(add_functions(w, ROOTS, 1000), 600);
	/* what has no name is counted all the same */
	ck_assert_uint_eq(sum_of(w, EVIL, NULL, &rows), NAMES);
	ck_assert_uint_gt(sum_of(w, EVIL, NO_NAME, &rows), 8000);
	/* a thread is called as it was, and texts of ours are what they are */
	ck_assert_str_eq(top_comm(w, "bash"), "bash");
	ck_assert_str_eq(top_text(w, "sda"), "sda");
	ck_assert_ptr_ne(top_text(w, "sda"), top_text(w, "sdb"));
	ck_assert_uint_le(w->text_bytes[TOP_NAME], 3 << 20);
	top_window_free(w);
}
END_TEST

/* Threads can change what they are called as often as they like. */
START_TEST(commands_leave_room)
{
	struct top_window *w = window();
	char comm[16];

	for (int i = 0; i < 300000; i++) {
		snprintf(comm, sizeof(comm), "%015d", i);
		ck_assert_ptr_nonnull(top_comm(w, comm));
	}
	ck_assert_str_eq(top_text(w, "sda"), "sda");
	ck_assert_str_eq(top_name(w, GOOD, "good"), "good");
	top_window_free(w);
}
END_TEST

START_TEST(rows_of_a_user_leave_room)
{
	struct top_window *w = window();
	size_t rows;

	add_functions(w, EVIL, 20);
	ck_assert_uint_eq(sum_of(w, EVIL, NULL, &rows), NAMES);
	ck_assert_uint_lt(rows, 4096);
	ck_assert_uint_eq(sum_of(w, EVIL, TOP_NO_ROOM, &rows), NAMES - 3584);
	ck_assert_uint_eq(rows, 1);
	add_functions(w, GOOD, 20);
	ck_assert_uint_eq(sum_of(w, GOOD, NULL, &rows), NAMES);
	ck_assert_uint_gt(rows, 1000);
	add_functions(w, ROOTS, 20);
	ck_assert_uint_eq(sum_of(w, ROOTS, NULL, &rows), NAMES);
	ck_assert_uint_gt(rows, 1500);
	ck_assert_uint_le(w->rows[TOP_FUNCTIONS].count, 8192);
	ck_assert_uint_eq(w->full[TOP_FUNCTIONS], 0);
	top_window_free(w);
}
END_TEST

/* Of many processes what has no room is one row; why threads wait is said of that too. */
START_TEST(rows_of_many_processes)
{
	struct top_window *w = window();
	const struct top_row *row;
	uint64_t sum[2] = { 0 }, rests = 0;

	for (uint32_t i = 0; i < 20000; i++) {
		const union top_value keys[4] = {
			{ .number = EVIL + 10 + i },
			{ .number = EVIL + 10 + i },
			{ .text = top_comm(w, "evil") },
			{ .text = top_text(w, i % 2 ? "futex" : "sleep") },
		};
		record_whose_know(&whose, EVIL + 10 + i, 70001);
		top_row(w, TOP_WAITS, keys)->cell[4].number++;
	}
	row = w->rows[TOP_WAITS].items;
	for (uint32_t i = 0; i < w->rows[TOP_WAITS].count; i++) {
		sum[!strcmp(row[i].cell[3].text, "futex")] += row[i].cell[4].number;
		rests += !strcmp(row[i].cell[2].text, TOP_NO_ROOM);
	}
	ck_assert_uint_eq(sum[0], 10000);
	ck_assert_uint_eq(sum[1], 10000);
	ck_assert_uint_eq(rests, 64 + 2);
	ck_assert_uint_lt(w->rows[TOP_WAITS].count, 4096);
	top_window_free(w);
}
END_TEST

/* What a slice knew apart can be one row of the window. */
START_TEST(rows_of_a_slice_are_added_up)
{
	static const struct top_source_kind kind = { .panel = TOP_LOCKS };
	struct top_window *w = window(), *kept = window();
	const struct top_source s = { .kind = &kind,
				      .slice = { .on = true, .kept = kept, .length_ns = 1000 } };
	char name[32];
	uint64_t sum = 0;

	add_functions(w, EVIL, 1000);
	for (int i = 0; i < 100; i++) {
		know();
		snprintf(name, sizeof(name), "lock%d", i);
		const union top_value keys[5] = { { .number = EVIL },
						  { .number = EVIL },
						  { .text = top_text(kept, "mutex") },
						  { .text = top_name(kept, EVIL, name) },
						  { .text = top_name(kept, EVIL, "f") } };
		top_row(kept, TOP_LOCKS, keys)->cell[5].number = 3;
	}
	add_functions(kept, EVIL, 1000);
	w->ns = 1000;
	know();
	ck_assert_int_eq(top_slice_add(&s, w), 0);
	for (uint32_t i = 0; i < w->rows[TOP_LOCKS].count; i++)
		sum += ((struct top_row *)w->rows[TOP_LOCKS].items)[i].cell[5].number;
	ck_assert_uint_eq(sum, 300);
	/* what stands for others stands for them there too */
	ck_assert_ptr_eq(top_name(w, EVIL, top_name(kept, EVIL, "lost")),
			 top_name(w, EVIL, "lost"));
	ck_assert_uint_lt(w->rows[TOP_LOCKS].count, 100);
	top_window_free(kept);
	top_window_free(w);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("top_share");
	TCase *tc = tcase_create("top_share");
	SRunner *runner;
	int failed;

	rp_log_setup(RP_ERROR, NULL, NULL);
	tcase_add_test(tc, names_of_a_user_leave_room);
	tcase_add_test(tc, commands_leave_room);
	tcase_add_test(tc, rows_of_a_user_leave_room);
	tcase_add_test(tc, rows_of_many_processes);
	tcase_add_test(tc, rows_of_a_slice_are_added_up);
	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 60);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	record_whose_free(&whose);
	return failed != 0;
}
