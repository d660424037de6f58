/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of C++ and Rust functions made readable, and names that were made to do harm. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/symbolize.h>

static struct sym_demangler *demangler;

static void setup(void)
{
	ck_assert_int_eq(sym_demangler_open(&demangler), 0);
}

static void teardown(void)
{
	sym_demangler_close(demangler);
}

static const struct {
	const char *mangled, *readable; /* NULL: no name of C++ or Rust */
} names[] = {
	{ "_ZN4ListIiE3addERKi", "List<int>::add(int const&)" },
	{ "_ZN4ListIiE3addERKi@plt", "List<int>::add(int const&)@plt" },
	{ "_Z3addIiET_S0_S0_", "add<int>(int, int)" }, /* without "int " in front */
	{ "_ZNK3abcplERKS_", "abc::operator+(abc const&) const" },
	{ "_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo()" },
	{ "_ZN3fooEv.cold", "foo() [clone .cold]" },
	{ "_ZN3fooC2Ev", "foo::foo()" },
	{ "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write" },
	{ "_ZN4core3fmt5write17h0123456789abcdefE.llvm.12345", "core::fmt::write" },
	{ "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar" },
	{ "_RNvNtCs1234_7mycrate3foo3bar.llvm.77", "mycrate::foo::bar" },
	{ "_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>" },
	{ "main", NULL },
	{ "", NULL },
	{ "_", NULL },
	{ "_Z", NULL },
	{ "_R", NULL },
	{ "_Zone_of_something", NULL },
	{ "_Raise", NULL },
	{ "_ZN3foo", NULL },
	{ "@plt", NULL },
	{ "_Z@_Z3foov", NULL },
	{ "LazyCompile:*_Z3foov file.js:1:2", NULL },
};

START_TEST(test_names)
{
	const char *name = names[_i].mangled, *got = sym_demangle(demangler, name);

	if (!names[_i].readable || !sym_can_demangle())
		ck_assert_ptr_eq(got, name);
	else
		ck_assert_str_eq(got, names[_i].readable);
	ck_assert_ptr_eq(sym_demangle(demangler, name), got);
}
END_TEST

/* The table of known names grows; what was given stays good; equal texts give equal answers. */
START_TEST(test_many)
{
	enum { N = 5000 };
	static const char *first[N];
	char mangled[64], readable[64];

	if (!sym_can_demangle())
		return;
	for (int i = 0; i < N; i++) {
		snprintf(mangled, sizeof(mangled), "_Z6f%05dv", i);
		first[i] = sym_demangle(demangler, mangled);
	}
	for (int i = 0; i < N; i++) {
		snprintf(mangled, sizeof(mangled), "_Z6f%05dv", i);
		snprintf(readable, sizeof(readable), "f%05d()", i);
		ck_assert_str_eq(first[i], readable);
		ck_assert_ptr_eq(sym_demangle(demangler, mangled), first[i]);
	}
}
END_TEST

static void ck_is_cut(const char *name)
{
	const char *got = sym_demangle(demangler, name);

	if (!sym_can_demangle())
		return;
	ck_assert_uint_eq(strlen(got), SYM_DEMANGLED_MAX);
	ck_assert_str_eq(got + SYM_DEMANGLED_MAX - 3, "...");
	ck_assert_ptr_eq(sym_demangle(demangler, name), got);
}

/* Each parameter is a pair of the one before: the last is 2^50 words. */
START_TEST(test_endless_cxx)
{
	char name[1024] = "_Z1f1PIiiES_IS0_S0_E";

	for (int i = 1; i < 35; i++) {
		char pair[32];

		snprintf(pair, sizeof(pair), "S_IS%c_S%c_E", i < 10 ? '0' + i : 'A' + i - 10,
			 i < 10 ? '0' + i : 'A' + i - 10);
		strcat(name, pair);
	}
	ck_is_cut(name);
}
END_TEST

/* The same for Rust, whose references count bytes behind "_R" (base 62). */
START_TEST(test_endless_rust)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1024] = "_RINvC1a1fTuuE";
	size_t last = strlen("INvC1a1f");

	for (int i = 0; i < 50; i++) {
		size_t here = strlen(name) - 2, back = last - 1;
		char digit[3] = { digits[back / 62], digits[back % 62], '\0' };
		const char *text = back < 62 ? digit + 1 : digit;

		snprintf(name + strlen(name), 32, "TB%s_B%s_E", text, text);
		last = here;
	}
	strcat(name, "E");
	ck_is_cut(name);
}
END_TEST

/* Deeper than any stack: pointers to pointers to ... */
START_TEST(test_deep)
{
	size_t n = 1 << 20;
	char *name = malloc(n + 8);

	strcpy(name, "_Z1f");
	memset(name + 4, 'P', n);
	strcpy(name + 4 + n, "i");
	sym_demangle(demangler, name);
	free(name);
}
END_TEST

/* Plain ones as well, and what looks mangled and is not. */
START_TEST(test_long_names_are_cut)
{
	static const char *const begins[] = { "plain", "_Zx", "_R" };
	const size_t n = 100000;
	char *name = malloc(n + 1);

	for (size_t i = 0; i < 3; i++) {
		const char *shown;

		memset(name, 'x', n);
		memcpy(name, begins[i], strlen(begins[i]));
		name[n] = '\0';
		shown = sym_demangle(demangler, name);
		ck_assert_uint_eq(strlen(shown), SYM_DEMANGLED_MAX);
		ck_assert_str_eq(shown + SYM_DEMANGLED_MAX - 3, "...");
		ck_assert_int_eq(memcmp(shown, name, SYM_DEMANGLED_MAX - 3), 0);
		name[SYM_DEMANGLED_MAX] = '\0';
		ck_assert_str_eq(sym_demangle(demangler, name), name);
	}
	free(name);
}
END_TEST

