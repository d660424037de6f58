/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader of /proc/kallsyms, on files made here. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/symbolize.h>

static char path[] = "/tmp/test_sym_kallsyms.XXXXXX";

static const char image[] = "ffffffff81000000 T startup\n"
			    "ffffffff81000000 T _stext\n"
			    "ffffffff81000000 T _text\n"
			    "ffffffff81000100 t __pfx_first\n"
			    "ffffffff81000110 t first\n"
			    "ffffffff81000200 W weak\n"
			    "ffffffff81000280 t twice\n"
			    "ffffffff81000300 T _etext\n"
			    "ffffffff81000300 T __end_of_text\n"
			    "ffffffff82000000 D data\n"
			    "ffffffff83000000 T _sinittext\n"
			    "ffffffff83000010 t start_kernel.cold\n"
			    "ffffffff83000090 T _einittext\n"
			    "ffffffff83000100 B bss\n"
			    "ffffffffc0300000 t mod_b_one\t[mod_b]\n"
			    "ffffffffc0300040 t twice\t[mod_b]\n"
			    "ffffffffc0201000 t mod_a_one\t[mod_a]\n"
			    "ffffffffc0201008 t mod_a_two\t[mod_a]\n"
			    "ffffffffc0025fcc t bpf_prog_0123456789abcdef_count\t[bpf]\n"
			    "ffffffffc0025bac t bpf_prog_fedcba9876543210\t[bpf]\n";

static int open_text(struct sym_kallsyms **out, const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(text, 1, len, f), len);
	ck_assert_int_eq(fclose(f), 0);
	return sym_kallsyms_open(out, path);
}

static struct sym_kallsyms *open_image(void)
{
	struct sym_kallsyms *ks = NULL;

	ck_assert_int_eq(open_text(&ks, image, sizeof(image) - 1), 0);
	return ks;
}

/* @name NULL: nothing is there. */
static const struct lookup {
	uint64_t addr;
	const char *name, *module;
	uint64_t start, size;
} lookups[] = {
	{ 0xffffffff80ffffff, NULL },
	{ 0xffffffff81000000, "startup", NULL, 0xffffffff81000000, 0x100 },
	{ 0xffffffff810000ff, "startup", NULL, 0xffffffff81000000, 0x100 },
	{ 0xffffffff81000105, NULL }, /* padding */
	{ 0xffffffff81000110, "first", NULL, 0xffffffff81000110, 0xf0 },
	{ 0xffffffff810002ff, "twice", NULL, 0xffffffff81000280, 0x80 },
	{ 0xffffffff81000300, NULL }, /* after _etext */
	{ 0xffffffff82000000, NULL }, /* data */
	{ 0xffffffff8300008f, "start_kernel.cold", NULL, 0xffffffff83000010, 0x80 },
	{ 0xffffffff83000090, NULL }, /* after _einittext */
	{ 0xffffffffc0025bac, "bpf_prog_fedcba9876543210", "bpf", 0xffffffffc0025bac, 0x420 },
	{ 0xffffffffc0025fcd, "bpf_prog_0123456789abcdef_count", "bpf", 0xffffffffc0025fcc, 65536 },
	{ 0xffffffffc0201007, "mod_a_one", "mod_a", 0xffffffffc0201000, 8 },
	{ 0xffffffffc0201008, "mod_a_two", "mod_a", 0xffffffffc0201008, 65536 },
	{ 0xffffffffc02fffff, NULL }, /* between modules */
	{ 0xffffffffc0300041, "twice", "mod_b", 0xffffffffc0300040, 65536 },
	{ 0xffffffffffffffff, NULL },
	{ 0, NULL },
};

static void check_lookup(const struct lookup *l, const char *text, size_t len)
{
	struct sym_kallsyms *ks = NULL;
	struct sym_ksym sym = { .name = "untouched" };
	int err;

	ck_assert_int_eq(open_text(&ks, text, len), 0);
	err = sym_kallsyms_lookup(ks, l->addr, &sym);
	ck_assert_int_eq(err, l->name ? 0 : -ENOENT);
	ck_assert_str_eq(sym.name, l->name ? l->name : "untouched");
	if (l->name) {
		ck_assert_pstr_eq(sym.module, l->module);
		ck_assert_uint_eq(sym.addr, l->start);
		ck_assert_uint_eq(sym.size, l->size);
	}
	sym_kallsyms_close(ks);
}

