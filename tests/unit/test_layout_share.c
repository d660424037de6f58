/* SPDX-License-Identifier: BSD-2-Clause */
/* Layouts that files say: equal ones are one, and nobody's files take all places. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/mapped_file.h"
#include "record/name_share.h"
#include "record/python.h"
#include "record/v8.h"
#include "symbolize/proc.h"

#include "sym_elf.h"

static struct elf_file elf;
static struct name_share *share;
static long changes;
static uid_t owner; /* of the files, if this is root */

static void setup(void)
{
	changes = 0;
	owner = getuid();
	ck_assert_int_eq(record_name_share_open(&share), 0);
}

static void teardown(void)
{
	record_name_share_close(share);
}

static int open_file(void *ctx)
{
	const int fd = memfd_create("node", 0);

	(void)ctx;
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, elf.bytes, elf.size), (ssize_t)elf.size);
	ck_assert_int_eq(fchown(fd, owner, (gid_t)-1), 0);
	return fd;
}

static struct sym_proc_map mapping(const char *path)
{
	return (struct sym_proc_map){ .start = 0x1000, .end = 0x2000, .inode = 7, .path = path };
}

/* Another file each time, though it has the number of the one before. */
static struct mapped_file mapped(const struct sym_proc_map *m)
{
	const struct stat st = { .st_size = 4096, .st_ctim = { .tv_nsec = ++changes } };

	return (struct mapped_file){ record_file_key(m, &st), m, open_file, NULL };
}

/* ---- V8 */

static uint32_t v8_layout(struct record_v8 *p, uint32_t variation)
{
	static const struct elf_symbol symbols[] = {
		{ "_ZN2v88internal7Version6major_E", ELF_DATA, 4, STT_OBJECT, STB_GLOBAL, S_DATA },
		{ "_ZN2v88internal7Version6minor_E", ELF_DATA + 4, 4, STT_OBJECT, STB_GLOBAL,
		  S_DATA },
		{ "v8dbg_class_Script__name__Object", ELF_DATA + 8, 4, STT_OBJECT, STB_GLOBAL,
		  S_DATA },
	};
	const uint32_t data[] = { 11, 3, variation };
	const struct sym_proc_map m = mapping("/usr/bin/node");
	const struct mapped_file file = mapped(&m);
	struct v8_process process = { 0 };

	elf_build(&elf, symbols, 3, symbols, 0, NULL);
	memcpy(elf.bytes + 0x2000, data, sizeof(data));
	record_v8_mapped(p, (uint32_t)changes, &file, &process);
	return process.layout;
}

/* Of 100 files that all say something else. */
static uint32_t v8_places(struct record_v8 *p, uint32_t from)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < 100; i++)
		n += v8_layout(p, from + i) != 0;
	return n;
}

START_TEST(equal_layouts_of_v8_are_one)
{
	struct record_v8 *p;

	ck_assert_int_eq(record_v8_open(&p, share), 0);
	for (int i = 0; i < 100; i++)
		ck_assert_uint_eq(v8_layout(p, 16), 1);
	ck_assert_uint_eq(v8_layout(p, 24), 2);
	ck_assert_uint_eq(v8_layout(p, 16), 1);
	record_v8_close(p);
}
END_TEST

START_TEST(nobody_takes_all_layouts_of_v8)
{
	struct record_v8 *p;

	ck_assert_int_eq(record_v8_open(&p, share), 0);
	if (!owner)
		owner = 4242;
	ck_assert_uint_eq(v8_places(p, 0), 24);
	ck_assert_uint_ne(v8_layout(p, 0), 0);
	if (!getuid()) {
		owner++;
		ck_assert_uint_eq(v8_places(p, 100), 12);
		owner = 0;
		ck_assert_uint_eq(v8_places(p, 200), 64 - 24 - 12);
	}
	record_v8_close(p);
}
END_TEST

/* A file may have very many symbols that look like those that are asked for. */
static bool has_v8_behind(uint32_t n)
{
	static const struct elf_symbol symbols[] = {
		{ "_ZN2v88internal7Version6major_E", ELF_DATA, 4, STT_OBJECT, STB_GLOBAL, S_DATA },
		{ "_ZN2v88internal7Version6minor_E", ELF_DATA + 4, 4, STT_OBJECT, STB_GLOBAL,
		  S_DATA },
	};
	const int fd = memfd_create("node", MFD_CLOEXEC);
	const uint32_t data[] = { 11, 3 };
	struct sym_v8_layout layout;

	elf_build(&elf, symbols, 2, symbols, 0, NULL);
	memcpy(elf.bytes + 0x2000, data, sizeof(data));
	return record_v8_read_file(
		elf_with_many(&elf, fd, n, (const Elf64_Sym *)(elf.bytes + elf.symbols) + 2),
		"node", &layout);
}

START_TEST(symbols_of_v8_have_an_end)
{
	ck_assert(has_v8_behind(10000));
	ck_assert(!has_v8_behind(20000));
}
END_TEST

/* ---- Python */

static uint32_t python_layout(struct record_python *p, uint64_t variation)
{
	static const struct elf_symbol symbols[] = {
		{ "_PyRuntime", ELF_TEXT, 1024, STT_OBJECT, STB_GLOBAL, S_TEXT },
		{ "PyCode_Type", ELF_DATA, 400, STT_OBJECT, STB_GLOBAL, S_DATA },
		{ "_PyEval_EvalFrameDefault", ELF_PLT, 64, STT_FUNC, STB_GLOBAL, S_PLT },
		{ "Py_Version", ELF_DATA + 400, 4, STT_OBJECT, STB_GLOBAL, S_DATA },
	};
	const uint32_t version = 0x030d00f0;
	uint64_t words[80] = { 0, version, [272 / 8 + 9] = variation };
	const struct sym_proc_map m = mapping("/usr/bin/python3.13");
	const struct mapped_file file = mapped(&m);
	struct python_process process = { 0 };

	memcpy(words, "xdebugpy", 8);
	elf_build(&elf, symbols, 4, symbols, 0, NULL);
	memcpy(elf.bytes + ELF_TEXT, words, sizeof(words));
	memcpy(elf.bytes + 0x2000 + 400, &version, sizeof(version));
	record_python_mapped(p, &file, 0, &process);
	return process.layout;
}

static uint32_t python_places(struct record_python *p, uint32_t from)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < 100; i++)
		n += python_layout(p, from + i) != 0;
	return n;
}

START_TEST(layouts_of_python)
{
	const int map = memfd_create("layouts", 0);
	struct record_python *p;

	ck_assert_int_eq(ftruncate(map, PYTHON_LAYOUTS * sizeof(struct python_layout)), 0);
	ck_assert_int_eq(record_python_open(&p, map, share), 0);
	if (!owner)
		owner = 4242;
	for (int i = 0; i < 100; i++)
		ck_assert_uint_eq(python_layout(p, 0), 1);
	ck_assert_uint_eq(python_places(p, 0), 24);
	if (!getuid()) {
		owner++;
		ck_assert_uint_eq(python_places(p, 100), 12);
		owner = 0;
		ck_assert_uint_eq(python_places(p, 200), 64 - 24 - 12);
	}
	record_python_close(p);
	close(map);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("places for layouts");
	TCase *tc = tcase_create("share");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, tc);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, equal_layouts_of_v8_are_one);
	tcase_add_test(tc, nobody_takes_all_layouts_of_v8);
	tcase_add_test(tc, symbols_of_v8_have_an_end);
	tcase_add_test(tc, layouts_of_python);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
