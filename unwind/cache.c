/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory of tables. An entry is named by its key, appears whole by rename(2), and is never
 * changed but for its modification time, which is when it was used last. Keys are made with a
 * secret of the directory's own: no file can be made so that it takes the place of another.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"
#include "elf.h"
#include "cache.h"
#include "file.h"
#include "table.h"

enum { NAME_SIZE = 2 * 16 + 1 };

static const uint64_t default_max = 1ULL << 30;
/* Seconds: when an entry was used last is known so well. */
enum { USED_EVERY = 3600 };
/* Of code, beyond which rules that were computed once come after the others. */
#define SOON_BYTES (48U << 20)
static const char secret_name[] = "secret";

struct unwind_cache {
	struct unwind_cache_dir dir;
	uid_t owner; /* of the directory and its entries */
	struct unwind_secret secret;
	pthread_mutex_t lock;	 /* one writes at a time */
	unwind_cache_keep *keep; /* NULL: this process writes itself */
	void *ctx;
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
static int make_room(struct unwind_cache_dir *c, uint64_t more)
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
			if (!unlinkat(c->fd, list.items[i].name, 0))
				list.bytes -= list.items[i].bytes;
		}
	}
	free(list.items);
	c->bytes = list.bytes;
	c->is_counted = !err;
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
	err = make_room(c, size);
	if (!err)
		err = write_fresh(c->fd, fresh, bytes, size);
	if (err)
		return err;
	if (renameat(c->fd, fresh, c->fd, name)) {
		err = -errno;
		unlinkat(c->fd, fresh, 0);
		return err;
	}
	c->bytes += size;
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

int unwind_cache_open(struct unwind_cache **out, const char *dir, uint64_t max_bytes)
{
	int fd = dir ? open_below(AT_FDCWD, dir, true) : open_default(), err = -ENOMEM;
	struct unwind_cache *c;

	if (fd < 0)
		return fd;
	c = calloc(1, sizeof(*c));
	if (c) {
		pthread_mutex_init(&c->lock, NULL);
		c->dir.fd = fd;
		c->owner = geteuid();
		c->dir.max_bytes = max_bytes ? max_bytes : default_max;
		err = get_secret(&c->dir, &c->secret);
	}
	if (err) {
		free(c);
		close(fd);
		return err;
	}
	*out = c;
	return 0;
}

void unwind_cache_keep_by(struct unwind_cache *c, unwind_cache_keep *keep, void *ctx)
{
	c->keep = keep;
	c->ctx = ctx;
}

struct unwind_cache_dir *unwind_cache_dir(struct unwind_cache *c)
{
	return &c->dir;
}

void unwind_cache_close(struct unwind_cache *c)
{
	if (!c)
		return;
	close(c->dir.fd);
	free(c);
}

/* ---- entries */

static void name_of(const struct unwind_key *key, char name[NAME_SIZE])
{
	snprintf(name, NAME_SIZE, "%016" PRIx64 "%016" PRIx64, key->word[0], key->word[1]);
}

static int keep(struct unwind_cache *c, const char *name, const void *bytes, size_t size)
{
	int err = 0;

	pthread_mutex_lock(&c->lock);
	if (c->keep)
		err = c->keep(c->ctx, name, bytes, size);
	else if (bytes)
		err = unwind_cache_store(&c->dir, name, bytes, size);
	else
		unwind_cache_used(&c->dir, name);
	pthread_mutex_unlock(&c->lock);
	return err;
}

/* A table of the same .eh_frame, but of other code, is none of @s. */
static int check_code(const struct unwind_cache *c, const struct unwind_source *s,
		      const struct unwind_table *t, const struct unwind_key *was)
{
	struct unwind_key code;

	if (!unwind_code_key(s, t, &c->secret, &code))
		return -EIO;
	return memcmp(&code, was, sizeof(code)) ? -ESTALE : 0;
}

