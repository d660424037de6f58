/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In a user namespace of their own, users mount what they like: an overlay, whose files show
 * another device in mappings than in stat(2), with a file that has the inode number and the path of
 * everybody's library. Its functions are those of that user's processes, and nobody else's.
 */
#include <sys/prctl.h>
#include <sys/stat.h>

#include "no_fuse.h"
#include "test_loader.h"

#include "record/mapped_file.h"
#include "record/remote.h"
#include "symbolize/file.h"
#include "symbolize/object.h"
#include "symbolize/strings.h"

enum { UID = 4321, FILES = 500, MOST_FILES = 100000 };

/* Where the library is, and what the others' is. */
static char dir[] = "/tmp/rawprof-outsiders-XXXXXX";

static bool put(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	const bool is_put = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return is_put;
}

/* The inode number of a new, empty file; 0: there is none. */
static uint64_t make_file(const char *path)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat st = { 0 };

	if (fd < 0 || fstat(fd, &st))
		return 0;
	close(fd);
	return st.st_ino;
}

static bool copy_to(const char *path, const char *from)
{
	const int in = open(from, O_RDONLY | O_CLOEXEC), out = open(path, O_WRONLY | O_CLOEXEC);
	char some[65536];
	ssize_t n = -1;

	while (in >= 0 && out >= 0 && (n = read(in, some, sizeof(some))) > 0)
		if (write(out, some, (size_t)n) != n)
			return false;
	close(in);
	close(out);
	return !n;
}

/* The library has been made after so many other files. */
static bool make_library(struct stat *st)
{
	if (mkdir("o", 0755) || mount("none", "o", "tmpfs", 0, NULL))
		return false;
	for (int i = 0; i < FILES; i++)
		if (!make_file("o/lib.so") || unlink("o/lib.so"))
			return false;
	return make_file("o/lib.so") && copy_to("o/lib.so", "/proc/self/exe") &&
	       !stat("o/lib.so", st);
}

/* ---- the others' */

static bool enter_namespaces(void)
{
	char map[32];

	snprintf(map, sizeof(map), "0 %d 1", UID);
	return !setgid(UID) && !setuid(UID) && !prctl(PR_SET_DUMPABLE, 1) &&
	       !unshare(CLONE_NEWUSER | CLONE_NEWNS) && put("/proc/self/setgroups", "deny") &&
	       put("/proc/self/uid_map", map) && put("/proc/self/gid_map", map);
}

/* An overlay, at "o" there, that has such a file. */
static bool make_overlay(const char *place, const char *options, uint64_t inode)
{
	uint64_t made = 0;
	struct stat st;

	if (mount("none", place, "tmpfs", 0, NULL) || chdir(place) || mkdir("l", 0755) ||
	    mkdir("u", 0755) || mkdir("w", 0755) || mkdir("o", 0755))
		return false;
	for (int i = 0; i < MOST_FILES && made != inode; i++)
		if ((made && unlink("u/lib.so")) || !(made = make_file("u/lib.so")))
			return false;
	return copy_to("u/lib.so", "/bin/true") && !mount("none", "o", "overlay", 0, options) &&
	       !stat("o/lib.so", &st) && st.st_ino == inode;
}

/* 0: such files cannot be made here. */
static pid_t start_other(uint64_t inode)
{
	char is_made = 0;
	int ready[2];
	pid_t pid;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		is_made = enter_namespaces() &&
			  make_overlay(dir, "lowerdir=l,upperdir=u,workdir=w,userxattr", inode);
		if (write(ready[1], &is_made, 1) != 1 || !is_made)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ck_assert_int_ge(read(ready[0], &is_made, 1), 0);
	close(ready[0]);
	return is_made ? pid : 0;
}

/* ---- */

static struct sym_strings strings;
static struct sym_files files;
static struct stat library;
static struct sym_mapping mapping; /* of the library; nobody has it any more */

/* Some files of others come first. */
static void add_library(uint32_t pid, uint32_t others)
{
	char path[128];
	struct sym_file key = { .path = path, .dev = library.st_dev };

	sym_files_init(&files, &strings, "/proc");
	for (uint32_t i = 0; i <= others; i++) {
		snprintf(path, sizeof(path), "%s/o/%s.so", dir, i < others ? "other" : "lib");
		key.inode = i < others ? i + 1 : library.st_ino;
		ck_assert_int_eq(sym_files_add(&files, pid, &key, &mapping.file), 0);
	}
}

