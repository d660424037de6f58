/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables on disk: the same as built ones, whoever spoils the file, and within bounds. */
#include <check.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <rawprof/unwind.h>

#include "unwind/cache.h"
#include "unwind/known.h"

static char base[] = "/tmp/rawprof-unwind-XXXXXX", dir[PATH_MAX];
static struct unwind_cache *cache;
static const char *libc;

static void setup(void)
{
	Dl_info info;

	strcpy(base, "/tmp/rawprof-unwind-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(base));
	snprintf(dir, sizeof(dir), "%s/cache", base);
	ck_assert(dladdr((void *)(uintptr_t)getpid, &info));
	libc = info.dli_fname;
	cache = NULL;
}

static void teardown(void)
{
	char command[PATH_MAX];

	unwind_cache_close(cache);
	snprintf(command, sizeof(command), "rm -rf '%s'", base);
	ck_assert_int_eq(system(command), 0);
}

static struct unwind_table *get(struct unwind_cache *c, const char *path, bool expect_cached)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct unwind_table *t = NULL;
	bool was_cached = !expect_cached;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(unwind_cache_table(c, &t, fd, true, &was_cached), 0);
	ck_assert_int_eq(was_cached, expect_cached);
	close(fd);
	return t;
}

/* Everything that a reader of a table can see. */
static void check_same(const struct unwind_table *a, const struct unwind_table *b)
{
	ck_assert_int_eq(a->machine, b->machine);
	ck_assert_uint_eq(a->nparts, b->nparts);
	ck_assert_uint_eq(a->nrules, b->nrules);
	ck_assert_uint_eq(a->nfdes, b->nfdes);
	ck_assert_int_eq(memcmp(a->rules, b->rules, a->nrules * sizeof(a->rules[0])), 0);
	ck_assert_int_eq(memcmp(a->fdes, b->fdes, a->nfdes * sizeof(a->fdes[0])), 0);
	ck_assert_int_eq(memcmp(&a->stats, &b->stats, sizeof(a->stats)), 0);
	for (uint32_t i = 0; i < a->nparts; i++) {
		const struct unwind_part *p = &a->parts[i], *q = &b->parts[i];

		ck_assert_uint_eq(p->start, q->start);
		ck_assert_uint_eq(p->npages, q->npages);
		ck_assert_uint_eq(p->nrows, q->nrows);
		ck_assert_int_eq(memcmp(p->index, q->index, (p->npages + 1) * 4), 0);
		ck_assert_int_eq(memcmp(p->rows, q->rows, p->nrows * sizeof(p->rows[0])), 0);
	}
}

/* What is known of a file (test_unwind_known.c) is there or not, by where /tmp is. */
static bool is_known(DIR *d, const char *name)
{
	struct stat st;

	ck_assert_int_eq(fstatat(dirfd(d), name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_size == sizeof(struct unwind_known);
}

/* The number of tables in the cache; the path of one of them. */
static int entries(char path[PATH_MAX])
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.' || !strcmp(e->d_name, "secret") || is_known(d, e->d_name))
			continue;
		n++;
		if (path)
			ck_assert_int_lt(snprintf(path, PATH_MAX, "%s/%s", dir, e->d_name),
					 PATH_MAX);
	}
	closedir(d);
	return n;
}

static void open_cache(uint64_t max)
{
	unwind_cache_close(cache);
	cache = NULL;
	ck_assert_int_eq(unwind_cache_open(&cache, dir, max), 0);
}

