/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A path as a process sees it, walked name by name. openat2(2) would do it in one call, but has its
 * flags in memory, where no filter of system calls sees whether they are those of a reader
 * (record/syscalls.c), and it came with Linux 5.6.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/fuse.h"
#include "proc.h"

#define MAX_STEPS 512 /* names: circles of links end here */

/*
 * @at is the directory @done, below @root: no name in it was a link. What went up or came from a
 * link is walked from the root again, so that a directory that is moved meanwhile leads nowhere
 * else.
 */
struct walk {
	int root, at;
	struct rp_fuse_way way; /* nobody is asked who could keep us waiting */
	char done[PATH_MAX], rest[PATH_MAX];
};

static void be_at(struct walk *w, int fd)
{
	if (w->at != w->root)
		close(w->at);
	w->at = fd;
}

/* From the root: @first, then what is left. */
static int again(struct walk *w, const char *first)
{
	char rest[PATH_MAX];

	if (snprintf(rest, sizeof(rest), "%s/%s", first, w->rest) >= (int)sizeof(rest))
		return -ENAMETOOLONG;
	strcpy(w->rest, rest);
	w->done[0] = '\0';
	be_at(w, w->root);
	return 0;
}

static int go_up(struct walk *w)
{
	char up[PATH_MAX], *slash;

	strcpy(up, w->done);
	slash = strrchr(up, '/');
	if (slash)
		*slash = '\0';
	return again(w, up);
}

static int go_by_link(struct walk *w, const char *link)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", *link == '/' ? "" : w->done, link);
	return again(w, path);
}

/* Takes the next of the names. False: there is none. */
static bool take_name(struct walk *w, char name[NAME_MAX + 2], bool *last)
{
	const char *p = w->rest + strspn(w->rest, "/"), *end = p + strcspn(p, "/");
	size_t len = (size_t)(end - p);

	if (!len)
		return false;
	if (len > NAME_MAX)
		len = NAME_MAX + 1; /* which is too long for openat(2) as well */
	memcpy(name, p, len);
	name[len] = '\0';
	end += strspn(end, "/");
	*last = !*end;
	memmove(w->rest, end, strlen(end) + 1);
	return true;
}

static int go_down(struct walk *w, const char *name, bool last, bool follow)
{
	const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC | (last ? 0 : O_DIRECTORY);
	const int fd = openat(w->at, name, flags);
	const int err = fd < 0 ? -errno : rp_fuse_check_way(&w->way, fd);
	char link[PATH_MAX];
	size_t len = strlen(w->done);
	ssize_t n = -1;

	if (last ? follow && !err : err == -ENOTDIR)
		n = readlinkat(w->at, name, link, sizeof(link) - 1);
	if (n >= 0) {
		if (fd >= 0)
			close(fd);
		link[n] = '\0';
		return go_by_link(w, link);
	}
	if (err) {
		if (fd >= 0)
			close(fd);
		return err;
	}
	be_at(w, fd);
	return snprintf(w->done + len, PATH_MAX - len, "/%s", name) < (int)(PATH_MAX - len)
		       ? 0
		       : -ENAMETOOLONG;
}

/* @at is then what the path leads to. */
static int walk(struct walk *w, bool follow)
{
	char name[NAME_MAX + 2];
	int err = 0;
	bool last;

	for (unsigned int steps = 0; !err && take_name(w, name, &last); steps++) {
		if (steps == MAX_STEPS)
			err = -ELOOP;
		else if (!strcmp(name, ".."))
			err = go_up(w);
		else if (strcmp(name, "."))
			err = go_down(w, name, last, follow);
	}
	return err;
}

/* Closes @root, a directory, of process @pid. */
static int open_below(int root, const char *proc, uint32_t pid, const char *path, bool follow)
{
	struct walk w = { .root = root, .at = root, .way = { .proc = proc, .pid = pid } };
	int err = rp_fuse_check_way(&w.way, root);

	if (snprintf(w.rest, sizeof(w.rest), "%s", path) >= (int)sizeof(w.rest))
		err = -ENAMETOOLONG;
	if (!err)
		err = walk(&w, follow);
	if (!err)
		err = rp_reopen_regular(w.at);
	be_at(&w, w.root);
	close(w.root);
	return err;
}

static int open_in_root(const char *proc, uint32_t pid, const char *path, bool follow)
{
	char name[PATH_MAX];
	int root, err;

	if (snprintf(name, sizeof(name), "%s/%" PRIu32 "/root", proc, pid) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	err = rp_fuse_check_root(proc, pid);
	if (!err)
		return open_below(root, proc, pid, path, follow);
	close(root);
	return err;
}

int sym_proc_open_in_root(const char *proc, uint32_t pid, const char *path)
{
	return open_in_root(proc, pid, path, false);
}

int sym_proc_follow_in_root(const char *proc, uint32_t pid, const char *path)
{
	return open_in_root(proc, pid, path, true);
}

int sym_proc_follow_here(const char *path)
{
	const int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -errno : open_below(root, "/proc", (uint32_t)getpid(), path, true);
}