static int load(struct unwind_cache *c, const struct unwind_source *s, const struct unwind_key *key,
		struct unwind_table **out)
{
	struct unwind_table *t;
	struct unwind_key code;
	char name[NAME_SIZE];
	struct stat st;
	int fd, err;

	name_of(key, name);
	fd = openat(c->dir.fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_uid != c->owner || (st.st_mode & 022))
		err = -EPERM;
	else
		err = unwind_file_read(fd, key, &code, &t);
	close(fd);
	if (!err) {
		err = check_code(c, s, t, &code);
		if (err)
			unwind_table_free(t);
		else
			*out = t;
	}
	if (!err && time(NULL) - st.st_mtime > USED_EVERY)
		keep(c, name, NULL, 0);
	return err;
}

/* Whatever goes wrong here, the table is there: it will be built again next time. */
static void store(struct unwind_cache *c, const struct unwind_key *key,
		  const struct unwind_made *made, const struct unwind_table *t)
{
	char name[NAME_SIZE];
	void *bytes;
	size_t size;

	if (!made->is_known || unwind_file_make(key, &made->key, t, &bytes, &size))
		return;
	name_of(key, name);
	keep(c, name, bytes, size);
	free(bytes);
}

/* With the rules that were computed of it, or without any. */
static bool load_as(struct unwind_cache *c, struct unwind_source *s, bool is_computed,
		    struct unwind_table **out)
{
	struct unwind_key key;

	s->is_computed = is_computed;
	if (!c)
		return false;
	key = unwind_source_key(s, &c->secret);
	return !load(c, s, &key, out);
}

static int make(struct unwind_cache *c, struct unwind_source *s, struct unwind_table **out)
{
	struct unwind_made made = { .secret = c ? &c->secret : NULL };
	struct unwind_key key;
	int err = s->is_computed || unwind_source_tells(s) ? 0 : -ENODATA;

	s->made = c ? &made : NULL;
	err = err ? err : unwind_table_make(s, UNWIND_PART_ROWS, out);
	s->made = NULL;
	if (err || !c)
		return err;
	key = unwind_source_key(s, &c->secret);
	store(c, &key, &made, *out);
	return 0;
}

static int read_source(struct unwind_source *s, int fd)
{
	return fd < 0 ? -EBADF : unwind_source_read(s, fd, NULL, 0);
}

int unwind_cache_table(struct unwind_cache *c, struct unwind_table **out, int fd, bool is_computed,
		       bool *was_cached)
{
	struct unwind_source s = { .is_computed = true };
	bool is_cached;
	int err = read_source(&s, fd);

	if (err)
		return err;
	is_cached = load_as(c, &s, true, out) || (!is_computed && load_as(c, &s, false, out));
	if (!is_cached)
		err = make(c, &s, out);
	if (!err && was_cached)
		*was_cached = is_cached;
	unwind_source_free(&s);
	return err;
}

/* That it is what it should be shows when it is read. */
static bool is_there(const struct unwind_cache *c, const struct unwind_source *s)
{
	const struct unwind_key key = unwind_source_key(s, &c->secret);
	char name[NAME_SIZE];

	name_of(&key, name);
	return !faccessat(c->dir.fd, name, F_OK, 0);
}

/* It takes a millisecond for two megabytes of code to see that what was computed is still of it. */
static bool is_seen_soon(const struct unwind_source *s)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->ncode; i++)
		bytes += s->code[i].end - s->code[i].start;
	return bytes <= SOON_BYTES;
}

int unwind_cache_first(struct unwind_cache *c, struct unwind_table **out, int fd, bool *has_more)
{
	struct unwind_source s = { .is_computed = true };
	int err = read_source(&s, fd);

	*has_more = false;
	if (err)
		return err;
	*has_more = c && is_there(c, &s);
	if (*has_more && is_seen_soon(&s) && load_as(c, &s, true, out))
		*has_more = false;
	else if (!load_as(c, &s, false, out))
		err = make(c, &s, out);
	unwind_source_free(&s);
	return err;
}
