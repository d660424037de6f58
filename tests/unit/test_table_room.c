/* SPDX-License-Identifier: BSD-2-Clause */
/* Stretches of an array, taken and given back: beside a note of each element. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "record/table_room.h"

enum { SIZE = 1000, TURNS = 20000, MOST = 40, LARGEST = 90, LONG = SIZE / 16 };

struct stretch {
	uint32_t first, count;
};

/* The place that a search of all of them finds first; SIZE: none. */
static uint32_t first_fit(const char *taken, uint32_t count)
{
	uint32_t run = 0;

	for (uint32_t i = 0; i < SIZE; i++) {
		run = taken[i] ? 0 : run + 1;
		if (run == count)
			return i + 1 - count;
	}
	return SIZE;
}

/* And the place that it finds last. */
static uint32_t last_fit(const char *taken, uint32_t count)
{
	uint32_t run = 0;

	for (uint32_t i = SIZE; i--;) {
		run = taken[i] ? 0 : run + 1;
		if (run == count)
			return i;
	}
	return SIZE;
}

START_TEST(beside_a_note_of_each)
{
	struct stretch have[MOST];
	struct table_room r = { 0 };
	char taken[SIZE] = { 0 };
	uint32_t n = 0, refused = 0;

	srand(1);
	ck_assert_int_eq(record_table_room_open(&r, SIZE), 0);
	for (int turn = 0; turn < TURNS; turn++) {
		const uint32_t count = 1 + (uint32_t)rand() % LARGEST;
		uint32_t first = SIZE;

		if (n < MOST && rand() % 2) {
			const bool took = record_table_room_take(&r, count, &first);

			ck_assert_uint_eq(first, count > LONG ? last_fit(taken, count)
							      : first_fit(taken, count));
			ck_assert_int_eq(took, first < SIZE);
			refused += !took;
			if (!took)
				continue;
			memset(taken + first, 1, count);
			have[n++] = (struct stretch){ first, count };
		} else if (n) {
			const uint32_t i = (uint32_t)rand() % n;

			record_table_room_give(&r, have[i].first, have[i].count);
			memset(taken + have[i].first, 0, have[i].count);
			have[i] = have[--n];
		}
	}
	ck_assert_uint_gt(refused, 0);
	while (n--)
		record_table_room_give(&r, have[n].first, have[n].count);
	ck_assert_uint_eq(r.n, 1); /* one hole, as in the beginning */
	ck_assert_uint_eq(r.holes[0].count, SIZE);
	record_table_room_free(&r);
}
END_TEST

/* Each time something long is there, something short comes that stays. */
START_TEST(short_ones_leave_room)
{
	struct table_room r = { 0 };
	uint32_t first, small;

	ck_assert_int_eq(record_table_room_open(&r, SIZE), 0);
	for (uint32_t i = 0; i < 10; i++) {
		const uint32_t count = 500 + 30 * i;

		ck_assert(record_table_room_take(&r, count, &first));
		ck_assert_uint_eq(first, SIZE - count);
		ck_assert(record_table_room_take(&r, 20, &small));
		ck_assert_uint_eq(small, 20 * i);
		record_table_room_give(&r, first, count);
	}
	record_table_room_free(&r);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("table_room");
	TCase *t = tcase_create("unit");
	SRunner *runner;
	int failed;

	tcase_add_test(t, beside_a_note_of_each);
	tcase_add_test(t, short_ones_leave_room);
	suite_add_tcase(suite, t);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed;
}
