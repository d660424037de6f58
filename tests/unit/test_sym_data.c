/* SPDX-License-Identifier: BSD-2-Clause */
/* Variables by address: our own, those of libc, and what is none. */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rawprof/symbolize.h>

int data_visible[5] = { 1 };
static long data_hidden[3];
static struct {
	char capacity[100];
} data_zeroed;
static const char data_constant[] = "constant";

static struct sym_user *user;
static uint64_t now;

static void open_ourselves(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	ck_assert_int_eq(sym_user_open(&user, NULL), 0);
	ck_assert_int_eq(sym_user_snapshot(user, (uint32_t)getpid(), now), 0);
}

static void close_ourselves(void)
{
	sym_user_close(user);
}

static bool look(const void *code, bool is_return, const void *addr, struct sym_frame *out)
{
	struct sym_frame f;

	sym_user_lookup(user, (uint32_t)getpid(), now, (uintptr_t)code, is_return, &f);
	ck_assert_ptr_nonnull(f.image);
	return sym_user_data(&f, (uintptr_t)code, (uintptr_t)addr, out);
}

static void finds(const void *addr, const char *name, uint64_t offset)
{
	struct sym_frame out = { 0 };

	for (int is_return = 0; is_return < 2; is_return++) {
		ck_assert_msg(look((const char *)open_ourselves + 1, is_return, addr, &out), "%s",
			      name);
		ck_assert_str_eq(out.name, name);
		ck_assert_uint_eq(out.offset, offset);
		ck_assert_int_eq(out.kind, SYM_USER);
		ck_assert_ptr_nonnull(strstr(out.module, "test_sym_data"));
	}
}

START_TEST(test_our_own)
{
	data_hidden[0] = data_zeroed.capacity[0];
	finds(&data_visible[0], "data_visible", 0);
	finds(&data_visible[4], "data_visible", 16);
	finds((const char *)data_visible + sizeof(data_visible) - 1, "data_visible",
	      sizeof(data_visible) - 1);
	finds(&data_hidden[1], "data_hidden", sizeof(long));
	finds(&data_zeroed.capacity[99], "data_zeroed", 99);
	finds(data_constant + 3, "data_constant", 3);
}
END_TEST

START_TEST(test_of_a_library)
{
	struct sym_frame out = { 0 };
	uint64_t code = (uintptr_t)getppid, variable = (uintptr_t)stdout;

	/* _IO_2_1_stdout_ is what libc exports the FILE as. */
	ck_assert(look((const void *)(uintptr_t)code, false, (const void *)(uintptr_t)variable,
		       &out));
	ck_assert_msg(strstr(out.name, "stdout"), "%s", out.name);
	ck_assert_uint_eq(out.offset, 0);
}
END_TEST

START_TEST(test_what_is_none)
{
	char *heap = strdup("somewhere");
	struct sym_frame out = { .name = "untouched" };
	char stack;

	ck_assert(!look((const char *)open_ourselves, false, heap, &out));
	ck_assert(!look((const char *)open_ourselves, false, &stack, &out));
	ck_assert(!look((const char *)open_ourselves, false, NULL, &out));
	ck_assert(!look((const char *)open_ourselves, false, (const void *)UINTPTR_MAX, &out));
	/* A function is no variable. */
	ck_assert(!look((const char *)open_ourselves, false, (const char *)finds, &out));
	ck_assert_str_eq(out.name, "untouched");
	free(heap);
}
END_TEST

START_TEST(test_a_frame_without_a_file)
{
	const struct sym_frame nowhere = { .kind = SYM_UNKNOWN, .module_addr = 4096 };
	struct sym_frame out;

	ck_assert(!sym_user_data(&nowhere, 4096, (uintptr_t)&data_visible, &out));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("variables");
	TCase *tc = tcase_create("data");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, open_ourselves, close_ourselves);
	tcase_add_test(tc, test_our_own);
	tcase_add_test(tc, test_of_a_library);
	tcase_add_test(tc, test_what_is_none);
	tcase_add_test(tc, test_a_frame_without_a_file);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