START_TEST(test_lookup)
{
	check_lookup(&lookups[_i], image, sizeof(image) - 1);
}
END_TEST

/*
 * arm64: modules below the image, a header before the text, exit functions right behind the mark.
 */
static const char arm64[] = "ffffffc080000000 T _text\n"
			    "ffffffc080000000 T __pi__text\n"
			    "ffffffc080010000 T _stext\n"
			    "ffffffc080010000 t first\n"
			    "ffffffc080010100 t last\n"
			    "ffffffc080de0000 D _etext\n"
			    "ffffffc081880000 T _sinittext\n"
			    "ffffffc081880000 T __init_begin\n"
			    "ffffffc081880018 t start_kernel\n"
			    "ffffffc081904914 T _einittext\n"
			    "ffffffc081904914 T __exittext_begin\n"
			    "ffffffc081904918 t exit_one\n"
			    "ffffffc081904940 t exit_two\n"
			    "ffffffc081904a00 T __exittext_end\n"
			    "ffffffc081906000 D data\n"
			    "ffffffc07a000000 t mod_one\t[mod]\n";

static const struct lookup arm64_lookups[] = {
	{ 0xffffffc080000000, NULL }, /* the header */
	{ 0xffffffc08000ffff, NULL },
	{ 0xffffffc080010004, "_stext", NULL, 0xffffffc080010000, 0x100 },
	{ 0xffffffc080010100, "last", NULL, 0xffffffc080010100, 65536 },
	{ 0xffffffc080de0000, NULL }, /* after _etext */
	{ 0xffffffc081880004, "_sinittext", NULL, 0xffffffc081880000, 0x18 },
	{ 0xffffffc081904914, "_einittext", NULL, 0xffffffc081904914, 4 },
	{ 0xffffffc081904918, "exit_one", NULL, 0xffffffc081904918, 0x28 },
	{ 0xffffffc0819049ff, "exit_two", NULL, 0xffffffc081904940, 0xc0 },
	{ 0xffffffc07a000010, "mod_one", "mod", 0xffffffc07a000000, 65536 },
};

START_TEST(test_lookup_arm64)
{
	check_lookup(&arm64_lookups[_i], arm64, sizeof(arm64) - 1);
}
END_TEST

/*
 * Modules, whose symbols are in the order of their files, data among functions: data ends the
 * function before it, the marks of arm64 ("$x" for code, "$d" for data) and the compiler's labels
 * neither name nor end anything.
 */
static const char modules[] = "ffffffff81000000 T _stext\n"
			      "ffffffffc0402000 r _note_10\t[x86]\n"
			      "ffffffffc0400000 t one\t[x86]\n"
			      "ffffffffc0404000 d lock\t[x86]\n"
			      "ffffffffc0400140 t three\t[x86]\n"
			      "ffffffffc0400130 t __pfx_three\t[x86]\n"
			      "ffffffffc0400040 t two\t[x86]\n"
			      "ffffffffc0400100 r .LC1\t[x86]\n"
			      "ffffffffc0400180 t module_exit\t[x86]\n"
			      "ffffffffc0400180 t cleanup_module\t[x86]\n"
			      "ffffffffc0400180 d __key.1\t[x86]\n"
			      "ffffffffc0500000 t $x\t[arm]\n"
			      "ffffffffc0500020 t $d\t[arm]\n"
			      "ffffffffc0500028 t $x.7\t[arm]\n"
			      "ffffffffc0500100 t $x\t[arm]\n"
			      "ffffffffc0502000 d $d\t[arm]\n"
			      "ffffffffc0502010 d object\t[arm]\n"
			      "ffffffffc0500008 t opens\t[arm]\n"
			      "ffffffffc0500100 t closes\t[arm]\n"
			      "ffffffffc0500042 t L0_is_a_label_too\t[arm]\n";

