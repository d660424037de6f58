/* SPDX-License-Identifier: BSD-2-Clause */
/* How functions that a process has generated begin, and what of theirs is no beginning. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "record/generated.h"

#ifdef __x86_64__
enum { CODE = 4096, NOP = 0x90 };

static uint8_t code[CODE];

static void setup(void)
{
	memset(code, NOP, sizeof(code));
}

#define PUT(at, ...)                                                                               \
	memcpy(code + (at), (const uint8_t[]){ __VA_ARGS__ },                                      \
	       sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* push rbx, r15, r14, r13, rbp; mov rdi, rbx; sub $128, rsp */
#define PCRE                                                                                       \
	0x53, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x55, 0x48, 0x89, 0xfb, 0x48, 0x81, 0xec, 0x80,  \
		0, 0, 0
/* endbr64; push r15, rbx; sub $8, rsp: the stack is aligned behind it */
#define SHORT 0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x57, 0x53, 0x48, 0x83, 0xec, 8

static void check_rule(const struct unwind_rule *r, int cfa_off, int fp_off)
{
	const struct unwind_rule want = { .kind = UNWIND_SP,
					  .cfa_off = cfa_off,
					  .fp_off = (int16_t)fp_off,
					  .flags = fp_off ? UNWIND_FP_AT_CFA : 0 };

	ck_assert_mem_eq(r, &want, sizeof(want));
}

START_TEST(test_functions)
{
	struct generated_row f[4];

	PUT(0x18, PCRE);
	PUT(0x800, SHORT);
	PUT(0xff0, SHORT);
	ck_assert_uint_eq(record_generated_rows(code, CODE, f, 4), 3);
	ck_assert_uint_eq(f[0].at, 0x18);
	check_rule(&f[0].rule, 176, -48);
	ck_assert_uint_eq(f[1].at, 0x800);
	check_rule(&f[1].rule, 32, 0);
	ck_assert_uint_eq(f[2].at, 0xff0);
	ck_assert_uint_eq(record_generated_rows(code, CODE, f, 3), 2); /* room for two at a time */
	/* Its end is cut off. */
	ck_assert_uint_eq(record_generated_rows(code, 0xff0 + 10, f, 4), 2);
	ck_assert_uint_eq(record_generated_rows(code, 0, f, 4), 0);
}
END_TEST

/* pop (%rsp), 8(%rsp), 256(%rsp) begin what is called within a function; push %rax; ret ends it. */
START_TEST(test_calls_within)
{
	static const struct {
		uint32_t at;
		int cfa_off;
	} want[] = {
		{ 0x10, 176 }, { 0x40, 184 }, { 0x43, 176 }, { 0x50, 184 }, { 0x54, 176 },
		{ 0x60, 184 }, { 0x67, 176 }, { 0x71, 184 }, { 0x72, 176 }, { 0x81, 184 },
		{ 0x82, 184 }, { 0x85, 176 }, { 0x88, 32 },
	};
	enum { N = sizeof(want) / sizeof(want[0]) };
	struct generated_row f[N + 2];

	PUT(0x00, 0x8f, 0x04, 0x24, 0x50, 0xc3); /* of no function */
	PUT(0x10, PCRE);
	PUT(0x40, 0x8f, 0x04, 0x24);
	PUT(0x50, 0x8f, 0x44, 0x24, 8);
	PUT(0x60, 0x8f, 0x84, 0x24, 0, 1, 0, 0);
	PUT(0x70, 0x50, 0xc3);
	PUT(0x80, 0x50, 0xc3, 0x8f, 0x04, 0x24);
	PUT(0x88, SHORT);
	ck_assert_uint_eq(record_generated_rows(code, 0x88 + 16, f, N + 2), N);
	for (int i = 0; i < N; i++) {
		ck_assert_uint_eq(f[i].at, want[i].at);
		ck_assert_int_eq(f[i].rule.cfa_off, want[i].cfa_off);
	}
	ck_assert_uint_eq(record_generated_rows(code, 0x85, f, N + 2), N - 2); /* it ends there */
}
END_TEST

/* Those end what was before them. */
START_TEST(test_frame_pointers)
{
	struct generated_row f[4];

	PUT(0x10, PCRE);
	PUT(0x80, 0x55, 0x48, 0x89, 0xe5);
	PUT(0x100, 0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x8b, 0xec);
	ck_assert_uint_eq(record_generated_rows(code, CODE, f, 4), 3);
	check_rule(&f[0].rule, 176, -48);
	ck_assert_uint_eq(f[1].at, 0x80);
	ck_assert_int_eq(f[1].rule.kind, UNWIND_NO_ROW);
	ck_assert_uint_eq(f[2].at, 0x100);
	ck_assert_int_eq(f[2].rule.kind, UNWIND_NO_ROW);
}
END_TEST

START_TEST(test_no_function)
{
	struct generated_row f[4];

	PUT(0x1b, PCRE);				      /* not where functions begin */
	PUT(0x100, 0x53, 0x48, 0x83, 0xec, 16);		      /* one push */
	PUT(0x200, 0x53, 0x55, 0x41, 0x57, 0xc3);	      /* no room */
	PUT(0x300, 0x53, 0x55, 0x48, 0x83, 0xec, 16);	      /* the stack would not be aligned */
	PUT(0x400, 0x53, 0x55, 0x48, 0x81, 0xec, 8, 0, 1, 0); /* 64 KB */
	PUT(0x500, 0x53, 0x55, 0x48, 0x83, 0xec, 0xf8);	      /* less than none */
	PUT(0x600, 0x53, 0x55, 0x48, 0x89, 0x07, 0x48, 0x83, 0xec, 8); /* it stores */
	ck_assert_uint_eq(record_generated_rows(code, CODE, f, 4), 0);
}
END_TEST

/* Of the loop that PHP's code runs in; a frame that is not aligned is one all the same. */
START_TEST(test_loop)
{
	struct unwind_rule rule;

	PUT(0, 0x41, 0x57, 0x55, 0x53, 0x48, 0x83, 0xec, 0x18);
	rule = record_generated_in(code, 32);
	check_rule(&rule, 56, -24);
	ck_assert_int_eq(record_generated_in(code, 7).kind, UNWIND_NO_ROW);
	PUT(0, 0x41, 0x57, 0x53, 0x48, 0x81, 0xec, 0, 1, 0, 0);
	rule = record_generated_in(code, 32);
	ck_assert_int_eq(rule.cfa_off, 24 + 256);
	ck_assert_int_eq(rule.flags, UNWIND_FP_LOST);
}
END_TEST
#endif

int main(void)
{
	Suite *s = suite_create("generated code");
	TCase *t = tcase_create("functions");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
#ifdef __x86_64__
	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_functions);
	tcase_add_test(t, test_calls_within);
	tcase_add_test(t, test_frame_pointers);
	tcase_add_test(t, test_no_function);
	tcase_add_test(t, test_loop);
#endif
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