START_TEST(test_kept)
{
	struct unwind_table *built = get(NULL, libc, false), *t;
	struct stat st;

	open_cache(0);
	ck_assert_int_eq(stat(dir, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0700);
	t = get(cache, libc, false);
	check_same(built, t);
	unwind_table_free(t);
	ck_assert_int_eq(entries(NULL), 1);
	t = get(cache, libc, true);
	check_same(built, t);
	unwind_table_free(t);
	open_cache(0);
	t = get(cache, libc, true);
	check_same(built, t);
	unwind_table_free(t);
	unwind_table_free(get(cache, "/proc/self/exe", false));
	ck_assert_int_eq(entries(NULL), 2);
	unwind_table_free(built);
}
END_TEST

/* Who does not ask for what takes long gets it all the same once it was made. */
START_TEST(test_computed_earlier)
{
	int fd = open(libc, O_RDONLY | O_CLOEXEC);
	struct unwind_table *plain, *computed, *t;
	bool was_cached = true, has_more = true;

	open_cache(0);
	ck_assert_int_eq(unwind_cache_table(cache, &plain, fd, false, &was_cached), 0);
	ck_assert(!was_cached);
	ck_assert_uint_eq(plain->ngaps, 0);
	ck_assert_int_eq(unwind_cache_first(cache, &t, fd, &has_more), 0);
	ck_assert(!has_more);
	unwind_table_free(t);
	computed = get(cache, libc, false);
	ck_assert_int_eq(unwind_cache_first(cache, &t, fd, &has_more), 0);
	ck_assert(!has_more); /* there is little of it */
	check_same(computed, t);
	unwind_table_free(t);
	ck_assert_int_eq(unwind_cache_table(cache, &t, fd, false, &was_cached), 0);
	ck_assert(was_cached);
	check_same(computed, t);
	ck_assert_uint_eq(t->ngaps, computed->ngaps);
	unwind_table_free(t);
	unwind_table_free(computed);
	unwind_table_free(plain);
	close(fd);
}
END_TEST

#ifdef __x86_64__
extern const char __ehdr_start[], _init[], _fini[];

/* What crti.o and crtn.o begin and end with has no FDE: `sub $8,%rsp` of 4 bytes, and back. */
static void check_hook(const struct unwind_table *t, const char *code)
{
	const char *sub = memcmp(code, "\xf3\x0f\x1e\xfa", 4) ? code : code + 4;
	const uint64_t at = (uint64_t)(sub - __ehdr_start);
	const struct unwind_rule *first = unwind_table_rule(t, at),
				 *then = unwind_table_rule(t, at + 4);

	ck_assert_mem_eq(sub, "\x48\x83\xec\x08", 4);
	ck_assert_int_eq(first->kind, UNWIND_SP);
	ck_assert_int_eq(first->cfa_off, 8);
	ck_assert_int_eq(first->flags, UNWIND_COMPUTED);
	ck_assert_int_eq(then->kind, UNWIND_SP);
	ck_assert_int_eq(then->cfa_off, 16);
}

START_TEST(test_hooks)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct unwind_table *t;
	bool has_more;

	ck_assert_int_eq(unwind_cache_first(NULL, &t, fd, &has_more), 0);
	ck_assert(!has_more);
	ck_assert_uint_eq(t->ngaps, 0);
	check_hook(t, _init);
	check_hook(t, _fini);
	unwind_table_free(t);
	close(fd);
}
END_TEST
#endif

START_TEST(test_no_table)
{
	struct unwind_table *t = NULL;
	int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

	open_cache(0);
	ck_assert_int_eq(unwind_cache_table(cache, &t, fd, true, NULL), -ENOEXEC);
	ck_assert_int_eq(unwind_cache_table(cache, &t, -1, true, NULL), -EBADF);
	ck_assert_ptr_null(t);
	ck_assert_int_eq(entries(NULL), 0);
	close(fd);
}
END_TEST

