/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of another process: no page is touched that is not there. */
#include <check.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/remote.h"

/* Newer than the headers: Linux 6.7 */
#define WP_UNPOPULATED (1 << 13)
#define WP_ASYNC (1 << 15)

static long page_size;

/* A page of this program, whose file may be one that waits; nobody has read it. */
static char *map_page(void)
{
	const int fd = open("/proc/self/exe", O_RDONLY);
	char *page = mmap(NULL, (size_t)page_size, PROT_READ, MAP_PRIVATE, fd, 0);

	ck_assert_ptr_ne(page, MAP_FAILED);
	close(fd);
	return page;
}

static bool read_how(const char *at, bool by_files)
{
	struct record_remote r = { .pid = getpid(), .by_files = by_files };
	char out[4] = "";
	const bool did = record_remote_read(&r, (uintptr_t)at, out, sizeof(out));

	record_remote_close(&r);
	ck_assert(!did || !memcmp(out, at, sizeof(out)));
	return did;
}

static bool can_read(const char *at)
{
	return read_how(at, false);
}

START_TEST(test_what_is_there)
{
	char *page = map_page();
	volatile char first;

	ck_assert(!can_read(page));
	first = page[0];
	ck_assert_int_eq(first, '\177');
	ck_assert(can_read(page));
}
END_TEST

/* False: not on this kernel, or not for this user. */
static bool protect(char *page)
{
	const int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	struct uffdio_api api = { .api = UFFD_API, .features = WP_UNPOPULATED | WP_ASYNC };
	struct uffdio_register all = { .range = { (uintptr_t)page, (uint64_t)page_size },
				       .mode = UFFDIO_REGISTER_MODE_WP };
	struct uffdio_writeprotect how = { .range = all.range,
					   .mode = UFFDIO_WRITEPROTECT_MODE_WP };

	return fd >= 0 && !ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &all) &&
	       !ioctl(fd, UFFDIO_WRITEPROTECT, &how);
}

START_TEST(test_what_is_protected_only)
{
	char *page = map_page();

	if (!protect(page)) {
		printf("skipped: no write protection of pages that are not there\n");
		return;
	}
	ck_assert(!can_read(page));
	ck_assert_int_eq(page[0], '\177');
	ck_assert(can_read(page));
}
END_TEST

START_TEST(test_from_the_file)
{
	char *page = map_page(), *none;

	if (protect(page))
		ck_assert(!can_read(page));
	ck_assert(read_how(page, true));
	none = mmap(NULL, (size_t)page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(none, MAP_FAILED);
	ck_assert(!read_how(none, true));
}
END_TEST

/* Pages that are there, and one of the file between them. */
START_TEST(test_both)
{
	const size_t n = 3 * (size_t)page_size;
	const int fd = open("/proc/self/exe", O_RDONLY);
	char *pages = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	struct record_remote r = { .pid = getpid(), .by_files = true };
	char *expected = malloc(n), *got = malloc(n);

	ck_assert(pages != MAP_FAILED && expected && got);
	ck_assert_int_eq(pread(fd, expected, n, 0), (ssize_t)n);
	close(fd);
	pages[1] = expected[1] = 'x';
	pages[n - 1] = expected[n - 1] = 'y';
	madvise(pages + page_size, (size_t)page_size, MADV_DONTNEED);
	ck_assert(!can_read(pages + page_size));
	ck_assert_uint_eq(record_remote_read_some(&r, (uintptr_t)pages + 1, got + 1, n - 1), n - 1);
	ck_assert(!memcmp(got + 1, expected + 1, n - 1));
	ck_assert(!can_read(pages + page_size));
	munmap(pages + page_size, (size_t)page_size);
	record_remote_close(&r);
	ck_assert_uint_eq(record_remote_read_some(&r, (uintptr_t)pages, got, n), (size_t)page_size);
	record_remote_close(&r);
	free(expected);
	free(got);
}
END_TEST

START_TEST(test_nothing)
{
	ck_assert(!can_read((const char *)(uintptr_t)page_size));
	ck_assert(!can_read((const char *)(UINTPTR_MAX - 1)));
}
END_TEST

/* What a user could keep locked is read by another thread, piece by piece (base/aside.h). */
START_TEST(test_of_others)
{
	enum { BYTES = (5 << 19) + 3, AT = 1001 };
	struct record_remote r = { .pid = getpid(), .whose = REMOTE_OF_OTHERS, .uid = 1234 };
	char *from = malloc(BYTES), *to = malloc(BYTES);

	for (int i = 0; i < BYTES; i++)
		from[i] = (char)(i * 7 + i / 251);
	ck_assert(record_remote_read(&r, (uintptr_t)from, to, BYTES));
	ck_assert_mem_eq(from, to, BYTES);
	ck_assert_uint_eq(record_remote_read_some(&r, (uintptr_t)from + AT, to, 100), 100);
	ck_assert_mem_eq(from + AT, to, 100);
	ck_assert(!record_remote_read(&r, 0, to, 1));
	record_remote_close(&r);
	ck_assert(!can_read(map_page()));
	free(from);
	free(to);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("memory of others");
	TCase *tc = tcase_create("pages");
	SRunner *r = srunner_create(s);
	int failed;

	page_size = sysconf(_SC_PAGESIZE);
	suite_add_tcase(s, tc);
	tcase_add_test(tc, test_what_is_there);
	tcase_add_test(tc, test_what_is_protected_only);
	tcase_add_test(tc, test_from_the_file);
	tcase_add_test(tc, test_both);
	tcase_add_test(tc, test_nothing);
	tcase_add_test(tc, test_of_others);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