/* A name of Rust may be as long as the file, of which there would be copies. */
START_TEST(test_long_mangled_names_are_not_read)
{
	const char *begin = "_RNvC1a5000", *shown;
	const size_t n = strlen(begin) + 5000;
	char *name = malloc(n + 1);

	memset(name, 'x', n);
	memcpy(name, begin, strlen(begin));
	name[n] = '\0';
	shown = sym_demangle(demangler, name);
	ck_assert_uint_eq(strlen(shown), SYM_DEMANGLED_MAX);
	ck_assert_int_eq(memcmp(shown, name, SYM_DEMANGLED_MAX - 3), 0);
	free(name);
}
END_TEST

/* ---- names that would take years */

static char *put_reference(char *at, char letter, int number)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	*at++ = letter;
	if (number >= 36)
		*at++ = digits[number / 36];
	*at++ = digits[number % 36];
	*at++ = '_';
	return at;
}

/* What may be the arguments of a template that is converted to is read twice, also within. */
static void write_conversions(char *name, int deep, int seed)
{
	char *at = name + sprintf(name, "_ZN5s%04dcvT_I", seed);

	for (int i = 0; i < deep; i++)
		at = stpcpy(at, "T_I");
	*at++ = 'i';
	memset(at, 'E', deep + 1);
	strcpy(at + deep + 1, "Ev");
}

/* Each argument is there twice, so the last is 2^deep nodes: looked through for a pack, in vain. */
static void write_pairs(char *name, int deep, int seed)
{
	char *at = name + sprintf(name, "_Z5f%04dDp1PI", seed);

	for (int i = 1; i < deep; i++)
		at = stpcpy(at, "S_I");
	at = stpcpy(at, "iiE");
	for (int i = 0; i < deep - 1; i++) {
		at = put_reference(at, 'S', i);
		*at++ = 'E';
	}
	*at = '\0';
}

static void (*const writers[])(char *name, int deep, int seed) = { write_conversions, write_pairs };

/* Minutes are made of one name, or of 20,000 that take some milliseconds each. */
START_TEST(test_dear)
{
	const bool is_one = _i % 2;
	char name[1024];

	if (!sym_can_demangle())
		return;
	for (int i = 0; i < (is_one ? 1 : 20000); i++) {
		writers[_i / 2](name, is_one ? 100 : 21, i);
		ck_assert(sym_demangle(demangler, name) == name || !is_one);
	}
	ck_assert_uint_gt(sym_demangler_given_up(demangler), 0);
	ck_assert_str_eq(sym_demangle(demangler, "_ZN4ListIiE3addERKi"),
			 "List<int>::add(int const&)");
}
END_TEST

/* Whoever has used up all of the time has not for ever: a recording may last for weeks. */
START_TEST(test_dear_once)
{
	char name[1024], kept[64];
	const char *readable;
	size_t given_up;
	int i = 0;

	if (!sym_can_demangle())
		return;
	do {
		given_up = sym_demangler_given_up(demangler);
		snprintf(kept, sizeof(kept), "_Z1fP4a%03dS0_", i);
		write_pairs(name, 100, i++);
		sym_demangle(demangler, name);
	} while (sym_demangle(demangler, kept) != kept && i < 1000);
	ck_assert_uint_eq(sym_demangler_given_up(demangler), given_up + 2);
	for (i = 100; i < 130; i++) {
		sleep(1);
		snprintf(kept, sizeof(kept), "_Z1gP4a%03dS0_", i);
		readable = sym_demangle(demangler, kept);
		if (readable != kept)
			break;
	}
	snprintf(kept, sizeof(kept), "g(a%03d*, a%03d*)", i, i);
	ck_assert_str_eq(readable, kept);
}
END_TEST

/* No bytes whatever make it fall over. */
START_TEST(test_garbage)
{
	static const char letters[] = "_ZRNIEBCSTKPvi0123456789hXYlL.@\xff\x01";

	srand(1);
	for (int i = 0; i < 20000; i++) {
		char name[48] = "_";
		size_t n = 2 + rand() % 40;

		name[1] = rand() % 2 ? 'Z' : 'R';
		for (size_t k = 2; k < n; k++)
			name[k] = letters[rand() % (sizeof(letters) - 1)];
		name[n] = '\0';
		ck_assert_ptr_nonnull(sym_demangle(demangler, name));
	}
}
END_TEST

/* Programs may have new names without end. */
START_TEST(test_rest)
{
	const char *few = sym_demangle(demangler, "_Z3fewi");
	char name[64], readable[64];

	sym_demangler_rest(demangler);
	ck_assert_ptr_eq(sym_demangle(demangler, "_Z3fewi"), few);
	for (int round = 0; round < 2; round++) {
		for (int i = 10000; i < 30000; i++) {
			snprintf(name, sizeof(name), "_Z6f%di", i);
			snprintf(readable, sizeof(readable), "f%d(int)", i);
			ck_assert_str_eq(sym_demangle(demangler, name),
					 sym_can_demangle() ? readable : name);
		}
		sym_demangler_rest(demangler);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("demangle");
	TCase *t = tcase_create("demangle");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_rest);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_names, 0, sizeof(names) / sizeof(names[0]));
	tcase_add_test(t, test_many);
	tcase_add_test(t, test_endless_cxx);
	tcase_add_test(t, test_endless_rust);
	tcase_add_test(t, test_deep);
	tcase_add_test(t, test_long_names_are_cut);
	tcase_add_test(t, test_long_mangled_names_are_not_read);
	tcase_add_test(t, test_garbage);
	tcase_add_loop_test(t, test_dear, 0, 2 * sizeof(writers) / sizeof(*writers));
	tcase_add_test(t, test_dear_once);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