static const struct lookup module_lookups[] = {
	{ 0xffffffffc0400000, "one", "x86", 0xffffffffc0400000, 0x40 },
	{ 0xffffffffc0400110, "two", "x86", 0xffffffffc0400040, 0xf0 },
	{ 0xffffffffc0400138, NULL }, /* padding */
	{ 0xffffffffc0400140, "three", "x86", 0xffffffffc0400140, 0x40 },
	{ 0xffffffffc0401fff, "module_exit", "x86", 0xffffffffc0400180, 0x1e80 },
	{ 0xffffffffc0402000, NULL }, /* data */
	{ 0xffffffffc0404000, NULL },
	{ 0xffffffffc0500000, NULL }, /* before the first function */
	{ 0xffffffffc0500050, "opens", "arm", 0xffffffffc0500008, 0xf8 },
	{ 0xffffffffc0500100, "closes", "arm", 0xffffffffc0500100, 0x1f10 },
	{ 0xffffffffc0502010, NULL },
};

START_TEST(test_lookup_modules)
{
	check_lookup(&module_lookups[_i], modules, sizeof(modules) - 1);
}
END_TEST

START_TEST(test_find)
{
	struct sym_kallsyms *ks = open_image();
	struct sym_ksym s[2] = { 0 };

	ck_assert_uint_eq(sym_kallsyms_find(ks, "first", s, 2), 1);
	ck_assert_uint_eq(s[0].addr, 0xffffffff81000110);
	ck_assert_uint_eq(sym_kallsyms_find(ks, "_text", s, 2), 1); /* an alias that lookup hides */
	ck_assert_uint_eq(s[0].addr, 0xffffffff81000000);
	ck_assert_uint_eq(sym_kallsyms_find(ks, "twice", s, 1), 2);
	ck_assert_uint_eq(s[0].addr, 0xffffffff81000280);
	ck_assert_uint_eq(sym_kallsyms_find(ks, "twice", s, 2), 2);
	ck_assert_str_eq(s[1].module, "mod_b");
	ck_assert_uint_eq(sym_kallsyms_find(ks, "_etext", s, 2), 1);
	ck_assert_uint_eq(s[0].size, 0);
	ck_assert_uint_eq(sym_kallsyms_find(ks, "__pfx_first", s, 2), 0);
	ck_assert_uint_eq(sym_kallsyms_find(ks, "data", s, 2), 0);
	ck_assert_uint_eq(sym_kallsyms_find(ks, "twic", NULL, 0), 0);
	sym_kallsyms_close(ks);
}
END_TEST

static int count(void *ctx, const struct sym_ksym *sym)
{
	(void)sym;
	++*(int *)ctx;
	return 0;
}

START_TEST(test_find_in_modules)
{
	struct sym_kallsyms *ks = NULL;
	struct sym_ksym s;
	int functions = 0;

	ck_assert_int_eq(open_text(&ks, modules, sizeof(modules) - 1), 0);
	ck_assert_uint_eq(sym_kallsyms_find(ks, "cleanup_module", &s, 1), 1);
	ck_assert_uint_eq(s.size, 0x1e80);
	ck_assert_uint_eq(sym_kallsyms_find(ks, "lock", NULL, 0), 0);
	ck_assert_uint_eq(sym_kallsyms_find(ks, "$x", NULL, 0), 0);
	ck_assert_uint_eq(sym_kallsyms_find(ks, "L0_is_a_label_too", NULL, 0), 0);
	ck_assert_int_eq(sym_kallsyms_glob(ks, "*", count, &functions), 0);
	ck_assert_int_eq(functions, 8);
	sym_kallsyms_close(ks);
}
END_TEST

static int collect(void *ctx, const struct sym_ksym *sym)
{
	char *text = ctx;

	strcat(strcat(text, sym->name), " ");
	return !strcmp(sym->name, "mod_a_two") ? 7 : 0;
}

START_TEST(test_glob)
{
	struct sym_kallsyms *ks = open_image();
	char text[256] = "";

	ck_assert_int_eq(sym_kallsyms_glob(ks, "bpf_prog_*", collect, text), 0);
	ck_assert_str_eq(text, "bpf_prog_fedcba9876543210 bpf_prog_0123456789abcdef_count ");
	text[0] = '\0';
	ck_assert_int_eq(sym_kallsyms_glob(ks, "mod_?_*", collect, text), 7);
	ck_assert_str_eq(text, "mod_a_one mod_a_two ");
	text[0] = '\0';
	ck_assert_int_eq(sym_kallsyms_glob(ks, "[fw]*", collect, text), 0);
	ck_assert_str_eq(text, "first weak ");
	sym_kallsyms_close(ks);
}
END_TEST