/* One byte, anywhere, and the entry is made anew; so it is if it was cut short or grew. */
START_TEST(test_damaged)
{
	struct unwind_table *built = get(NULL, libc, false), *t;
	char path[PATH_MAX];
	struct stat st;

	open_cache(0);
	unwind_table_free(get(cache, libc, false));
	ck_assert_int_eq(entries(path), 1);
	ck_assert_int_eq(stat(path, &st), 0);
	for (off_t at = 0; at < st.st_size; at += at < 400 ? 1 : 8191) {
		int fd = open(path, O_RDWR | O_CLOEXEC);
		uint8_t byte;

		ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
		byte ^= 1 << at % 8;
		ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
		close(fd);
		t = get(cache, libc, false);
		check_same(built, t);
		unwind_table_free(t);
	}
	for (int k = 0; k < 4; k++) {
		ck_assert_int_eq(
			truncate(path, (off_t[]){ 0, 20, st.st_size - 1, st.st_size + 1 }[k]), 0);
		unwind_table_free(get(cache, libc, false));
	}
	t = get(cache, libc, true);
	check_same(built, t);
	unwind_table_free(t);
	unwind_table_free(built);
	ck_assert_int_eq(entries(NULL), 1);
}
END_TEST

/* An entry that others may write to, or that leads elsewhere, is not read. */
START_TEST(test_foreign_entries)
{
	char path[PATH_MAX], moved[PATH_MAX + 8];

	open_cache(0);
	unwind_table_free(get(cache, libc, false));
	ck_assert_int_eq(entries(path), 1);
	ck_assert_int_eq(chmod(path, 0666), 0);
	unwind_table_free(get(cache, libc, false));
	unwind_table_free(get(cache, libc, true));
	snprintf(moved, sizeof(moved), "%s/moved", base);
	ck_assert_int_eq(rename(path, moved), 0);
	ck_assert_int_eq(symlink(moved, path), 0);
	unwind_table_free(get(cache, libc, false));
	unwind_table_free(get(cache, libc, true));
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	unwind_table_free(get(cache, libc, false));
	unwind_table_free(get(cache, libc, true));
}
END_TEST

START_TEST(test_foreign_directory)
{
	struct unwind_cache *c = NULL;
	char link[PATH_MAX + 8];

	ck_assert_int_eq(mkdir(dir, 0700), 0);
	ck_assert_int_eq(chmod(dir, 0770), 0);
	ck_assert_int_eq(unwind_cache_open(&c, dir, 0), -EPERM);
	ck_assert_int_eq(chmod(dir, 0702), 0);
	ck_assert_int_eq(unwind_cache_open(&c, dir, 0), -EPERM);
	ck_assert_int_eq(chmod(dir, 0755), 0);
	ck_assert_int_eq(unwind_cache_open(&c, dir, 0), 0);
	unwind_cache_close(c);
	c = NULL;
	snprintf(link, sizeof(link), "%s/link", base);
	ck_assert_int_eq(symlink(dir, link), 0);
	ck_assert_int_eq(unwind_cache_open(&c, link, 0), -EPERM);
	ck_assert_int_eq(unwind_cache_open(&c, "/nonexistent/deep/down", 0), -ENOENT);
	if (!geteuid()) {
		ck_assert_int_eq(chown(dir, 12345, 0), 0);
		ck_assert_int_eq(unwind_cache_open(&c, dir, 0), -EPERM);
	} else {
		ck_assert_int_eq(unwind_cache_open(&c, "/usr", 0), -EPERM);
	}
	ck_assert_ptr_null(c);
}
END_TEST

