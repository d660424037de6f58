/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The local directory: a file for each window, "cpu-1764000000123.rawprof", by its kind and when it
 * began, in ms since 1970. A file is there whole or not at all: it is written under another name,
 * which begins with a dot. What a killed agent left of those is taken away by the next one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "agent.h"
#include "base/clock.h"
#include "base/grow.h"

#define KEEP_BYTES (1ull << 30)
#define KEEP_SECONDS (7 * 86400.0)
#define MAX_MS_OFF 86400000 /* of a window's time: the clock may have been set meanwhile */
#define ENDING ".rawprof"
#define UNFINISHED ".unfinished-"

struct file {
	uint64_t ms, bytes;
	char kind[8];
};

struct agent_store {
	int dir;
	uint64_t keep_bytes, keep_ms;
	struct file *file;	   /* in the order of time, */
	size_t first, n, capacity; /*   from the first that is left */
	struct agent_store_state state;
};

/* ---- the directory */

/* A link on the way would let its owner choose where files of ours are written and removed. */
static int open_dir(const char *path, int flags)
{
	const struct open_how how = { .flags = flags | O_DIRECTORY | O_CLOEXEC,
				      .resolve = RESOLVE_NO_SYMLINKS };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	if (fd < 0 && errno == ENOSYS) /* Linux 5.6 */
		fd = open(path, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int check_dir(const char *path, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return rp_fail(-errno, "cannot use %s: %s", path, strerror(errno));
	if (st.st_uid != geteuid())
		return rp_fail(-EPERM,
			       "the directory %s belongs to another user (%u): windows would be "
			       "theirs to read and replace",
			       path, (unsigned int)st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return rp_fail(-EPERM,
			       "others may write to the directory %s: `chmod go-w %s`, or name "
			       "one of rawprof's own",
			       path, path);
	return 0;
}

/* Nor is one made where such a link leads. */
static int make_dir(const char *path)
{
	char parent[PATH_MAX];
	size_t n = strlen(path);
	int fd, err;

	while (n && path[n - 1] == '/')
		n--;
	while (n && path[n - 1] != '/')
		n--;
	snprintf(parent, sizeof(parent), "%.*s", n ? (int)n : 1, n ? path : ".");
	fd = open_dir(parent, O_PATH);
	if (fd < 0)
		return fd;
	err = mkdirat(fd, path + n, 0700) ? -errno : 0;
	close(fd);
	return err;
}

static int find_dir(const char *path, int *out)
{
	int fd = open_dir(path, O_RDONLY), err;

	if (fd == -ENOENT) {
		fd = make_dir(path);
		if (!fd || fd == -EEXIST)
			fd = open_dir(path, O_RDONLY);
	}
	if (fd == -ELOOP || fd == -ENOTDIR)
		return rp_fail(fd,
			       "%s is no directory, or a symbolic link is on the way, which is not "
			       "followed: name where it leads to",
			       path);
	if (fd < 0)
		return rp_fail(fd, "cannot open or make the directory %s: %s", path, strerror(-fd));
	err = check_dir(path, fd);
	if (err)
		close(fd);
	else
		*out = fd;
	return err;
}

/* ---- what is in it */

static void name_of(const struct file *f, char name[AGENT_FILE_NAME])
{
	snprintf(name, AGENT_FILE_NAME, "%s-%013" PRIu64 ENDING, f->kind, f->ms);
}

/* False: it is none of ours, which are left alone. */
static bool parse_name(const char *name, struct file *f)
{
	const char *dash = strchr(name, '-');
	char again[64], *end;

	if (!dash || (size_t)(dash - name) >= sizeof(f->kind))
		return false;
	memset(f->kind, 0, sizeof(f->kind));
	memcpy(f->kind, name, (size_t)(dash - name));
	f->ms = strtoull(dash + 1, &end, 10);
	name_of(f, again);
	return agent_kind(f->kind) && !strcmp(name, again);
}

static int by_time(const void *a, const void *b)
{
	const struct file *f = a, *g = b;

	return f->ms < g->ms ? -1 : f->ms > g->ms;
}

static int add_entry(struct agent_store *s, const char *name)
{
	struct file f;
	struct stat st;

	if (!strncmp(name, UNFINISHED, strlen(UNFINISHED))) {
		unlinkat(s->dir, name, 0);
		return 0;
	}
	if (!parse_name(name, &f) || fstatat(s->dir, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return 0;
	f.bytes = (uint64_t)st.st_size;
	s->state.bytes += f.bytes;
	s->state.files++;
	return RP_PUSH(s->file, s->n, s->capacity, f);
}

static int read_dir(struct agent_store *s, const char *path)
{
	const int fd = dup(s->dir);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int err = 0;

	if (!dir) {
		err = rp_fail(-errno, "cannot read the directory %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (entry = readdir(dir)))
		err = add_entry(s, entry->d_name);
	closedir(dir);
	if (s->n)
		qsort(s->file, s->n, sizeof(*s->file), by_time);
	return err;
}

/* ---- what goes */

static void remove_file(struct agent_store *s, const struct file *f)
{
	char name[64];

	name_of(f, name);
	if (!unlinkat(s->dir, name, 0))
		s->state.removed++;
	s->state.files--;
	s->state.bytes -= f->bytes;
}

static unsigned int bits_of(uint64_t bytes)
{
	return bytes ? 64 - (unsigned int)__builtin_clzll(bytes) : 0;
}

/* Bits of sizes from eight times that which half of the kind's have, by powers of two. */
static unsigned int large_bits(const struct agent_store *s, const char *kind)
{
	size_t count[65] = { 0 }, n = 0, half = 0;
	unsigned int bits = 0;

	for (size_t i = s->first; i < s->n; i++)
		if (!strcmp(s->file[i].kind, kind)) {
			count[bits_of(s->file[i].bytes)]++;
			n++;
		}
	for (; half * 2 < n; bits++)
		half += count[bits];
	return bits + 3;
}

/* bits: what large_bits() says of each kind, once it was asked. */
static bool is_large(const struct agent_store *s, const struct file *f,
		     unsigned int bits[AGENT_KINDS])
{
	unsigned int *least = &bits[agent_kind(f->kind) - agent_kinds];

	if (!*least)
		*least = large_bits(s, f->kind);
	return bits_of(f->bytes) >= *least;
}

/*
 * Whoever makes much happen makes windows large, and takes not all others away by that: large ones
 * go before all others while they, of all kinds, have more than half of what there may be.
 */
static void remove_large(struct agent_store *s)
{
	unsigned int bits[AGENT_KINDS] = { 0 };
	size_t to = s->first;
	uint64_t all = 0;

	for (size_t i = s->first; i < s->n; i++)
		all += is_large(s, &s->file[i], bits) ? s->file[i].bytes : 0;
	for (size_t i = s->first; i < s->n; i++) {
		const struct file f = s->file[i];

		if (i + 1 < s->n && s->state.bytes > s->keep_bytes && all > s->keep_bytes / 2 &&
		    is_large(s, &f, bits)) {
			remove_file(s, &f);
			all -= f.bytes;
		} else {
			s->file[to++] = f;
		}
	}
	s->n = to;
}

/* The newest stays, whatever it takes. */
static void rotate(struct agent_store *s, uint64_t now_ms)
{
	if (s->state.bytes > s->keep_bytes)
		remove_large(s);
	while (s->n - s->first > 1 &&
	       (s->state.bytes > s->keep_bytes || s->file[s->first].ms + s->keep_ms < now_ms))
		remove_file(s, &s->file[s->first++]);
	if (s->first < 1024 || s->first < s->n / 2)
		return;
	memmove(s->file, s->file + s->first, (s->n - s->first) * sizeof(*s->file));
	s->n -= s->first;
	s->first = 0;
}

/* ---- what comes */

static int write_all(int fd, const char *data, size_t size)
{
	while (size) {
		const ssize_t n = write(fd, data, size);

		if (n < 0 && errno != EINTR)
			return -errno;
		data += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int write_file(const struct agent_store *s, const char *name, const void *data, size_t size)
{
	char unfinished[96];
	int fd, err;

	snprintf(unfinished, sizeof(unfinished), UNFINISHED "%s", name);
	unlinkat(s->dir, unfinished, 0);
	fd = openat(s->dir, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = write_all(fd, data, size);
	if (close(fd) && !err)
		err = -errno;
	if (!err && renameat(s->dir, unfinished, s->dir, name))
		err = -errno;
	if (err)
		unlinkat(s->dir, unfinished, 0);
	return err;
}

int agent_store_put(struct agent_store *s, const char *kind, const struct agent_window *w,
		    const void *data)
{
	const uint64_t now_ms = (rp_monotonic_ns() + rp_wall_offset_ns()) / 1000000;
	struct file f = { .ms = w->start_ns / 1000000, .bytes = w->size };
	char name[64];
	int err;

	/* By times of its own a recorder could have windows replaced, or all of them removed. */
	if (now_ms + MAX_MS_OFF - f.ms > 2 * MAX_MS_OFF) {
		s->state.failed++;
		return -ERANGE;
	}
	snprintf(f.kind, sizeof(f.kind), "%s", kind);
	name_of(&f, name);
	err = RP_GROW(s->file, s->n, s->capacity);
	if (!err)
		err = write_file(s, name, data, w->size);
	if (err) {
		s->state.failed++;
		return err;
	}
	s->file[s->n++] = f;
	s->state.files++;
	s->state.bytes += f.bytes;
	rotate(s, now_ms);
	return 0;
}

/* ---- all together */

int agent_store_open(const char *path, uint64_t keep_bytes, double keep_time,
		     struct agent_store **out)
{
	struct agent_store *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->keep_bytes = keep_bytes ? keep_bytes : KEEP_BYTES;
	s->keep_ms = (uint64_t)((keep_time > 0 ? keep_time : KEEP_SECONDS) * 1000);
	s->dir = -1;
	err = find_dir(path, &s->dir);
	if (!err)
		err = read_dir(s, path);
	if (err) {
		agent_store_close(s);
		return err;
	}
	*out = s;
	return 0;
}

void agent_store_close(struct agent_store *s)
{
	if (!s)
		return;
	if (s->dir >= 0)
		close(s->dir);
	free(s->file);
	free(s);
}

struct agent_store_state agent_store_state(const struct agent_store *s)
{
	return s->state;
}

int agent_store_dir(const struct agent_store *s)
{
	return s->dir;
}

void agent_store_name(const char *kind, uint64_t start_ns, char name[AGENT_FILE_NAME])
{
	struct file f = { .ms = start_ns / 1000000 };

	snprintf(f.kind, sizeof(f.kind), "%s", kind);
	name_of(&f, name);
}
