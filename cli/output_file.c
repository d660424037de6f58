/* SPDX-License-Identifier: BSD-2-Clause */
/* A file that is there whole or not at all, and that no link of another user leads astray. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "output_file.h"

enum { MAX_LINKS = 40, TRIES = 100 };

/* ---- where a path leads */

struct way {
	int dir;	     /* so far */
	int links;	     /* followed */
	char rest[PATH_MAX]; /* still to go */
};

static int cannot_write(const char *path, int err)
{
	return rp_fail(err, "cannot write %s: %s", path, strerror(-err));
}

static void move_to(struct way *w, int fd)
{
	if (w->dir >= 0)
		close(w->dir);
	w->dir = fd;
}

/* Following a link of another user means to write where that user wants. */
static bool may_follow(uid_t owner)
{
	const char *sudo = geteuid() == 0 ? secure_getenv("SUDO_UID") : NULL;

	return owner == geteuid() || owner == 0 ||
	       (sudo && *sudo && owner == (uid_t)strtoul(sudo, NULL, 10));
}

static bool in_proc(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/* Takes the next part of the way from rest; NULL: there is none. *last: none is behind it. */
static const char *next_part(struct way *w, char part[NAME_MAX + 1], bool *last)
{
	const char *at = w->rest + strspn(w->rest, "/");
	const size_t size = strcspn(at, "/");

	if (!size || size > NAME_MAX)
		return NULL;
	memcpy(part, at, size);
	part[size] = 0;
	*last = !at[size]; /* with a slash behind it, it is a directory's name */
	memmove(w->rest, at + size, strlen(at + size) + 1);
	return part;
}

/* Puts what the link says before the rest of the way. */
static int follow(struct way *w, int link)
{
	char text[PATH_MAX];
	const ssize_t size = readlinkat(link, "", text, sizeof(text));
	const size_t rest = strlen(w->rest);

	if (size < 0)
		return -errno;
	if (++w->links > MAX_LINKS)
		return -ELOOP;
	if (!size || (size_t)size + rest >= sizeof(w->rest))
		return -ENAMETOOLONG;
	memmove(w->rest + size, w->rest, rest + 1);
	memcpy(w->rest, text, (size_t)size);
	if (*text != '/')
		return 0;
	move_to(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
	return w->dir < 0 ? -errno : 0;
}

/*
 * Walks to the last part of the path, whose directory is then w->dir. Its type is in *mode, 0:
 * there is nothing of that name. A link, if *mode says so, is one of /proc to an open file.
 */
static int walk(struct way *w, const char *path, char part[NAME_MAX + 1], mode_t *mode)
{
	bool last = false;
	struct stat st;
	int fd, err;

	while (next_part(w, part, &last)) {
		fd = openat(w->dir, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		*mode = 0;
		if (fd < 0 && errno == ENOENT && last)
			return 0;
		if (fd < 0 || fstat(fd, &st))
			return cannot_write(path, -errno);
		*mode = st.st_mode;
		if (S_ISLNK(st.st_mode) && !may_follow(st.st_uid)) {
			close(fd);
			return rp_fail(-EPERM,
				       "cannot write %s: '%s' in it is a symbolic link of another "
				       "user (%u), which is not followed: name what it leads to",
				       path, part, (unsigned int)st.st_uid);
		}
		if (S_ISLNK(st.st_mode) && !in_proc(fd)) {
			err = follow(w, fd);
			close(fd);
			if (err)
				return cannot_write(path, err);
			last = false;
			continue;
		}
		if (last) {
			close(fd);
			return 0;
		}
		if (S_ISLNK(st.st_mode)) { /* what it says is no path that others could go */
			close(fd);
			fd = openat(w->dir, part, O_PATH | O_CLOEXEC);
			if (fd < 0)
				return cannot_write(path, -errno);
		}
		move_to(w, fd);
	}
	if (w->rest[strspn(w->rest, "/")])
		return cannot_write(path, -ENAMETOOLONG);
	return cannot_write(path, *path ? -EISDIR : -ENOENT);
}

/* ---- what is written */

static bool is_mounted(int fd)
{
	struct statx st;

	return !statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) &&
	       (st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* From a directory such as /tmp only the owner of a file, or root, may take it. */
static bool may_replace(int dir, int fd)
{
	struct stat above, st;

	if (fstat(dir, &above) || fstat(fd, &st))
		return false;
	return !(above.st_mode & S_ISVTX) || !geteuid() || st.st_uid == geteuid() ||
	       above.st_uid == geteuid();
}

/* What another user's pipe or device is given, that user has. */
static bool may_write_to(mode_t mode, const struct stat *st)
{
	return S_ISREG(mode) || S_ISLNK(mode) || may_follow(st->st_uid);
}

/* What is there: to be written in place (then *fd is it), or to be replaced (-1)? */
static int look_at(const struct way *w, const char *name, mode_t mode, int *fd)
{
	const int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY | (S_ISLNK(mode) ? 0 : O_NOFOLLOW);
	struct stat st;
	int there;

	/* Before it is opened, since that may wait for a reader, and what was then opened. */
	if (fstatat(w->dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (!may_write_to(mode, &st))
		return -EACCES;
	there = openat(w->dir, name, flags | (S_ISREG(mode) ? O_NONBLOCK : 0));
	if (there < 0)
		return -errno;
	if (fstat(there, &st) || !may_write_to(mode, &st)) {
		close(there);
		return -EACCES;
	}
	if (S_ISREG(mode) && !is_mounted(there)) {
		const bool may = may_replace(w->dir, there);

		close(there);
		there = -1;
		if (!may)
			return -EACCES;
	}
	*fd = there;
	return 0;
}

/* Names that nothing has are tried until `take` has made one of them the file's. */
static int try_names(struct output_file *f, int (*take)(struct output_file *f))
{
	uint32_t number;
	int err = -EEXIST;

	for (int i = 0; err == -EEXIST && i < TRIES; i++) {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -EIO;
		snprintf(f->temporary, sizeof(f->temporary), ".rawprof-%08x", number);
		err = take(f);
		if (err)
			f->temporary[0] = 0;
	}
	return err;
}

static int create(struct output_file *f)
{
	f->fd = openat(f->dir, f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       0600);
	return f->fd < 0 ? -errno : 0;
}

static int link_to(const struct output_file *f, const char *name)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", f->fd);
	return linkat(AT_FDCWD, self, f->dir, name, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

static int link_temporary(struct output_file *f)
{
	return link_to(f, f->temporary);
}

/* Without a name nothing is left of it, however this process ends. Not every file system can. */
static int make(struct output_file *f)
{
	f->fd = access("/proc/self/fd", X_OK)
			? -1 /* the name comes by way of there */
			: openat(f->dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	return f->fd < 0 ? try_names(f, create) : 0;
}

int output_file_open(const char *path, struct output_file *out)
{
	struct output_file f = { .fd = -1, .dir = -1 };
	struct way w = { .dir = -1 };
	mode_t mode = 0;
	int err = 0;

	if (strlen(path) >= sizeof(w.rest))
		return cannot_write(path, -ENAMETOOLONG);
	memcpy(w.rest, path, strlen(path) + 1);
	move_to(&w, open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (w.dir < 0)
		return cannot_write(path, -errno);
	err = walk(&w, path, f.name, &mode);
	if (err) {
		move_to(&w, -1);
		return err;
	}
	if (mode)
		err = look_at(&w, f.name, mode, &f.fd);
	if (!err && f.fd < 0) {
		f.dir = w.dir;
		err = make(&f);
	}
	if (err || f.dir < 0)
		move_to(&w, -1);
	if (err)
		return cannot_write(path, err);
	*out = f;
	return 0;
}

/* ---- its name */

int output_commit(struct output_file *f)
{
	int err = 0;

	if (f->dir < 0)
		return 0;
	if (!*f->temporary) {
		err = link_to(f, f->name);
		if (err != -EEXIST)
			return err;
		err = try_names(f, link_temporary); /* only a name can take another's place */
	}
	if (!err && renameat(f->dir, f->temporary, f->dir, f->name))
		err = -errno;
	if (!err)
		f->temporary[0] = 0;
	return err;
}

void output_file_close(struct output_file *f)
{
	if (f->dir < 0)
		return;
	if (*f->temporary)
		unlinkat(f->dir, f->temporary, 0);
	close(f->dir);
	f->dir = -1;
}
