/* SPDX-License-Identifier: BSD-2-Clause */
/* Deep stacks, which come in two pieces, each followed by others' or not at all. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/unwind.h>

#include "record/stack_deep.h"

enum { KERNEL = 2, OUTER = 3, MOST = 2000 };

static struct record_deep *deep;
static union {
	struct stack_record record;
	char room[sizeof(struct stack_record) + 8 * (KERNEL + OUTER)];
} sent;

static void setup(void)
{
	ck_assert_int_eq(record_deep_open(MOST, &deep), 0);
}

static void teardown(void)
{
	record_deep_close(deep);
}

/* Frames are numbered from the innermost. */
static void keep(uint64_t of, uint32_t n)
{
	const size_t size = STACK_DEEP_VALUE_BYTES(8 * n);
	struct stack_deep *d = calloc(1, size);

	*d = (struct stack_deep){ .tag = STACK_DEEP_TAG, .of = of, .bytes = 8 * n };
	for (uint32_t i = 0; i < n; i++)
		d->frames[i] = of + i;
	ck_assert_int_eq(record_deep_keep(deep, d, size), 0);
	ck_assert_int_eq(record_deep_keep(deep, d, size - 8), -EBADMSG);
	free(d);
}

static const struct stack_record *outermost(uint64_t hash, uint32_t before)
{
	sent.record = (struct stack_record){ .hash = hash,
					     .kernel_bytes = 8 * KERNEL,
					     .user_bytes = 8 * OUTER,
					     .user_end = UNWIND_COMPLETE,
					     .fresh = STACK_FRESH | STACK_DEEP };
	for (uint32_t i = 0; i < KERNEL; i++)
		sent.record.frames[i] = i;
	for (uint32_t i = 0; i < OUTER; i++)
		sent.record.frames[KERNEL + i] = hash + before + i;
	return &sent.record;
}

static void check_whole(uint64_t hash, uint32_t n)
{
	const struct stack_record *r = outermost(hash, n);
	const uint32_t all = n + OUTER, seen = all < MOST ? all : MOST;

	ck_assert_int_eq(record_deep_join(deep, &r), 0);
	ck_assert_uint_eq(r->hash, hash);
	ck_assert_uint_eq(r->fresh, STACK_FRESH);
	ck_assert_uint_eq(r->kernel_bytes, 8 * KERNEL);
	ck_assert_uint_eq(r->user_bytes, 8 * seen);
	ck_assert_uint_eq(r->user_end, all > MOST ? UNWIND_DEEP : UNWIND_COMPLETE);
	for (uint32_t i = 0; i < KERNEL; i++)
		ck_assert_uint_eq(r->frames[i], i);
	for (uint32_t i = 0; i < seen; i++)
		ck_assert_uint_eq(r->frames[KERNEL + i], hash + i);
}

START_TEST(joined)
{
	keep(1000, UNWIND_FRAMES);
	check_whole(1000, UNWIND_FRAMES);
	/* Another CPU's comes between. */
	keep(5000, UNWIND_FRAMES);
	keep(9000, 100);
	check_whole(5000, UNWIND_FRAMES);
	check_whole(9000, 100);
}
END_TEST

START_TEST(cut)
{
	keep(1000, MOST - OUTER);
	check_whole(1000, MOST - OUTER);
	keep(2000, MOST);
	check_whole(2000, MOST);
}
END_TEST

START_TEST(missing)
{
	const struct stack_record *r = outermost(7, 10);

	ck_assert_int_eq(record_deep_join(deep, &r), -EBADMSG);
	ck_assert_int_eq(record_deep_join(NULL, &r), -EBADMSG);
	keep(7, 10);
	for (uint32_t i = 0; i < STACK_DEEPS - 1; i++)
		keep(10000 * (i + 1), 10);
	check_whole(7, 10);
	keep(3, 10);
	r = outermost(7, 10);
	ck_assert_int_eq(record_deep_join(deep, &r), -EBADMSG);
	ck_assert_ptr_eq(r, &sent.record);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stack_deep");
	TCase *t = tcase_create("unit");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, joined);
	tcase_add_test(t, cut);
	tcase_add_test(t, missing);
	suite_add_tcase(suite, t);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed;
}
