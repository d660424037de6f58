/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows that wait for a destination: in the directory "spool" a link for each destination to each
 * window, "1a2b3c4d-cpu-1764000000123-0.rawprof", by the destination, the kind, when it began, and
 * how much of it was sent. A link is there whole or not at all, and what it leads to is there as
 * long as the link is, also when the window's own name is gone. Two links to one window count
 * twice, though the disk has it once.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "agent.h"
#include "base/grow.h"
#include "push.h"

#define ENDING ".rawprof"
#define NAME_BYTES 64

struct push_spool {
	int windows, dir;	/* the agent's directory, and the spool's */
	struct push_item *item; /* in the order of time */
	size_t n, capacity;
	uint64_t bytes;
};

static void name_of(const struct push_item *i, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "%08" PRIx32 "-%s-%013" PRIu64 "-%" PRIu32 ENDING, i->target,
		 i->kind, i->ms, i->done);
}

/* False: it is none of ours, which are left alone. */
static bool parse_name(const char *name, struct push_item *i)
{
	char again[NAME_BYTES], *end;
	const char *dash;

	*i = (struct push_item){ .target = (uint32_t)strtoul(name, &end, 16) };
	dash = *end == '-' ? strchr(end + 1, '-') : NULL;
	if (!dash || (size_t)(dash - end - 1) >= sizeof(i->kind))
		return false;
	memcpy(i->kind, end + 1, (size_t)(dash - end - 1));
	i->ms = strtoull(dash + 1, &end, 10);
	i->done = *end == '-' ? (uint32_t)strtoul(end + 1, NULL, 10) : 0;
	name_of(i, again);
	return agent_kind(i->kind) && !strcmp(name, again);
}

/* ---- what is there */

static int by_time(const void *a, const void *b)
{
	const struct push_item *i = a, *j = b;

	return i->ms < j->ms ? -1 : i->ms > j->ms;
}

static int read_dir(struct push_spool *s)
{
	const int fd = dup(s->dir);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int err = dir ? 0 : -errno;

	if (!dir && fd >= 0)
		close(fd);
	while (!err && (entry = readdir(dir))) {
		struct push_item i;
		struct stat st;

		if (!parse_name(entry->d_name, &i) ||
		    fstatat(s->dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		i.bytes = (uint64_t)st.st_size;
		s->bytes += i.bytes;
		err = RP_PUSH(s->item, s->n, s->capacity, i);
	}
	if (dir)
		closedir(dir);
	if (s->n)
		qsort(s->item, s->n, sizeof(*s->item), by_time);
	return err;
}

int push_spool_open(int dir, struct push_spool **out)
{
	struct push_spool *s = calloc(1, sizeof(*s));
	struct stat st;
	int err = 0;

	if (!s)
		return -ENOMEM;
	s->windows = dir;
	if (mkdirat(dir, "spool", 0700) && errno != EEXIST)
		err = -errno;
	s->dir = openat(dir, "spool", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (!err && (s->dir < 0 || fstat(s->dir, &st)))
		err = -errno;
	if (!err && (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH)))
		err = -EPERM;
	if (!err)
		err = read_dir(s);
	if (err) {
		push_spool_close(s);
		return rp_fail(err,
			       "cannot use the directory spool, of the caller alone, in "
			       "--dir: %s",
			       strerror(-err));
	}
	*out = s;
	return 0;
}

void push_spool_close(struct push_spool *s)
{
	if (!s)
		return;
	if (s->dir >= 0)
		close(s->dir);
	free(s->item);
	free(s);
}

struct push_spool_state push_spool_state(const struct push_spool *s, uint32_t target)
{
	struct push_spool_state state = { 0 };

	for (size_t i = 0; i < s->n; i++)
		if (!target || s->item[i].target == target) {
			state.windows++;
			state.bytes += s->item[i].bytes;
		}
	return state;
}

/* ---- what comes and goes */

int push_spool_put(struct push_spool *s, const char *window, const struct push_item *item)
{
	char name[NAME_BYTES];
	size_t at;
	int err = RP_GROW(s->item, s->n, s->capacity);

	if (err)
		return err;
	name_of(item, name);
	if (linkat(s->windows, window, s->dir, name, 0))
		return -errno;
	for (at = s->n; at && s->item[at - 1].ms > item->ms; at--)
		s->item[at] = s->item[at - 1];
	s->item[at] = *item;
	s->n++;
	s->bytes += item->bytes;
	return 0;
}

struct push_item *push_spool_next(struct push_spool *s, uint32_t target)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->item[i].target == target)
			return &s->item[i];
	return NULL;
}

struct push_item *push_spool_busy(struct push_spool *s, uint32_t target)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->item[i].busy && s->item[i].target == target)
			return &s->item[i];
	return NULL;
}

int push_spool_read(const struct push_spool *s, const struct push_item *item)
{
	char name[NAME_BYTES];
	int fd;

	name_of(item, name);
	fd = openat(s->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void push_spool_progress(struct push_spool *s, struct push_item *item, uint32_t done)
{
	char before[NAME_BYTES], after[NAME_BYTES];

	name_of(item, before);
	item->done = done;
	name_of(item, after);
	if (renameat(s->dir, before, s->dir, after))
		rp_log(RP_WARN, "cannot rename %s: %s", before, strerror(errno));
}

void push_spool_remove(struct push_spool *s, struct push_item *item)
{
	const size_t at = (size_t)(item - s->item);
	char name[NAME_BYTES];

	name_of(item, name);
	unlinkat(s->dir, name, 0);
	s->bytes -= item->bytes;
	s->n--;
	memmove(item, item + 1, (s->n - at) * sizeof(*item));
}

struct push_item *push_spool_excess(struct push_spool *s, uint64_t bytes, uint64_t before_ms)
{
	for (size_t i = 0; i < s->n && (s->bytes > bytes || s->item[i].ms < before_ms); i++)
		if (!s->item[i].busy)
			return &s->item[i];
	return NULL;
}
