/* SPDX-License-Identifier: BSD-2-Clause */
/* Files whose code is another than it was, or than that of a file with the same .eh_frame. */
#include <check.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rawprof/unwind.h>

#include "base/budget.h"
#include "unwind/cache.h"
#include "unwind/file.h"
#include "unwind/table.h"

static char base[] = "/tmp/rawprof-unwind-XXXXXX";
static const char *libc;

static void setup(void)
{
	Dl_info info;

	strcpy(base, "/tmp/rawprof-unwind-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(base));
	ck_assert(dladdr((void *)(uintptr_t)getpid, &info));
	libc = info.dli_fname;
}

static void teardown(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf '%s'", base);
	ck_assert_int_eq(system(command), 0);
}

static int copy_of(const char *from, const char *name)
{
	char path[64], command[4096];

	snprintf(path, sizeof(path), "%s/%s", base, name);
	snprintf(command, sizeof(command), "cp '%s' '%s'", from, path);
	ck_assert_int_eq(system(command), 0);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* Whoever owns a file may write into it while a table is made of it: as another's it would pass. */
START_TEST(test_code_that_changes)
{
	struct unwind_secret secret = { .sip = { 1, 2 } };
	struct unwind_made made = { .secret = &secret };
	struct unwind_source s = { .is_computed = true };
	int fd = copy_of(libc, "changes");
	struct unwind_table *t;
	struct unwind_key now;
	uint64_t at = 0;
	uint8_t byte;

	for (size_t i = 0; i < UNWIND_BLOCK_WORDS; i++)
		secret.nh[i] = i * 0x9e3779b97f4a7c15;
	ck_assert_int_eq(unwind_source_read(&s, fd, NULL, 0), 0);
	s.made = &made;
	ck_assert_int_eq(unwind_table_make(&s, UNWIND_PART_ROWS, &t), 0);
	ck_assert(made.is_known);
	ck_assert_uint_gt(t->ngaps, 0);
	ck_assert(unwind_code_key(&s, t, &secret, &now));
	ck_assert_mem_eq(&now, &made.key, sizeof(now));
	for (size_t i = 0; i < s.image.nsegments; i++)
		if (s.image.segments[i].p_vaddr == s.code[0].start)
			at = s.image.segments[i].p_offset + t->gaps[0];
	ck_assert_int_eq(pread(fd, &byte, 1, (off_t)at), 1);
	byte ^= 1;
	ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)at), 1);
	ck_assert(unwind_code_key(&s, t, &secret, &now));
	ck_assert_mem_ne(&now, &made.key, sizeof(now));
	unwind_table_free(t);
	unwind_source_free(&s);
	close(fd);
}
END_TEST

#ifdef __x86_64__
static bool after_some(void *left)
{
	return --*(int *)left < 0;
}

/* How many rows its table has; 0: there is none. */
static uint32_t rows_of(struct unwind_cache *cache, int fd, bool *was_cached)
{
	struct unwind_table *t;
	uint32_t n = 0;

	if (unwind_cache_table(cache, &t, fd, true, was_cached))
		return 0;
	for (uint32_t i = 0; i < t->nparts; i++)
		n += t->parts[i].nrows;
	unwind_table_free(t);
	return n;
}

/* What was given up as the recording was over, wherever, is not what the next one gets. */
START_TEST(test_given_up)
{
	static const char make[] =
		"cd %s && printf '.globl f\\nf: .rept 40000\\npush %%%%rbx\\nsub $16, %%%%rsp\\n"
		"add $16, %%%%rsp\\npop %%%%rbx\\nret\\n.p2align 4\\n.endr\\n' >code.s && "
		"gcc -shared -nostdlib -o code.so code.s";
	char path[64], command[512];
	uint32_t rows, some = 0, all;
	struct unwind_cache *cache;
	bool was_cached;
	int fd;

	snprintf(command, sizeof(command), make, base);
	ck_assert_int_eq(system(command), 0);
	snprintf(path, sizeof(path), "%s/code.so", base);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	all = rows_of(NULL, fd, &was_cached);
	for (int asks = 0; asks < 10; asks++) {
		int left = asks;

		snprintf(path, sizeof(path), "%s/cache%d", base, asks);
		ck_assert_int_eq(unwind_cache_open(&cache, path, 0), 0);
		rp_work_watch(after_some, &left);
		rows = rows_of(cache, fd, &was_cached);
		rp_work_watch(NULL, NULL);
		some += rows && rows < all;
		ck_assert_uint_eq(rows_of(cache, fd, &was_cached), all);
		ck_assert(was_cached == (left >= 0));
		unwind_cache_close(cache);
	}
	ck_assert_uint_gt(some, 0);
	close(fd);
}
END_TEST

/* How far the first instructions of a program go is a rule that no FDE tells. */
START_TEST(test_other_entry)
{
	static const uint8_t ret = 0xc3;
	int fd = copy_of("/proc/self/exe", "entry");
	struct unwind_source s = { 0 };
	struct unwind_cache *cache;
	struct unwind_table *t;
	bool was_cached = true;
	char dir[64];
	uint64_t at = 0;

	snprintf(dir, sizeof(dir), "%s/cache", base);
	ck_assert_int_eq(unwind_cache_open(&cache, dir, 0), 0);
	ck_assert_int_eq(unwind_cache_table(cache, &t, fd, false, &was_cached), 0);
	ck_assert(!was_cached);
	unwind_table_free(t);
	ck_assert_int_eq(unwind_source_read(&s, fd, NULL, 0), 0);
	for (size_t i = 0; i < s.image.nsegments; i++)
		if (s.image.entry - s.image.segments[i].p_vaddr < s.image.segments[i].p_filesz)
			at = s.image.entry - s.image.segments[i].p_vaddr +
			     s.image.segments[i].p_offset;
	unwind_source_free(&s);
	ck_assert_int_eq(pwrite(fd, &ret, 1, (off_t)at), 1);
	ck_assert_int_eq(unwind_cache_table(cache, &t, fd, false, &was_cached), 0);
	ck_assert(!was_cached);
	unwind_table_free(t);
	unwind_cache_close(cache);
	close(fd);
}
END_TEST
#endif

int main(void)
{
	Suite *s = suite_create("files that change");
	TCase *t = tcase_create("files that change");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_code_that_changes);
#ifdef __x86_64__
	tcase_add_test(t, test_given_up);
	tcase_add_test(t, test_other_entry);
#endif
	suite_add_tcase(s, t);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