START_TEST(test_default_directory)
{
	struct stat st;

	ck_assert_int_eq(mkdir(dir, 0755), 0);
	setenv("XDG_CACHE_HOME", dir, 1);
	ck_assert_int_eq(unwind_cache_open(&cache, NULL, 0), 0);
	strcat(dir, "/rawprof/unwind");
	ck_assert_int_eq(stat(dir, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0700);
	unwind_table_free(get(cache, libc, false));
	ck_assert_int_eq(entries(NULL), 1);
	if (!geteuid())
		return;
	setenv("XDG_CACHE_HOME", "not/absolute", 1);
	setenv("HOME", base, 1);
	unwind_cache_close(cache);
	cache = NULL;
	ck_assert_int_eq(unwind_cache_open(&cache, NULL, 0), 0);
	snprintf(dir, sizeof(dir), "%s/.cache/rawprof/unwind", base);
	ck_assert_int_eq(stat(dir, &st), 0);
	unsetenv("HOME");
	unwind_cache_close(cache);
	cache = NULL;
	ck_assert_int_eq(unwind_cache_open(&cache, NULL, 0), -ENOENT);
}
END_TEST

static void set_used(const char *path, time_t when)
{
	struct timespec t[2] = { { when, 0 }, { when, 0 } };

	ck_assert_int_eq(utimensat(AT_FDCWD, path, t, 0), 0);
}

/* Those used least recently go, leftovers of writers that died too; other files are not touched. */
START_TEST(test_bounded)
{
	struct unwind_table *t = get(NULL, libc, false);
	uint64_t size = unwind_table_size(t);
	char path[PATH_MAX], other[PATH_MAX + 32];
	struct stat st;
	int fd;

	unwind_table_free(t);
	/* Room for libc and this program's own, but not for a third. */
	open_cache(size + size / 4 * 3);
	unwind_table_free(get(cache, libc, false));
	ck_assert_int_eq(entries(path), 1);
	set_used(path, 1000);
	snprintf(other, sizeof(other), "%s/new-0123456789abcdef", dir);
	fd = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(ftruncate(fd, size), 0);
	close(fd);
	set_used(other, 500);
	snprintf(other, sizeof(other), "%s/README", dir);
	fd = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(ftruncate(fd, 10 * size), 0);
	close(fd);
	open_cache(size + size / 4 * 3);
	unwind_table_free(get(cache, "/proc/self/exe", false));
	/* The leftover is gone. */
	ck_assert_int_eq(entries(NULL), 3);
	unwind_table_free(get(cache, "/proc/self/exe", true));
	unwind_table_free(get(cache, libc, true));
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_gt(st.st_mtime, 1000); /* it was used */
	set_used(path, 1000);
	open_cache(size + 1000);
	unwind_table_free(get(cache, "/bin/sh", false));
	/* libc's was used long ago: it is gone, the others and README are there. */
	unwind_table_free(get(cache, "/bin/sh", true));
	unwind_table_free(get(cache, "/proc/self/exe", true));
	ck_assert_int_ne(access(path, F_OK), 0);
	ck_assert_int_eq(access(other, F_OK), 0);
	/* What would not fit at all is not kept. */
	open_cache(size / 2);
	unwind_table_free(get(cache, libc, false));
	unwind_table_free(get(cache, libc, false));
}
END_TEST

/* ---- the secret */

static void secret_path(char path[PATH_MAX])
{
	ck_assert_int_lt(snprintf(path, PATH_MAX, "%s/secret", dir), PATH_MAX);
}

static void read_secret(char secret[2048], size_t *size)
{
	char path[PATH_MAX];
	int fd;

	secret_path(path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	*size = read(fd, secret, 2048);
	close(fd);
}

/* It is made once, for us alone; names of entries depend on it. */
START_TEST(test_secret)
{
	char path[PATH_MAX], first[PATH_MAX], second[PATH_MAX], one[2048], other[2048];
	size_t size, again;
	struct stat st;

	open_cache(0);
	unwind_table_free(get(cache, libc, false));
	ck_assert_int_eq(entries(first), 1);
	secret_path(path);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0600);
	read_secret(one, &size);
	ck_assert_uint_ge(size, 16);
	open_cache(0);
	read_secret(other, &again);
	ck_assert(size == again && !memcmp(one, other, size));
	unwind_table_free(get(cache, libc, true));

	/* Another one: nothing of the first is left. */
	ck_assert_int_eq(unlink(path), 0);
	open_cache(0);
	read_secret(other, &again);
	ck_assert(size == again && memcmp(one, other, size));
	ck_assert_int_eq(entries(NULL), 0);
	unwind_table_free(get(cache, libc, false));
	ck_assert_int_eq(entries(second), 1);
	ck_assert_str_ne(first, second);
}
END_TEST

/* Cut short, longer, readable by others, of another user, no file: it is made anew. */
START_TEST(test_spoilt_secret)
{
	char path[PATH_MAX];
	struct stat st;

	open_cache(0);
	secret_path(path);
	for (int i = 0; i < 7; i++) {
		unwind_table_free(get(cache, libc, false));
		ck_assert_int_eq(stat(path, &st), 0);
		if (i < 3)
			ck_assert_int_eq(truncate(path, (off_t[]){ 0, 8, 4096 }[i]), 0);
		else if (i == 3)
			ck_assert_int_eq(chmod(path, 0604), 0);
		else if (i == 4)
			ck_assert_int_eq(chmod(path, 0640), 0);
		else
			ck_assert_int_eq(unlink(path), 0);
		if (i == 5)
			ck_assert_int_eq(mkfifo(path, 0600), 0);
		if (i == 6)
			ck_assert_int_eq(symlink("/etc/passwd", path), 0);
		open_cache(0);
		ck_assert_int_eq(lstat(path, &st), 0);
		ck_assert(S_ISREG(st.st_mode) && (st.st_mode & 07777) == 0600);
		ck_assert_int_eq(entries(NULL), 0);
	}
	unwind_table_free(get(cache, libc, false));
	unwind_table_free(get(cache, libc, true));
}
END_TEST

/* ---- writing */

static const char name[] = "0123456789abcdef0123456789abcdef";

/* A full disk, and a limit for files, leave nothing that was half written. */
START_TEST(test_no_room)
{
	static char bytes[256 << 10];
	const struct rlimit small = { 4096, RLIM_INFINITY };
	struct unwind_cache_dir d = { .fd = -1, .max_bytes = 1 << 30 };
	struct unwind_table *t;

	open_cache(0);
	d.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	ck_assert_int_eq(unwind_cache_store(&d, name, bytes, sizeof(bytes)), -EFBIG);
	t = get(cache, libc, false); /* it is there all the same */
	unwind_table_free(t);
	ck_assert_int_eq(entries(NULL), 0);
	ck_assert_int_eq(unwind_cache_store(&d, name, bytes, 4096), 0);
	ck_assert_int_eq(entries(NULL), 1);
	ck_assert_int_eq(unwind_cache_store(&d, "secret", bytes, 16), -EINVAL);
	ck_assert_int_eq(unwind_cache_store(&d, "../../etc/passwd", bytes, 16), -EINVAL);
	close(d.fd);
}
END_TEST

START_TEST(test_full_disk)
{
	static char bytes[256 << 10];
	struct unwind_cache_dir d = { .max_bytes = 1 << 30 };

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return; /* not root */
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	ck_assert_int_eq(mount("none", dir, "tmpfs", 0, "size=16k,mode=700"), 0);
	open_cache(0);
	d.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(unwind_cache_store(&d, name, bytes, sizeof(bytes)), -ENOSPC);
	unwind_table_free(get(cache, libc, false));
	ck_assert_int_eq(entries(NULL), 0);
	close(d.fd);
	unwind_cache_close(cache);
	cache = NULL;
	ck_assert_int_eq(umount2(dir, MNT_DETACH), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("unwind tables on disk");
	TCase *t = tcase_create("cache");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_kept);
	tcase_add_test(t, test_computed_earlier);
#ifdef __x86_64__
	tcase_add_test(t, test_hooks);
#endif
	tcase_add_test(t, test_no_table);
	tcase_add_test(t, test_damaged);
	tcase_add_test(t, test_foreign_entries);
	tcase_add_test(t, test_foreign_directory);
	tcase_add_test(t, test_default_directory);
	tcase_add_test(t, test_bounded);
	tcase_add_test(t, test_secret);
	tcase_add_test(t, test_spoilt_secret);
	tcase_add_test(t, test_no_room);
	tcase_add_test(t, test_full_disk);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
