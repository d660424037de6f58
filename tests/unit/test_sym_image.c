/* SPDX-License-Identifier: BSD-2-Clause */
/* ELF files with their functions: which are one, and how many a user's may be open. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

/* A new file of @owner with that build-id: a function, and a variable. */
static int make_file(uid_t owner, uint32_t id)
{
	static const struct elf_symbol symbols[] = {
		{ "alpha", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 0 },
		{ "beta", 0x1800, 0x10, STT_OBJECT, STB_GLOBAL, 0 },
	};
	const int fd = memfd_create("image", MFD_CLOEXEC);
	static struct elf_file file;

	ck_assert_int_ge(fd, 0);
	elf_build(&file, symbols, 2, symbols, 1, (const uint8_t *)&id);
	ck_assert_int_eq(write(fd, file.bytes, file.size), (ssize_t)file.size);
	ck_assert(!fchown(fd, owner, owner));
	return fd;
}

/* What is known of it; NULL: its descriptor has no room. */
static struct sym_image *image(uid_t owner, uint32_t id)
{
	const struct sym_debug_place place = { .proc = "/proc",
					       .pid = (uint32_t)getpid(),
					       .path = "/nowhere/file" };
	struct sym_object *object;
	struct sym_image *out;
	int err;

	ck_assert_int_eq(sym_object_open(&object, make_file(owner, id)), 0);
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

enum { NOTES = 1000 };

/* One that says that it has so many notes: each is read when it is opened. */
static int make_slow_file(uid_t owner)
{
	static const struct elf_symbol alpha = { "alpha", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 0 };
	const int fd = memfd_create("image", MFD_CLOEXEC);
	static Elf64_Shdr sections[S_COUNT + NOTES];
	static struct elf_file file;
	Elf64_Ehdr header;

	ck_assert_int_ge(fd, 0);
	elf_build(&file, &alpha, 1, &alpha, 1, NULL);
	memcpy(&header, file.bytes, sizeof(header));
	memcpy(sections, file.bytes + header.e_shoff, S_COUNT * sizeof(sections[0]));
	for (int i = S_COUNT; i < S_COUNT + NOTES; i++)
		sections[i] = (Elf64_Shdr){ .sh_type = SHT_NOTE, .sh_size = 64, .sh_addralign = 4 };
	header.e_shoff = (file.size + 7) & ~7ULL;
	header.e_shnum = S_COUNT + NOTES;
	memcpy(file.bytes, &header, sizeof(header));
	ck_assert_int_eq(write(fd, file.bytes, file.size), (ssize_t)file.size);
	ck_assert_int_eq(pwrite(fd, sections, sizeof(sections), (off_t)header.e_shoff),
			 sizeof(sections));
	ck_assert(!fchown(fd, owner, owner));
	return fd;
}

/* How often this process has read from files. */
static unsigned long reads(void)
{
	FILE *f = fopen("/proc/self/io", "re");
	unsigned long n = 0;
	char line[64];

	while (f && fgets(line, sizeof(line), f) && sscanf(line, "syscr: %lu", &n) != 1)
		;
	if (f)
		fclose(f);
	return n;
}

/* What is found behind a mapping of the file, under a path of its own; and how often that read. */
static struct sym_image *mapped(int fd, const char *path, unsigned long *times)
{
	struct sym_mapping m = { .end = 0x2000, .pid = (uint32_t)getpid() & 0x7fffffff };
	void *at = mmap(NULL, m.end, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	struct sym_file key = { .path = path };
	struct sym_image *out;
	struct stat st;

	ck_assert_ptr_ne(at, MAP_FAILED);
	ck_assert(!fstat(fd, &st));
	key.dev = st.st_dev;
	key.inode = st.st_ino;
	m.start = (uintptr_t)at;
	m.end += m.start;
	ck_assert_int_eq(sym_files_add(&fs, m.pid, &key, &m.file), 0);
	*times = reads();
	out = sym_files_image(&fs, m.pid, &m);
	*times = reads() - *times;
	munmap(at, 0x2000);
	return out;
}

/* Opening a file may be what takes long. */
START_TEST(opening_is_paid_for)
{
	const int first = make_slow_file(1000), second = make_slow_file(1000);
	unsigned long times, asked = reads();
	struct sym_image *one;

	if (getuid() || reads() - asked != 1) {
		printf("skip: files of other users need root, and the kernel has to count reads\n");
		return;
	}
	one = mapped(first, "/nowhere/one", &times);
	ck_assert_ptr_nonnull(one);
	ck_assert_uint_ge(times, NOTES);
	ck_assert_ptr_eq(mapped(first, "/nowhere/link", &times), one);
	ck_assert_uint_lt(times, NOTES);
	sym_held_has_read(&fs, 1000, 5000000000, 0);
	ck_assert_ptr_null(mapped(second, "/nowhere/two", &times));
	ck_assert_uint_lt(times, NOTES);
	ck_assert_ptr_eq(mapped(first, "/nowhere/third", &times), one);
	close(first);
	close(second);
}
END_TEST

START_TEST(variables_are_paid_for)
{
	struct sym_frame function = { .module_addr = 0x1000 }, out;

	if (getuid()) {
		printf("skip: files of other users need root\n");
		return;
	}
	function.image = image(1000, 1);
	sym_held_has_read(&fs, 1000, 5000000000, 0);
	ck_assert(!sym_user_data(&function, 0x1000, 0x1804, &out));
	sym_files_rest(&fs);
	ck_assert(sym_user_data(&function, 0x1000, 0x1804, &out));
	ck_assert_str_eq(out.name, "beta");
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
	tcase_add_test(tc, opening_is_paid_for);
	tcase_add_test(tc, variables_are_paid_for);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