START_TEST(test_refusals)
{
	static const char restricted[] = "0000000000000000 T _stext\n0000000000000000 t first\n";
	static const char nothing[] = "\n\n \nffffffff81000000\nffffffff81000000 T \n"
				      "ffffffff81000000 D data\nxyz T name\n"
				      "11112222333344445 T seventeen_digits\n";
	struct sym_kallsyms *ks = (void *)path;

	ck_assert_int_eq(open_text(&ks, restricted, sizeof(restricted) - 1), -EACCES);
	ck_assert_int_eq(open_text(&ks, nothing, sizeof(nothing) - 1), -ENODATA);
	ck_assert_int_eq(open_text(&ks, "", 0), -ENODATA);
	ck_assert_int_eq(sym_kallsyms_open(&ks, "/nonexistent"), -ENOENT);
	ck_assert_int_eq(sym_kallsyms_open(&ks, "/tmp"), -EISDIR);
	ck_assert_ptr_eq(ks, path);
}
END_TEST

/* Bytes that are no text, a NUL in a name, a line longer than any buffer, no newline at the end. */
START_TEST(test_garbage)
{
	static char text[300000];
	struct sym_kallsyms *ks = NULL;
	struct sym_ksym sym;
	size_t len;

	memset(text, 'a', sizeof(text));
	len = 200000;
	len += sprintf(text + len, "\nffffffff81000000 T good\nffffffff81000010 T b") + 1;
	len += sprintf(text + len, "ad\n\xff\xfe\x01 T x\nffffffff81000020 t fun c\n");
	len += sprintf(text + len, "ffffffff81000030 t torn");
	ck_assert_int_eq(open_text(&ks, text, len), 0);
	ck_assert_int_eq(sym_kallsyms_lookup(ks, 0xffffffff81000005, &sym), 0);
	ck_assert_str_eq(sym.name, "good");
	ck_assert_uint_eq(sym.size, 0x20);
	ck_assert_int_eq(sym_kallsyms_lookup(ks, 0xffffffff81000020, &sym), 0);
	ck_assert_str_eq(sym.name, "fun c");
	ck_assert_uint_eq(sym_kallsyms_find(ks, "torn", NULL, 0), 0);
	sym_kallsyms_close(ks);
}
END_TEST

/* Addresses in no order at all, aliases among them: every one must be found as written. */
START_TEST(test_unsorted)
{
	enum { N = 5000 };
	static char text[N * 64];
	struct sym_kallsyms *ks = NULL;
	struct sym_ksym sym;
	char name[32];
	size_t len = 0;

	for (uint32_t i = 0; i < N; i++) {
		uint32_t slot = i * 761 % N; /* a permutation: N has no factor in common */

		len += sprintf(text + len, "%x t f%u\n", 0x1000 + slot * 16, slot);
		if (slot % 7 == 0)
			len += sprintf(text + len, "%x T alias%u\n", 0x1000 + slot * 16, slot);
	}
	ck_assert_int_eq(open_text(&ks, text, len), 0);
	for (uint32_t i = 0; i < N; i++) {
		ck_assert_int_eq(sym_kallsyms_lookup(ks, 0x100f + i * 16, &sym), 0);
		sprintf(name, "f%u", i);
		ck_assert_str_eq(sym.name, name);
		ck_assert_uint_eq(sym.addr, 0x1000 + i * 16);
	}
	ck_assert_int_eq(sym_kallsyms_lookup(ks, 0xfff, &sym), -ENOENT);
	sym_kallsyms_close(ks);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kallsyms");
	TCase *t = tcase_create("kallsyms");
	SRunner *r = srunner_create(s);
	int failed;

	if (close(mkstemp(path)))
		return EXIT_FAILURE;
	suite_add_tcase(s, t);
	tcase_add_loop_test(t, test_lookup_arm64, 0,
			    sizeof(arm64_lookups) / sizeof(arm64_lookups[0]));
	tcase_add_loop_test(t, test_lookup_modules, 0,
			    sizeof(module_lookups) / sizeof(module_lookups[0]));
	tcase_add_loop_test(t, test_lookup, 0, sizeof(lookups) / sizeof(lookups[0]));
	tcase_add_test(t, test_find);
	tcase_add_test(t, test_find_in_modules);
	tcase_add_test(t, test_glob);
	tcase_add_test(t, test_refusals);
	tcase_add_test(t, test_garbage);
	tcase_add_test(t, test_unsorted);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	unlink(path);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