static void free_files(void)
{
	sym_files_free(&files);
	sym_strings_free(&strings);
	strings = (struct sym_strings){ 0 };
}

static void make_places(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert(!chmod(dir, 0755) && !chdir(dir));
	ck_assert(make_library(&library));
	mapping = (struct sym_mapping){ .start = 4096, .end = 8192 };
}

static void remove_places(void)
{
	ck_assert(!chdir(dir) && !rmdir("o") && !chdir("/") && !rmdir(dir));
}

static void is_the_library(const struct sym_image *image)
{
	struct stat st;

	ck_assert_ptr_nonnull(image);
	ck_assert(!fstat(image->object->fd, &st));
	ck_assert(st.st_dev == library.st_dev && st.st_ino == library.st_ino);
}

/* What is at the path here is the library, whoever asks. */
static void check_library(uint32_t other)
{
	add_library(other, 0);
	is_the_library(sym_files_image(&files, other, &mapping));
	is_the_library(sym_files_image(&files, (uint32_t)getpid(), &mapping));
	free_files();
}

/* What has its number is for nobody else, as where the library is only in a container. */
static void check_own(uint32_t other)
{
	const struct sym_image *theirs = sym_files_image(&files, other, &mapping);

	ck_assert_ptr_nonnull(theirs);
	ck_assert_uint_eq(theirs->object->owner, UID);
	ck_assert_ptr_null(sym_files_image(&files, (uint32_t)getpid(), &mapping));
	ck_assert_ptr_eq(sym_files_image(&files, other, &mapping), theirs);
}

/* A number that no process has. */
#define ENDED 0x7ffffff0

/* Processes that have ended had it as well, unless there are two who may have had another. */
static void check_ended(uint32_t other)
{
	struct sym_mapping forked = mapping;
	struct sym_file *f;

	ck_assert_ptr_null(sym_files_image(&files, ENDED, &mapping));
	check_own(other);
	ck_assert_ptr_eq(sym_files_image(&files, ENDED, &mapping),
			 sym_files_image(&files, other, &mapping));
	f = &files.items[mapping.file];
	ck_assert_uint_eq(f->only, UID);
	f->only = UID + 1;
	check_own(other);
	ck_assert_ptr_null(sym_files_image(&files, ENDED, &mapping));
	forked.pid = other; /* which lives */
	ck_assert_ptr_eq(sym_files_image(&files, ENDED, &forked),
			 sym_files_image(&files, other, &mapping));
}

/* It was open already when its functions are asked for. */
static void check_kept(uint32_t other)
{
	struct sym_mapping own = mapping;

	own.file = sym_files_keep(&files, other, &mapping);
	ck_assert_uint_ne(own.file, mapping.file);
	ck_assert_uint_eq(sym_files_keep(&files, other, &own), own.file);
	check_own(other);
}

START_TEST(one_has_a_file_of_its_own)
{
	pid_t other;

	if (!knows_of_no_fuse())
		skip_test("FUSE may be served here");
	make_places();
	other = start_other(library.st_ino);
	if (other)
		check_library((uint32_t)other);
	ck_assert(!umount("o"));
	for (uint32_t n = 0; other && n < 40; n++) { /* one more may move them all */
		add_library((uint32_t)other, n);
		check_own((uint32_t)other);
		free_files();
		add_library((uint32_t)other, n);
		check_ended((uint32_t)other);
		free_files();
		add_library((uint32_t)other, n);
		check_kept((uint32_t)other);
		free_files();
	}
	if (other) {
		kill(other, SIGKILL);
		waitpid(other, NULL, 0);
	}
	remove_places();
	if (!other)
		skip_test("no overlay in a user namespace");
}
END_TEST

/* ---- paths that lead to another file by now */

static pid_t map_file(const char *path, uid_t uid, void **at)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	int ready[2];
	char byte;
	pid_t pid;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pipe(ready), 0);
	*at = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	ck_assert_ptr_ne(*at, MAP_FAILED);
	close(fd);
	pid = fork();
	if (!pid && !setgid(uid) && !setuid(uid) && write(ready[1], "", 1) == 1)
		for (;;)
			pause();
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	munmap(*at, 1);
	return pid;
}

