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

static bool make_other(uint64_t inode)
{
	uint64_t made = 0;
	struct stat st;

	if (mount("none", dir, "tmpfs", 0, NULL) || chdir(dir) || mkdir("l", 0755) ||
	    mkdir("u", 0755) || mkdir("w", 0755) || mkdir("o", 0755))
		return false;
	for (int i = 0; i < MOST_FILES && made != inode; i++)
		if ((made && unlink("u/lib.so")) || !(made = make_file("u/lib.so")))
			return false;
	return copy_to("u/lib.so", "/bin/true") &&
	       !mount("none", "o", "overlay", 0, "lowerdir=l,upperdir=u,workdir=w,userxattr") &&
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
		is_made = enter_namespaces() && make_other(inode);
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

START_TEST(one_has_a_file_of_its_own)
{
	struct sym_strings strings = { 0 };
	struct sym_files files;
	struct sym_file key = { 0 };
	struct sym_mapping m = { .start = 4096, .end = 8192 }; /* which nobody has any more */
	const struct sym_image *theirs, *ours;
	char path[128];
	struct stat st;
	pid_t other;

	if (!knows_of_no_fuse())
		skip_test("FUSE may be served here");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert(!chmod(dir, 0755) && !chdir(dir));
	ck_assert(make_library(&st));
	other = start_other(st.st_ino);
	if (!other)
		skip_test("no overlay in a user namespace");
	snprintf(path, sizeof(path), "%s/o/lib.so", dir);
	key = (struct sym_file){ .path = path, .dev = st.st_dev, .inode = st.st_ino };
	sym_files_init(&files, &strings, "/proc");
	ck_assert_int_eq(sym_files_add(&files, (uint32_t)other, &key, &m.file), 0);
	theirs = sym_files_image(&files, (uint32_t)other, &m);
	ours = sym_files_image(&files, (uint32_t)getpid(), &m);
	ck_assert_ptr_nonnull(ours);
	ck_assert_uint_eq(ours->object->owner, 0);
	ck_assert_ptr_nonnull(theirs);
	ck_assert_uint_eq(theirs->object->owner, UID);
	ck_assert_ptr_eq(sym_files_image(&files, (uint32_t)getpid(), &m), ours);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	sym_files_free(&files);
	sym_strings_free(&strings);
	ck_assert(!umount("o") && !rmdir("o") && !rmdir(dir));
}
END_TEST

/* ---- paths that lead to another file by now */

static pid_t map_file(const char *path, uid_t uid, void **at)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	pid_t pid;

	ck_assert_int_ge(fd, 0);
	*at = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	ck_assert_ptr_ne(*at, MAP_FAILED);
	close(fd);
	pid = fork();
	if (!pid && !setgid(uid) && !setuid(uid))
		for (;;)
			pause();
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

	usleep(100000); /* by then it is that user's */
	is_read = record_remote_read(&r, (uintptr_t)at, &first, 1);
	record_remote_close(&r);
	kill(r.pid, SIGKILL);
	waitpid(r.pid, NULL, 0);
	return is_read;
}

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

int main(void)
{
	Suite *suite = suite_create("outsiders");
	TCase *tc = tcase_create("files");

	tcase_add_test(tc, one_has_a_file_of_its_own);
	tcase_add_test(tc, no_secrets_are_read);
	tcase_add_test(tc, another_file_is_told);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
