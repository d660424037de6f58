/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory of tables. An entry is named by a key, appears whole by rename(2), and is never
 * changed but for its modification time, which is when it was used last. Keys are made with a
 * secret of the directory's own: no file can be made so that it takes the place of another.
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
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"
#include "cache.h"
#include "keyed.h"

enum { NAME_SIZE = UNWIND_CACHE_NAME, PAGE = 4096 };

static const uint64_t default_max = 1ULL << 30;
static const char secret_name[] = "secret";

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

/*
 * XDG Base Directory Specification 0.8: a path that is not absolute does not count. With file
 * capabilities the environment is not asked, and there is no cache: where root's rights write and
 * read is not for a user to say.
 */
static int default_base(char path[PATH_MAX])
{
	const char *xdg = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
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

/* What a file of so many bytes takes: most are small. */
static uint64_t on_disk(uint64_t size)
{
	return (size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* Files of ours, those included that an interrupted rawprof left half written. */
static bool is_entry_name(const char *name)
{
	size_t len = strlen(name);

	return len < NAME_SIZE && (len == NAME_SIZE - 1 || !strncmp(name, "new-", 4));
}

static int list_entries(const struct unwind_cache_dir *c, struct entries *list)
{
	int fd = openat(c->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
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
		    fstatat(c->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		err = RP_PUSH(list->items, list->count, list->capacity,
			      (struct entry){ .bytes = on_disk(st.st_size), .used = st.st_mtim });
		if (err)
			break;
		p = &list->items[list->count - 1];
		memcpy(p->name, e->d_name, strlen(e->d_name) + 1);
		list->bytes += p->bytes;
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

static bool is_beyond(const struct unwind_cache_dir *c, uint64_t bytes, uint64_t entries)
{
	return c->bytes > bytes || c->entries > entries;
}

/* Deletes those that were used least recently until these are left. */
static void prune(struct unwind_cache_dir *c, struct entries *list, uint64_t bytes,
		  uint64_t entries)
{
	qsort(list->items, list->count, sizeof(list->items[0]), by_use);
	for (size_t i = 0; i < list->count && is_beyond(c, bytes, entries); i++) {
		if (!unlinkat(c->fd, list->items[i].name, 0)) {
			c->bytes -= list->items[i].bytes;
			c->entries--;
		}
	}
}

/*
 * Until @more bytes, and one entry, fit; a quarter more goes than needed, so that the next ones
 * find room without a look at the directory. -ENOSPC if they cannot fit.
 */
static int make_room(struct unwind_cache_dir *c, uint64_t more)
{
	const uint64_t bytes = c->max_bytes - more, entries = UNWIND_CACHE_ENTRIES - 1;
	struct entries list = { 0 };
	int err;

	if (more > c->max_bytes)
		return -ENOSPC;
	if (c->is_counted && !is_beyond(c, bytes, entries))
		return 0;
	err = list_entries(c, &list);
	c->bytes = list.bytes;
	c->entries = list.count;
	c->is_counted = !err;
	if (!err && is_beyond(c, bytes, entries))
		prune(c, &list, bytes - bytes / 4, entries - entries / 4);
	free(list.items);
	return err;
}

static void drop_entries(struct unwind_cache_dir *c)
{
	struct entries list = { 0 };

	list_entries(c, &list);
	for (size_t i = 0; i < list.count; i++)
		unlinkat(c->fd, list.items[i].name, 0);
	free(list.items);
	c->is_counted = false;
}

/* ---- writing entries */

/* A negative errno, or 0 when all of it is in the file. */
static int write_all(int fd, const char *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		p += n;
		len -= n;
	}
	return 0;
}

/* A file of a name of its own, "new-…". A file beyond the limit would be the end of the process. */
static int write_fresh(int dir, char name[NAME_SIZE], const void *bytes, size_t size)
{
	struct rlimit limit;
	uint64_t number;
	int fd, err;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		return -EAGAIN;
	if (getrlimit(RLIMIT_FSIZE, &limit) || size > limit.rlim_cur)
		return -EFBIG;
	snprintf(name, NAME_SIZE, "new-%016" PRIx64, number);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = write_all(fd, bytes, size);
	if (close(fd) && !err)
		err = -errno;
	if (err)
		unlinkat(dir, name, 0);
	return err;
}

static bool is_key(const char *name)
{
	return strlen(name) == NAME_SIZE - 1 && strspn(name, "0123456789abcdef") == NAME_SIZE - 1;
}

int unwind_cache_store(struct unwind_cache_dir *c, const char *name, const void *bytes, size_t size)
{
	char fresh[NAME_SIZE];
	int err;

	if (!is_key(name))
		return -EINVAL;
	err = make_room(c, on_disk(size));
	if (!err)
		err = write_fresh(c->fd, fresh, bytes, size);
	if (err)
		return err;
	if (renameat(c->fd, fresh, c->fd, name)) {
		err = -errno;
		unlinkat(c->fd, fresh, 0);
		return err;
	}
	c->bytes += on_disk(size);
	c->entries++;
	return 0;
}

void unwind_cache_used(struct unwind_cache_dir *c, const char *name)
{
	if (is_key(name))
		utimensat(c->fd, name, NULL, AT_SYMLINK_NOFOLLOW);
}

/* ---- the secret */

/* One that others can read, or that is not whole, is none. */
static int read_secret(int dir, struct unwind_secret *secret)
{
	int fd = openat(dir, secret_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), err = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) ||
		 st.st_size != sizeof(*secret) ||
		 read(fd, secret, sizeof(*secret)) != sizeof(*secret))
		err = -EPERM;
	close(fd);
	return err;
}

/* Entries that were there before have another secret's names, if any's. */
static int make_secret(struct unwind_cache_dir *c)
{
	struct unwind_secret secret;
	char fresh[NAME_SIZE];
	size_t had = 0;
	int err;

	while (had < sizeof(secret)) { /* 256 bytes at once come whole, and without waiting */
		size_t n = sizeof(secret) - had < 256 ? sizeof(secret) - had : 256;

		if (getrandom((char *)&secret + had, n, GRND_NONBLOCK) != (ssize_t)n)
			return -EAGAIN;
		had += n;
	}
	drop_entries(c);
	err = write_fresh(c->fd, fresh, &secret, sizeof(secret));
	if (err)
		return err;
	if (renameat(c->fd, fresh, c->fd, secret_name)) {
		err = -errno;
		unlinkat(c->fd, fresh, 0);
	}
	return err; /* should another rawprof do this now, the entries of one of us are in vain */
}

static int get_secret(struct unwind_cache_dir *c, struct unwind_secret *secret)
{
	int err = read_secret(c->fd, secret);

	if (!err || (err != -ENOENT && err != -EPERM && err != -ELOOP))
		return err; /* it may be there the next time */
	if (err != -ENOENT && unlinkat(c->fd, secret_name, 0))
		return -errno;
	err = make_secret(c);
	return err ? err : read_secret(c->fd, secret);
}

/* ---- opening */

int unwind_cache_dir_open(struct unwind_cache_dir *out, const char *dir, uint64_t max_bytes,
			  struct unwind_secret *secret)
{
	struct unwind_cache_dir c = { .max_bytes = max_bytes ? max_bytes : default_max };
	int err;

	c.fd = dir ? open_below(AT_FDCWD, dir, true) : open_default();
	if (c.fd < 0)
		return c.fd;
	err = get_secret(&c, secret);
	if (err)
		close(c.fd);
	else
		*out = c;
	return err;
}
