/* SPDX-License-Identifier: BSD-2-Clause */
/* HotSpot's compressed tables: numbers of both kinds, lines, scopes, and names. */
#include <check.h>
#include <stdlib.h>

#include "symbolize/jvm.h"

static void holds(unsigned int excluded, uint32_t value, const uint8_t *bytes, size_t n)
{
	struct sym_jvm_stream s = { bytes, bytes + n, excluded };
	uint32_t got = 0;

	ck_assert(sym_jvm_number(&s, &got));
	ck_assert_uint_eq(got, value);
	ck_assert_ptr_eq(s.at, bytes + n);
	s = (struct sym_jvm_stream){ bytes, bytes + n - 1, excluded };
	ck_assert(!sym_jvm_number(&s, &got)); /* cut */
}
#define HOLDS(excluded, value, ...)                                                                \
	holds(excluded, value, (const uint8_t[]){ __VA_ARGS__ },                                   \
	      sizeof((const uint8_t[]){ __VA_ARGS__ }))

START_TEST(numbers_of_both_kinds)
{
	HOLDS(0, 0, 0);
	HOLDS(0, 191, 191);
	HOLDS(0, 192, 192, 0);
	HOLDS(0, 255 + 64 * 191, 255, 191);
	HOLDS(1, 0, 1);
	HOLDS(1, 190, 191);
	HOLDS(1, 191, 192, 1);
	HOLDS(1, 191 + 64 * 190, 192, 191);
}
END_TEST

/* @end: so many bytes it has. */
static uint32_t line_of(const uint8_t *table, uint32_t n, unsigned int excluded, uint32_t bci,
			uint32_t end)
{
	const uint32_t line = sym_jvm_line(table, &n, excluded, bci);

	ck_assert_uint_eq(n, end);
	ck_assert_uint_eq(sym_jvm_line(table, &n, excluded, bci), line);
	return line;
}

START_TEST(lines_of_bytecodes)
{
	/* bci 0: line 5 by two signed numbers; 2: 6; 9: 9; 300: 8. */
	static const uint8_t old[] = { 0xff, 0, 10, 2 << 3 | 1, 7 << 3 | 3, 0xff, 198, 6, 1, 0 };
	static const uint8_t now[] = { 0xff, 1, 11, 2 << 3 | 1, 0 };

	ck_assert_uint_eq(line_of(old, sizeof(old), 0, 0, sizeof(old) - 1), 5);
	ck_assert_uint_eq(line_of(old, sizeof(old), 0, 1, sizeof(old) - 1), 5);
	ck_assert_uint_eq(line_of(old, sizeof(old), 0, 2, sizeof(old) - 1), 6);
	ck_assert_uint_eq(line_of(old, sizeof(old), 0, 9, sizeof(old) - 1), 9);
	ck_assert_uint_eq(line_of(old, sizeof(old), 0, 299, sizeof(old) - 1), 9);
	ck_assert_uint_eq(line_of(old, sizeof(old), 0, 300, sizeof(old) - 1), 8);
	ck_assert_uint_eq(line_of(now, sizeof(now), 1, 1, sizeof(now) - 1), 5);
	ck_assert_uint_eq(line_of(now, sizeof(now), 1, 7, sizeof(now) - 1), 6);
	ck_assert_uint_eq(line_of(NULL, 0, 0, 7, 0), 0);
}
END_TEST

START_TEST(scopes_of_code)
{
	static const uint8_t bytes[] = { 7, 3, 0, 0, 1, 12 };
	struct sym_jvm_stream s = { bytes, bytes + sizeof(bytes), 0 };
	struct sym_jvm_scope scope;

	ck_assert(sym_jvm_scope(&s, &scope));
	ck_assert_uint_eq(scope.caller, 7);
	ck_assert_uint_eq(scope.method, 3);
	ck_assert_int_eq(scope.bci, -1);
	ck_assert(sym_jvm_scope(&s, &scope));
	ck_assert_int_eq(scope.bci, 11);
	ck_assert(!sym_jvm_scope(&s, &scope));
}
END_TEST

static void is(char *text, const char *wanted)
{
	ck_assert_str_eq(text, wanted);
	free(text);
}

START_TEST(names_of_methods)
{
	is(sym_jvm_name("java/util/HashMap", "get"), "java.util.HashMap.get");
	is(sym_jvm_name("Web$$Lambda$14+0x0000000800c03000", "accept"), "Web$$Lambda$14.accept");
	is(sym_jvm_name("", "main"), "main");
	is(sym_jvm_file("java/util/HashMap", "HashMap.java"), "java/util/HashMap.java");
	is(sym_jvm_file("Web", "Web.java"), "Web.java");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sym jvm");
	TCase *tests = tcase_create("jvm");
	SRunner *runner;
	int failed;

	tcase_add_test(tests, numbers_of_both_kinds);
	tcase_add_test(tests, lines_of_bytecodes);
	tcase_add_test(tests, scopes_of_code);
	tcase_add_test(tests, names_of_methods);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
