/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory of tables. An entry is named by its key, appears whole by rename(2), and is never
 * changed but for its modification time, which is when it was used last.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "elf.h"
#include "file.h"
#include "table.h"

enum { NAME_SIZE = 2 * 16 + 1 };

static const uint64_t default_max = 1ULL << 30;

struct unwind_cache {
	int dir;
	uint64_t max_bytes, bytes;
	bool is_counted; /* bytes is the sum of all entries */
};

/* ---- the directory */

/* No other user may have put anything into it. */
static int check_dir(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return st.st_uid == geteuid() && !(st.st_mode & 022) ? 0 : -EPERM;
}

/* Makes and opens the directory @name below @at. A symbolic link there is not followed. */
static int open_below(int at, const char *name, bool is_ours)
{
	int err = 0, fd;

	if (mkdirat(at, name, 0700) && errno != EEXIST)
		return -errno;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_ours ? O_NOFOLLOW : 0));
	if (fd < 0)
		return errno == ELOOP || errno == ENOTDIR ? -EPERM : -errno;
	if (is_ours)
		err = check_dir(fd);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

/* XDG Base Directory Specification 0.8: a path that is not absolute does not count. */
static int default_base(char path[PATH_MAX])
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n;

	if (xdg && xdg[0] == '/')
		n = snprintf(path, PATH_MAX, "%s", xdg);
	else if (!geteuid())
		n = snprintf(path, PATH_MAX, "/var/cache");
	else if (home && home[0] == '/')
		n = snprintf(path, PATH_MAX, "%s/.cache", home);
	else
		return -ENOENT;
	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int open_default(void)
{
	char path[PATH_MAX];
	int err = default_base(path), base, ours, fd;

	if (err)
		return err;
	base = open_below(AT_FDCWD, path, false);
	if (base < 0)
		return base;
	ours = open_below(base, "rawprof", true);
	close(base);
	if (ours < 0)
		return ours;
	fd = open_below(ours, "unwind", true);
	close(ours);
	return fd;
}

int unwind_cache_open(struct unwind_cache **out, const char *dir, uint64_t max_bytes)
{
	int fd = dir ? open_below(AT_FDCWD, dir, true) : open_default();
	struct unwind_cache *c;

	if (fd < 0)
		return fd;
	c = malloc(sizeof(*c));
	if (!c) {
		close(fd);
		return -ENOMEM;
	}
	*c = (struct unwind_cache){ .dir = fd, .max_bytes = max_bytes ? max_bytes : default_max };
	*out = c;
	return 0;
}

void unwind_cache_close(struct unwind_cache *c)
{
	if (!c)
		return;
	close(c->dir);
	free(c);
}

/* ---- making room */

struct entry {
	char name[NAME_SIZE];
	uint64_t bytes;
	struct timespec used;
};

struct entries {
	struct entry *items;
	size_t count, capacity;
	uint64_t bytes;
};

/* Files of ours, those included that an interrupted rawprof left half written. */
static bool is_entry_name(const char *name)
{
	size_t len = strlen(name);

	return len < NAME_SIZE && (len == NAME_SIZE - 1 || !strncmp(name, "new-", 4));
}

static int list_entries(const struct unwind_cache *c, struct entries *list)
{
	int fd = openat(c->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	if (!d) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (e = readdir(d))) {
		struct entry *p;

		if (!is_entry_name(e->d_name) ||
		    fstatat(c->dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		err = RP_PUSH(list->items, list->count, list->capacity,
			      (struct entry){ .bytes = st.st_size, .used = st.st_mtim });
		if (err)
			break;
		p = &list->items[list->count - 1];
		memcpy(p->name, e->d_name, strlen(e->d_name) + 1);
		list->bytes += st.st_size;
	}
	closedir(d);
	return err;
}

static int by_use(const void *a, const void *b)
{
	const struct timespec *x = &((const struct entry *)a)->used,
			      *y = &((const struct entry *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/*
 * Deletes those that were used least recently until @more bytes fit; a quarter more than needed, so
 * that the next ones find room without a look at the directory. -ENOSPC if they cannot fit.
 */
static int make_room(struct unwind_cache *c, uint64_t more)
{
	struct entries list = { 0 };
	int err;

	if (more > c->max_bytes)
		return -ENOSPC;
	if (c->is_counted && c->bytes + more <= c->max_bytes)
		return 0;
	err = list_entries(c, &list);
	if (!err && list.bytes + more > c->max_bytes) {
		uint64_t keep = c->max_bytes - more - (c->max_bytes - more) / 4;

		qsort(list.items, list.count, sizeof(list.items[0]), by_use);
		for (size_t i = 0; i < list.count && list.bytes > keep; i++) {
			if (!unlinkat(c->dir, list.items[i].name, 0))
				list.bytes -= list.items[i].bytes;
		}
	}
	free(list.items);
	c->bytes = list.bytes;
	c->is_counted = !err;
	return err;
}

/* ---- entries */

static void name_of(const struct unwind_key *key, char name[NAME_SIZE])
{
	snprintf(name, NAME_SIZE, "%016" PRIx64 "%016" PRIx64, key->word[0], key->word[1]);
}

static int load(const struct unwind_cache *c, const struct unwind_key *key,
		struct unwind_table **out)
{
	char name[NAME_SIZE];
	struct stat st;
	int fd, err;

	name_of(key, name);
	fd = openat(c->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
		err = -EPERM;
	else
		err = unwind_file_read(fd, key, out);
	if (!err)
		futimens(fd, NULL);
	close(fd);
	return err;
}

/* Whatever goes wrong here, the table is there: it will be built again next time. */
static void store(struct unwind_cache *c, const struct unwind_key *key,
		  const struct unwind_table *t)
{
	char name[NAME_SIZE], fresh[NAME_SIZE];
	uint64_t number;
	struct stat st;
	int fd, err;

	if (make_room(c, unwind_table_size(t)) ||
	    getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		return;
	name_of(key, name);
	snprintf(fresh, sizeof(fresh), "new-%016" PRIx64, number);
	fd = openat(c->dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	err = unwind_file_write(fd, key, t);
	if (!err && fstat(fd, &st))
		err = -errno;
	if (close(fd) || err || renameat(c->dir, fresh, c->dir, name))
		unlinkat(c->dir, fresh, 0);
	else
		c->bytes += st.st_size;
}

int unwind_cache_table(struct unwind_cache *c, struct unwind_table **out, int fd, bool *was_cached)
{
	struct unwind_source s;
	struct unwind_key key;
	bool is_cached = false;
	int err = fd < 0 ? -EBADF : unwind_source_read(&s, fd, NULL, 0);

	if (err)
		return err;
	if (c) {
		key = unwind_source_key(&s);
		is_cached = !load(c, &key, out);
	}
	if (!is_cached)
		err = unwind_table_make(&s, UNWIND_PART_ROWS, out);
	if (!is_cached && !err && c)
		store(c, &key, *out);
	if (!err && was_cached)
		*was_cached = is_cached;
	unwind_source_free(&s);
	return err;
}
