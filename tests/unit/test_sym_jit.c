/* SPDX-License-Identifier: BSD-2-Clause */
/* Perf maps that grow, are written anew, or change without end while they are read. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/budget.h"
#include "symbolize/jit.h"

enum { STEP = 0x100 };

static char path[64];
static struct sym_jit *jit;
static struct sym_strings strings;

static void write_lines(const char *mode, unsigned int first, unsigned int n, const char *word)
{
	FILE *f = fopen(path, mode);

	ck_assert_ptr_nonnull(f);
	for (unsigned int i = first; i < first + n; i++)
		fprintf(f, "%x %x %s_%u\n", (i + 1) * STEP, STEP, word, i);
	ck_assert_int_eq(fclose(f), 0);
}

static void setup(void)
{
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	write_lines("w", 0, 10, "f");
	ck_assert_int_eq(sym_jit_open(&jit, "/proc", getpid()), 0);
}

static void teardown(void)
{
	sym_jit_close(jit);
	sym_strings_free(&strings);
	ck_assert_uint_eq(rp_memory_taken(), 0);
	unlink(path);
}

static const char *look(unsigned int i)
{
	const char *name = NULL;
	uint64_t start;

	if (!sym_jit_lookup(jit, &strings, (i + 1) * STEP + 1, true, &name, &start))
		return NULL;
	ck_assert_uint_eq(start, (i + 1) * STEP);
	return name;
}

static const char *name_of(const char *word, unsigned int i)
{
	static char name[64];

	snprintf(name, sizeof(name), "%s_%u", word, i);
	return name;
}

START_TEST(test_added)
{
	FILE *f;

	ck_assert_pstr_eq(look(9), "f_9");
	ck_assert_pstr_eq(look(10), NULL);
	f = fopen(path, "a");
	fprintf(f, "%x %x f_", 11 * STEP, STEP); /* still being written */
	fclose(f);
	ck_assert_pstr_eq(look(10), NULL);
	f = fopen(path, "a");
	fprintf(f, "10\n%x %x g_3\n", 4 * STEP, STEP);
	fclose(f);
	ck_assert_pstr_eq(look(3), "f_3"); /* nothing was missed yet */
	ck_assert_pstr_eq(look(10), "f_10");
	ck_assert_pstr_eq(look(3), "g_3");
	for (unsigned int i = 11; i < 5000; i += 7) {
		write_lines("a", i, 7, "f");
		ck_assert_pstr_eq(look(i + 6), name_of("f", i + 6));
	}
	for (unsigned int i = 4; i < 5000; i++)
		ck_assert_pstr_eq(look(i), name_of("f", i));
	ck_assert_pstr_eq(look(3), "g_3");
}
END_TEST

START_TEST(test_written_anew)
{
	ck_assert_pstr_eq(look(5), "f_5");
	write_lines("w", 100, 5, "g");
	ck_assert_pstr_eq(look(5), "f_5"); /* until something is missed */
	ck_assert_pstr_eq(look(100), "g_100");
	ck_assert_pstr_eq(look(5), NULL);
	write_lines("w", 200, 5000, "long"); /* larger, and another */
	ck_assert_pstr_eq(look(5000), "long_5000");
	ck_assert_pstr_eq(look(100), NULL);
}
END_TEST

/* 9 MB of lines, and 2,000 functions more, one by one; every one is missed when it is asked for. */
START_TEST(test_changing)
{
	enum { MANY = 300000, CHANGES = 2000 };
	unsigned int found = 0;

	write_lines("w", 0, MANY, "function");
	ck_assert_pstr_eq(look(MANY - 1), name_of("function", MANY - 1));
	for (unsigned int i = 0; i < CHANGES; i++) {
		write_lines(_i ? "r+" : "a", _i ? 0 : MANY + i, 1, "function");
		found += !!look(MANY + i);
	}
	ck_assert_pstr_eq(look(0), "function_0");
	ck_assert_pstr_eq(look(MANY - 1), name_of("function", MANY - 1));
	if (!_i)
		ck_assert_uint_eq(found, CHANGES);
}
END_TEST

START_TEST(test_names_are_memory)
{
	char name[100000];
	FILE *f = fopen(path, "w");

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (unsigned int i = 0; i < 100; i++)
		fprintf(f, "%x %x %u%s\n", (i + 1) * STEP, STEP, i, name);
	fclose(f);
	rp_memory_limit(16 << 20);
	for (unsigned int i = 0; i < 100; i++)
		ck_assert_uint_eq(strlen(look(i)), 4096);
	ck_assert_uint_lt(rp_memory_taken(), 16 << 20);
	for (unsigned int i = 0; i < 100; i++) {
		f = fopen(path, "w");
		for (unsigned int k = 0; k < 100; k++)
			fprintf(f, "%x %x %u%u%s\n", (i * 100 + k + 200) * STEP, STEP, i, k, name);
		fclose(f);
		for (unsigned int k = 0; k < 100; k++)
			look(i * 100 + k + 199);
		ck_assert_uint_le(rp_memory_taken(), 16 << 20);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("perf maps");
	TCase *t = tcase_create("perf maps");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, 400);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_added);
	tcase_add_test(t, test_written_anew);
	tcase_add_loop_test(t, test_changing, 0, 2);
	tcase_add_test(t, test_names_are_memory);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
