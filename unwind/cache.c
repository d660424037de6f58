/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables that were made before: found by what they were made of, or by which file it was. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "elf.h"
#include "cache.h"
#include "file.h"
#include "known.h"
#include "table.h"

/* Seconds: when an entry was used last is known so well. */
enum { USED_EVERY = 3600 };
/* Of code, beyond which rules that were computed once come after the others. */
#define SOON_BYTES (48U << 20)

struct unwind_cache {
	struct unwind_cache_dir dir;
	uid_t owner; /* of the directory and its entries */
	struct unwind_secret secret;
	pthread_mutex_t lock;	 /* one writes at a time */
	unwind_cache_keep *keep; /* NULL: this process writes itself */
	void *ctx;
};

/* ---- opening */

int unwind_cache_open(struct unwind_cache **out, const char *dir, uint64_t max_bytes)
{
	struct unwind_cache *c = calloc(1, sizeof(*c));
	int err = c ? unwind_cache_dir_open(&c->dir, dir, max_bytes, &c->secret) : -ENOMEM;

	if (err) {
		free(c);
		return err;
	}
	pthread_mutex_init(&c->lock, NULL);
	c->owner = geteuid();
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

static void name_of(const struct unwind_key *key, char name[UNWIND_CACHE_NAME])
{
	snprintf(name, UNWIND_CACHE_NAME, "%016" PRIx64 "%016" PRIx64, key->word[0], key->word[1]);
}

/* @bytes NULL: the entry was used. */
static int keep(struct unwind_cache *c, const struct unwind_key *key, const void *bytes,
		size_t size)
{
	char name[UNWIND_CACHE_NAME];
	int err = 0;

	name_of(key, name);
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

/* That it is what it should be shows when it is read. */
static bool is_there(const struct unwind_cache *c, const struct unwind_key *key)
{
	char name[UNWIND_CACHE_NAME];

	name_of(key, name);
	return !faccessat(c->dir.fd, name, F_OK, 0);
}

/* A descriptor, or a negative errno. *@is_old: that it is used has to be said. */
static int open_entry(struct unwind_cache *c, const struct unwind_key *key, bool *is_old)
{
	char name[UNWIND_CACHE_NAME];
	struct stat st;
	int fd, err = 0;

	name_of(key, name);
	fd = openat(c->dir.fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_uid != c->owner || (st.st_mode & 022))
		err = -EPERM;
	if (err) {
		close(fd);
		return err;
	}
	*is_old = time(NULL) - st.st_mtime > USED_EVERY;
	return fd;
}

/* *@code is what rules of the table were computed of. */
static int load(struct unwind_cache *c, const struct unwind_key *key, struct unwind_table **out,
		struct unwind_key *code)
{
	bool is_old;
	int fd = open_entry(c, key, &is_old), err;

	if (fd < 0)
		return fd;
	err = unwind_file_read(fd, key, code, out);
	close(fd);
	if (!err && is_old)
		keep(c, key, NULL, 0);
	return err;
}

/* ---- what is known of a file */

/* A file whose table is asked for. */
struct asked {
	struct unwind_cache *c; /* NULL: there is none */
	bool has_name;
	struct unwind_key name;	      /* of what is known */
	struct unwind_known was, now; /* before the file was read, and then */
};

static void ask(struct asked *a, struct unwind_cache *c, int fd)
{
	bool is_old;
	int entry;

	*a = (struct asked){ .c = c };
	a->has_name = c && unwind_known_name(c->dir.fd, c->owner, fd, &c->secret, &a->name);
	entry = a->has_name ? open_entry(c, &a->name, &is_old) : -1;
	if (entry < 0)
		return;
	if (unwind_known_read(entry, &a->was) && is_old)
		keep(c, &a->name, NULL, 0);
	close(entry);
}

static bool load_checked(struct asked *a, const struct unwind_key *key,
			 const struct unwind_key *code, struct unwind_table **out)
{
	struct unwind_key now;

	if (load(a->c, key, out, &now))
		return false;
	if (!memcmp(code, &now, sizeof(now)))
		return true;
	unwind_table_free(*out); /* of the same .eh_frame, but of other code */
	*out = NULL;
	return false;
}

static bool load_as_known(struct asked *a, bool is_computed, struct unwind_table **out)
{
	return a->was.has_code[is_computed] &&
	       load_checked(a, &a->was.key[is_computed], &a->was.code[is_computed], out);
}

/* Without a look at the file: where one would find no more than is known. */
static bool load_known(struct asked *a, bool is_computed, struct unwind_table **out)
{
	if (load_as_known(a, true, out))
		return true;
	return !is_computed && a->was.has_code[0] && !is_there(a->c, &a->was.key[1]) &&
	       load_as_known(a, false, out);
}

/* The table that there is now is of @code, and so is the file. */
static void remember(struct asked *a, bool is_computed, const struct unwind_key *code)
{
	a->now.code[is_computed] = *code;
	a->now.has_code[is_computed] = true;
	if (a->has_name && memcmp(&a->now, &a->was, sizeof(a->now)))
		keep(a->c, &a->name, &a->now, sizeof(a->now));
}

/* ---- of what it is made of */

static int read_source(struct asked *a, struct unwind_source *s, int fd)
{
	struct unwind_key key[2];
	int err = fd < 0 ? -EBADF : unwind_source_read(s, fd, NULL, 0);

	if (err || !a->c)
		return err;
	a->has_name &= !s->is_elsewhere; /* it is no matter of this file alone */
	for (int i = 0; i < 2; i++) {
		s->is_computed = i;
		key[i] = unwind_source_key(s, &a->c->secret);
	}
	unwind_known_begin(&a->now, key);
	if (!memcmp(a->was.key, key, sizeof(key)))
		a->now = a->was;
	return 0;
}

/* With the rules that were computed of it, or without any. */
static bool load_as(struct asked *a, struct unwind_source *s, bool is_computed,
		    struct unwind_table **out)
{
	struct unwind_key of_table, of_file;

	s->is_computed = is_computed;
	if (!a->c || load(a->c, &a->now.key[is_computed], out, &of_table))
		return false;
	if (!unwind_code_key(s, *out, &a->c->secret, &of_file) ||
	    memcmp(&of_file, &of_table, sizeof(of_file))) {
		unwind_table_free(*out);
		*out = NULL;
		return false;
	}
	remember(a, is_computed, &of_file);
	return true;
}

/* Whatever goes wrong here, the table is there: it will be built again next time. */
static void store(struct asked *a, bool is_computed, const struct unwind_made *made,
		  const struct unwind_table *t)
{
	const struct unwind_key *key = &a->now.key[is_computed];
	void *bytes;
	size_t size;

	if (!made->is_known || unwind_file_make(key, &made->key, t, &bytes, &size))
		return;
	if (!keep(a->c, key, bytes, size))
		remember(a, is_computed, &made->key);
	free(bytes);
}

static int make(struct asked *a, struct unwind_source *s, struct unwind_table **out)
{
	struct unwind_made made = { .secret = a->c ? &a->c->secret : NULL };
	int err = s->is_computed || unwind_source_tells(s) ? 0 : -ENODATA;

	s->made = a->c ? &made : NULL;
	err = err ? err : unwind_table_make(s, UNWIND_PART_ROWS, out);
	s->made = NULL;
	if (!err && a->c)
		store(a, s->is_computed, &made, *out);
	return err;
}

int unwind_cache_table(struct unwind_cache *c, struct unwind_table **out, int fd, bool is_computed,
		       bool *was_cached)
{
	struct unwind_source s = { .is_computed = true };
	struct asked a;
	bool is_cached;
	int err = 0;

	ask(&a, c, fd);
	is_cached = load_known(&a, is_computed, out);
	if (!is_cached) {
		err = read_source(&a, &s, fd);
		if (err)
			return err;
		is_cached =
			load_as(&a, &s, true, out) || (!is_computed && load_as(&a, &s, false, out));
		s.is_computed = is_computed;
		if (!is_cached)
			err = make(&a, &s, out);
		unwind_source_free(&s);
	}
	if (!err && was_cached)
		*was_cached = is_cached;
	return err;
}

/* It takes a millisecond for two megabytes of code to see that what was computed is still of it. */
static bool is_seen_soon(const struct unwind_source *s)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->ncode; i++)
		bytes += s->code[i].end - s->code[i].start;
	return bytes <= SOON_BYTES;
}

static int read_first(struct asked *a, struct unwind_table **out, int fd, bool *has_more)
{
	struct unwind_source s = { .is_computed = true };
	int err = read_source(a, &s, fd);

	if (err)
		return err;
	*has_more = a->c && is_there(a->c, &a->now.key[1]);
	if (*has_more && is_seen_soon(&s) && load_as(a, &s, true, out))
		*has_more = false;
	else if (!load_as(a, &s, false, out))
		err = make(a, &s, out);
	unwind_source_free(&s);
	return err;
}

int unwind_cache_first(struct unwind_cache *c, struct unwind_table **out, int fd, bool *has_more)
{
	struct asked a;

	*has_more = false;
	ask(&a, c, fd);
	if (load_known(&a, false, out))
		return 0;
	return read_first(&a, out, fd, has_more);
}