/* From the file, as it has never looked there itself. */
static bool is_read(const char *path, uid_t uid)
{
	void *at;
	struct record_remote r = { .pid = map_file(path, uid, &at), .by_files = true };
	bool is_read;
	char first;

	is_read = record_remote_read(&r, (uintptr_t)at, &first, 1);
	record_remote_close(&r);
	kill(r.pid, SIGKILL);
	waitpid(r.pid, NULL, 0);
	return is_read;
}

/* In our namespace, of a file that was handed over, at the place of the library. */
START_TEST(one_has_mapped_another)
{
	void *at;
	bool is_made;
	pid_t other;

	if (!knows_of_no_fuse())
		skip_test("FUSE may be served here");
	make_places();
	ck_assert(!mkdir("b", 0755));
	is_made = make_overlay("b", "lowerdir=l,upperdir=u,workdir=w", library.st_ino);
	if (is_made) {
		other = map_file("o/lib.so", UID, &at);
		mapping.start = (uintptr_t)at;
		mapping.end = mapping.start + (uint64_t)sysconf(_SC_PAGESIZE);
		add_library((uint32_t)other, 0);
		is_the_library(sym_files_image(&files, (uint32_t)other, &mapping));
		is_the_library(sym_files_image(&files, (uint32_t)getpid(), &mapping));
		free_files();
		kill(other, SIGKILL);
		waitpid(other, NULL, 0);
		ck_assert(!umount("o"));
	}
	ck_assert(!chdir(dir) && !umount2("b", MNT_DETACH) && !rmdir("b") && !umount("o"));
	remove_places();
	if (!is_made)
		skip_test("no overlay here");
}
END_TEST

START_TEST(no_secrets_are_read)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert(!chmod(dir, 0755) && !chdir(dir));
	ck_assert(make_file("secret") && put("secret", "secret") && !chmod("secret", 0600));
	ck_assert(is_read("secret", 0));
	ck_assert(!is_read("secret", UID));
	ck_assert(!chmod("secret", 0604));
	ck_assert(is_read("secret", UID));
	ck_assert(!chmod("secret", 0600) && !chown("secret", UID, UID));
	ck_assert(is_read("secret", UID));
	ck_assert(!unlink("secret") && !rmdir(dir));
}
END_TEST

START_TEST(another_file_is_told)
{
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat exe, other;

	ck_assert(!stat("/proc/self/exe", &exe) && !stat("/bin/true", &other));
	ck_assert(record_is_that_file(fd, &exe));
	ck_assert(!record_is_that_file(fd, &other));
	exe.st_ctim.tv_nsec++; /* its number was given to another one */
	ck_assert(!record_is_that_file(fd, &exe));
	close(fd);
}
END_TEST

struct known {
	struct file_key key;
	int language;
};

static int open_what(void *fd)
{
	return *(int *)fd;
}

/* What one process makes impossible to open is not known to be nothing. */
START_TEST(another_file_is_not_kept)
{
	struct hash_map known = HASH_MAP(struct known, key);
	int is = -ESTALE, fd;
	const struct mapped_file file = { .key = { .inode = 1 }, .open = open_what, .ctx = &is };
	struct known *k;

	ck_assert_ptr_null(record_known_file(&known, &file.key, &file, &fd));
	ck_assert_uint_eq(known.count, 0);
	is = open("/dev/null", O_RDONLY | O_CLOEXEC);
	k = record_known_file(&known, &file.key, &file, &fd);
	ck_assert_ptr_nonnull(k);
	ck_assert_int_eq(fd, is);
	ck_assert_ptr_eq(record_known_file(&known, &file.key, &file, &fd), k);
	ck_assert_int_eq(fd, -1);
	close(is);
	rp_hash_free(&known);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("outsiders");
	TCase *tc = tcase_create("files");

	tcase_add_test(tc, one_has_a_file_of_its_own);
	tcase_add_test(tc, one_has_mapped_another);
	tcase_add_test(tc, no_secrets_are_read);
	tcase_add_test(tc, another_file_is_told);
	tcase_add_test(tc, another_file_is_not_kept);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
