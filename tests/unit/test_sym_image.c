/* SPDX-License-Identifier: BSD-2-Clause */
/* ELF files with their functions: which are one, and how many a user's may be open. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/budget.h"
#include "symbolize/debug.h"
#include "symbolize/file.h"

#include "sym_elf.h"

static struct sym_strings strings;
static struct sym_files fs;

static void setup(void)
{
	sym_files_init(&fs, &strings, "/proc");
}

static void teardown(void)
{
	sym_files_free(&fs);
	sym_strings_free(&strings);
}

/* What is known of a new file of @owner with that build-id; NULL: its descriptor has no room. */
static struct sym_image *image(uid_t owner, uint32_t id)
{
	static const struct elf_symbol alpha = { "alpha", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 0 };
	const struct sym_debug_place place = { .proc = "/proc",
					       .pid = (uint32_t)getpid(),
					       .path = "/nowhere/file" };
	const int fd = memfd_create("image", MFD_CLOEXEC);
	static struct elf_file file;
	struct sym_object *object;
	struct sym_image *out;
	int err;

	ck_assert_int_ge(fd, 0);
	elf_build(&file, &alpha, 1, &alpha, 1, (const uint8_t *)&id);
	ck_assert_int_eq(write(fd, file.bytes, file.size), (ssize_t)file.size);
	ck_assert(!fchown(fd, owner, owner));
	ck_assert_int_eq(sym_object_open(&object, fd), 0);
	err = sym_image_get(&fs, object, &place, &out);
	ck_assert(err == 0 || err == -EMFILE || err == -EDQUOT);
	ck_assert_int_eq(err == 0, out != NULL);
	return out;
}

static uint32_t images(uid_t owner, uint32_t first, uint32_t n)
{
	uint32_t open = 0;

	for (uint32_t i = 0; i < n; i++)
		open += image(owner, first + i) != NULL;
	return open;
}

START_TEST(copies_are_one)
{
	struct sym_image *one = image(getuid(), 1), *theirs;

	ck_assert_ptr_eq(image(getuid(), 1), one);
	ck_assert_ptr_ne(image(getuid(), 2), one);
	if (getuid())
		return; /* no file is another user's */
	theirs = image(1000, 1);
	ck_assert_ptr_ne(theirs, one);
	ck_assert_ptr_eq(image(1000, 1), theirs);
	ck_assert_ptr_ne(image(1001, 1), theirs);
	ck_assert_ptr_eq(image(getuid(), 1), one);
	ck_assert_uint_eq(fs.held, 2);
}
END_TEST

START_TEST(a_user_has_not_all_descriptors)
{
	struct rlimit limit;

	if (getuid()) {
		printf("skip: files of other users need root\n");
		return;
	}
	ck_assert(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = 128;
	ck_assert(!setrlimit(RLIMIT_NOFILE, &limit));
	ck_assert_uint_eq(images(1000, 100, 70), 32); /* half of the 64 that are for users */
	ck_assert_uint_eq(images(1000, 100, 32), 32); /* they are known */
	ck_assert_uint_eq(images(1001, 100, 70), 16);
	ck_assert_uint_eq(images(getuid(), 100, 20), 20);
	ck_assert_uint_eq(fs.held, 48);
	for (int i = 0; i <= SYM_FILES_AGE; i++)
		sym_files_rest(&fs);
	ck_assert_uint_eq(fs.held, 0);
	ck_assert_ptr_null(fs.images);
	ck_assert_uint_eq(images(1001, 100, 70), 32);
}
END_TEST

/* As if its files had taken so long, and as if they were so large. */
START_TEST(a_user_has_not_all_time_and_memory)
{
	if (getuid()) {
		printf("skip: files of other users need root\n");
		return;
	}
	ck_assert_ptr_nonnull(image(1000, 1));
	ck_assert_ptr_nonnull(image(1001, 1));
	ck_assert_uint_gt(fs.held_bytes, 0);
	sym_held_has_read(&fs, 1000, 5000000000, 0);
	ck_assert_ptr_null(image(1000, 2));
	ck_assert_ptr_nonnull(image(1000, 1));
	ck_assert_ptr_nonnull(image(1001, 2));
	sym_files_rest(&fs);
	ck_assert_ptr_nonnull(image(1000, 2));
	sym_held_has_read(&fs, 1000, 0, (int64_t)(rp_memory_most() / 2));
	ck_assert_ptr_null(image(1000, 3));
	ck_assert_ptr_nonnull(image(1001, 3));
	sym_held_has_read(&fs, 1001, 0, (int64_t)(rp_memory_most() / 4));
	ck_assert_ptr_null(image(1001, 4));
	ck_assert_ptr_nonnull(image(1002, 1));
	ck_assert_ptr_nonnull(image(getuid(), 3));
	sym_held_has_read(&fs, 1000, 0, -(int64_t)(rp_memory_most() / 2));
	ck_assert_ptr_nonnull(image(1000, 3));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("images");
	TCase *tc = tcase_create("images");
	SRunner *r = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, copies_are_one);
	tcase_add_test(tc, a_user_has_not_all_descriptors);
	tcase_add_test(tc, a_user_has_not_all_time_and_memory);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
