/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks that are walked later: each record finds what was copied of it, or is counted as it is. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/rewalk_kept.h"

enum { KERNEL = 2, USER = 3, BYTES = 640 };

static struct rewalk_kept kept;
static union {
	struct stack_record record;
	char room[sizeof(struct stack_record) + 8 * (KERNEL + USER)];
} sent;

static void setup(void)
{
	kept = (struct rewalk_kept){ .most = 1 << 20 };
}

static void teardown(void)
{
	record_rewalk_kept_free(&kept);
}

static int copy(uint64_t of, uint32_t inner, uint32_t outer, size_t size)
{
	struct stack_copy *c = calloc(1, size);
	int err;

	*c = (struct stack_copy){ .tag = STACK_COPY_TAG, .of = of, .inner = inner, .outer = outer };
	memset(c->bytes, (int)of, size - sizeof(*c));
	err = record_rewalk_kept_copy(&kept, c, size);
	free(c);
	return err;
}

static int keep_copy(uint64_t of)
{
	return copy(of, BYTES, 0, sizeof(struct stack_copy) + BYTES);
}

static int keep_record(uint64_t hash, const struct stack_record **plain)
{
	sent.record = (struct stack_record){ .hash = hash,
					     .kernel_bytes = 8 * KERNEL,
					     .user_bytes = 8 * USER,
					     .fresh = STACK_FRESH | STACK_COPIED };
	for (uint32_t i = 0; i < KERNEL + USER; i++)
		sent.record.frames[i] = hash + i;
	return record_rewalk_kept_record(&kept, &sent.record, plain);
}

static void check_pair(size_t i, uint64_t hash)
{
	ck_assert_uint_eq(kept.one[i].copy->of, hash);
	ck_assert_uint_eq(kept.one[i].copy->bytes[BYTES - 1], hash);
	ck_assert_ptr_nonnull(kept.one[i].record);
	ck_assert_uint_eq(kept.one[i].record->hash, hash);
	ck_assert_uint_eq(kept.one[i].record->fresh, STACK_FRESH);
	ck_assert_uint_eq(kept.one[i].record->frames[KERNEL + USER - 1], hash + KERNEL + USER - 1);
}

START_TEST(each_finds_its_own)
{
	const struct stack_record *plain;

	/* Those of two CPUs; and the same stack once more, which is another sample. */
	ck_assert_int_eq(keep_copy(1), 0);
	ck_assert_int_eq(keep_copy(2), 0);
	ck_assert_int_eq(keep_record(1, &plain), 1);
	ck_assert_ptr_eq(plain, kept.one[0].record);
	ck_assert_int_eq(keep_record(2, &plain), 1);
	ck_assert_int_eq(keep_copy(1), 0);
	ck_assert_int_eq(keep_record(1, &plain), 1);
	ck_assert_uint_eq(kept.n, 3);
	check_pair(0, 1);
	check_pair(1, 2);
	check_pair(2, 1);
	ck_assert_uint_eq(kept.refused, 0);
}
END_TEST

START_TEST(without_a_copy)
{
	const struct stack_record *plain;

	ck_assert_int_eq(keep_copy(1), 0);
	ck_assert_int_eq(keep_record(7, &plain), 0);
	ck_assert_uint_eq(plain->hash, 7);
	ck_assert_uint_eq(plain->fresh, STACK_FRESH);
	ck_assert_int_eq(keep_record(1, &plain), 1);
	ck_assert_int_eq(keep_record(1, &plain), 0); /* it has gone with the first */
	ck_assert_uint_eq(kept.refused, 2);
}
END_TEST

START_TEST(memory_is_bounded)
{
	const struct stack_record *plain;
	uint64_t hash = 1;

	for (; kept.bytes + 2 * sizeof(struct stack_copy) + BYTES < kept.most; hash++) {
		ck_assert_int_eq(keep_copy(hash), 0);
		ck_assert_int_eq(keep_record(hash, &plain), 1);
	}
	for (int i = 0; i < 10; i++) {
		ck_assert_int_eq(keep_copy(++hash), 0);
		keep_record(hash, &plain);
	}
	ck_assert_uint_lt(kept.bytes, kept.most + sizeof(sent));
	ck_assert_uint_gt(kept.refused, 0);
	record_rewalk_kept_forget(&kept);
	ck_assert_uint_eq(kept.bytes, 0);
	ck_assert_int_eq(keep_copy(++hash), 0);
	ck_assert_int_eq(keep_record(hash, &plain), 1);
}
END_TEST

START_TEST(what_is_no_copy)
{
	const size_t head = sizeof(struct stack_copy);

	ck_assert_int_eq(copy(1, BYTES, 0, head + BYTES - 8), -EBADMSG);
	ck_assert_int_eq(copy(1, BYTES, 8, head + BYTES), -EBADMSG);
	ck_assert_int_eq(copy(1, UINT32_MAX, 1, head), -EBADMSG);
	ck_assert_int_eq(copy(1, 0, UINT32_MAX, head), -EBADMSG);
	ck_assert_int_eq(record_rewalk_kept_copy(&kept, &sent, head - 1), -EBADMSG);
	ck_assert_uint_eq(kept.n, 0);
	ck_assert_int_eq(copy(1, 8, 16, head + 24), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rewalk");
	TCase *tc = tcase_create("kept");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, each_finds_its_own);
	tcase_add_test(tc, without_a_copy);
	tcase_add_test(tc, memory_is_bounded);
	tcase_add_test(tc, what_is_no_copy);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
