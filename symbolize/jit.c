/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf-PID.map: a line "START SIZE NAME" for each piece of generated code, numbers in hex, written
 * by the process itself and so by anyone at all: the text is never trusted. Lines are added at the
 * end, so what was read is not read again; where it is another file after all, or changes without
 * end, what was known stays as it was until there is something left to read it with.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/grow.h"
#include "jit.h"
#include "proc.h"
#include "spans.h"

enum {
	MAX_TEXT = 32 << 20, /* of a longer file the end is read, where the newest code is */
	MAX_LINES = 1 << 20,
	MAX_NAME = 4096,
	LEAST_READ = 4096,
	MANY_NEW = 1024,       /* and an eighth of the old ones: then they are one table */
	COMPARED = 64,	       /* bytes at the end of what was read: is it the same file? */
	BURST = 128 << 20,     /* bytes that may be looked at: at once, */
	PER_SECOND = 16 << 20, /* and with time */
};

/* .id of a span is where in the text its line begins: later lines win. */
struct table {
	struct sym_span *spans;
	size_t count;
};

enum { OLD, NEW };

struct sym_jit {
	char path[32];
	int fd;
	off_t size; /* of the file when it was read, and its time; -1: it was not */
	struct timespec mtime;
	off_t from; /* where in the file the text begins */
	char *text; /* whole lines */
	size_t len, room;
	struct table known[2];	 /* what was read before; what was read since, and wins */
	uint64_t allowed, since; /* bytes that may be looked at, as of this time */
	uint64_t taken, named;	 /* of the memory of all files: for these; for names given away */
	uint64_t read_ns;	 /* CPU time that reading has taken */
};

/*
 * The process wrote it, or root for it. What root alone can read is none: whoever has a mount
 * namespace may have bound any file to this name.
 */
static bool is_map_of(const struct stat *st, const struct sym_proc_ids *ids)
{
	if (!S_ISREG(st->st_mode))
		return false;
	return st->st_uid == ids->uid || st->st_uid == ids->euid ||
	       (!st->st_uid && st->st_mode & S_IROTH);
}

int sym_jit_open(struct sym_jit **out, const char *proc, uint32_t pid)
{
	struct sym_jit *j;
	struct sym_proc_ids ids;
	struct stat st;
	int err;

	err = sym_proc_ids(proc, pid, &ids);
	if (err)
		return err;
	j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	snprintf(j->path, sizeof(j->path), "/tmp/perf-%" PRIu32 ".map", ids.ns_pid);
	j->size = -1;
	j->allowed = BURST;
	j->since = rp_monotonic_ns();
	j->fd = sym_proc_open_in_root(proc, pid, j->path);
	if (j->fd < 0)
		err = j->fd;
	else if (fstat(j->fd, &st) || !is_map_of(&st, &ids))
		err = -EPERM;
	if (err) {
		sym_jit_close(j);
		return err;
	}
	*out = j;
	return 0;
}

void sym_jit_close(struct sym_jit *j)
{
	if (!j)
		return;
	if (j->fd >= 0)
		close(j->fd);
	rp_memory_give(j->taken + j->named);
	free(j->text);
	free(j->known[OLD].spans);
	free(j->known[NEW].spans);
	free(j);
}

const char *sym_jit_path(const struct sym_jit *j)
{
	return j->path;
}

/* Hex digits, maybe after 0x, and the space that follows. */
static bool take_hex(const char **p, const char *end, uint64_t *out)
{
	uint64_t v = 0;
	int digits = 0;

	if (end - *p > 2 && (*p)[0] == '0' && ((*p)[1] | 0x20) == 'x')
		*p += 2;
	for (; *p < end; ++*p, digits++) {
		unsigned char c = **p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v = v << 4 | ((c | 0x20) - 'a' + 10);
		else
			break;
	}
	if (!digits || digits > 16 || *p == end || **p != ' ')
		return false;
	while (*p < end && **p == ' ')
		++*p;
	*out = v;
	return true;
}

/* The name is [*name, end), less what follows a NUL. */
static bool parse_line(const char *p, const char *end, struct sym_span *s, const char **name)
{
	uint64_t start, len;

	if (!take_hex(&p, end, &start) || !take_hex(&p, end, &len) || p == end || !*p)
		return false;
	if (!len || len > UINT32_MAX || start + len < start)
		return false;
	s->start = start;
	s->len = len;
	*name = p;
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct sym_span *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* ---- reading */

/* False: there is too little left for @bytes to be looked at. */
static bool spend(struct sym_jit *j, uint64_t bytes)
{
	const uint64_t now = rp_monotonic_ns(), ms = (now - j->since) / 1000000;

	if (ms) {
		j->allowed += (ms < 10000 ? ms : 10000) * (PER_SECOND / 1000);
		if (j->allowed > BURST)
			j->allowed = BURST;
		j->since = now;
	}
	if (bytes > j->allowed)
		return false;
	j->allowed -= bytes;
	return true;
}

static bool take_memory(struct sym_jit *j, uint64_t bytes)
{
	if (!rp_memory_take(bytes))
		return false;
	j->taken += bytes;
	return true;
}

static void give_memory(struct sym_jit *j, uint64_t bytes)
{
	rp_memory_give(bytes);
	j->taken -= bytes;
}

static bool make_room(struct sym_jit *j, size_t size)
{
	char *text;

	if (size <= j->room)
		return true;
	if (size < 2 * j->room && 2 * j->room <= MAX_TEXT)
		size = 2 * j->room;
	if (!take_memory(j, size - j->room))
		return false;
	text = realloc(j->text, size);
	if (!text) {
		give_memory(j, size - j->room);
		return false;
	}
	j->text = text;
	j->room = size;
	return true;
}

/* The spans of the lines in [text + at, text + len), in the order of sym_spans_flatten(). */
static int parse(const struct sym_jit *j, size_t at, size_t len, struct sym_span **out, size_t *n)
{
	const char *line = j->text + at, *end = j->text + len, *newline, *name;
	size_t capacity = 0;
	int err = 0;

	for (; !err && (newline = memchr(line, '\n', end - line)); line = newline + 1) {
		struct sym_span s = { .id = line - j->text };

		if (*n < MAX_LINES && parse_line(line, newline, &s, &name))
			err = RP_PUSH(*out, *n, capacity, s);
	}
	if (*n)
		qsort(*out, *n, sizeof(**out), compare);
	return err;
}

/* Lays the @n spans at @added, which are in order as the known ones are, over these. */
static int merge(struct table *t, const struct sym_span *added, size_t n)
{
	struct sym_span *all = malloc((t->count + n) * sizeof(*all)), *flat;
	size_t i = 0, k = 0, count;
	int err = all ? 0 : -ENOMEM;

	while (!err && i + k < t->count + n) {
		bool is_old = k == n || (i < t->count && t->spans[i].start <= added[k].start);

		all[i + k] = is_old ? t->spans[i] : added[k];
		*(is_old ? &i : &k) += 1;
	}
	if (!err)
		err = sym_spans_flatten(all, t->count + n, &flat, &count);
	free(all);
	if (err)
		return err;
	free(t->spans);
	*t = (struct table){ flat, count };
	return 0;
}

static bool add(struct sym_jit *j, const struct sym_span *added, size_t n)
{
	struct table *old = &j->known[OLD], *new = &j->known[NEW];

	if (old->count + new->count + n > MAX_LINES || !take_memory(j, n * 2 * sizeof(*added)) ||
	    merge(new, added, n))
		return false;
	if (new->count > MANY_NEW + old->count / 8 && spend(j, old->count * sizeof(*added)) &&
	    !merge(old, new->spans, new->count)) {
		free(new->spans);
		*new = (struct table){ 0 };
	}
	return true;
}

/* Takes in what stands behind the lines that are known, up to @size. */
static bool read_more(struct sym_jit *j, off_t size)
{
	size_t want = size - j->from - j->len, have = 0, n = 0, begin = j->len, whole;
	struct sym_span *added = NULL;
	ssize_t got = 1;
	const char *p;
	bool good;

	if (!make_room(j, j->len + want + 1))
		return false;
	while (have < want && got > 0) {
		got = pread(j->fd, j->text + j->len + have, want - have, j->from + j->len + have);
		if (got > 0)
			have += got;
	}
	/* A last line without a newline is still being written, and left for the next time. */
	p = memrchr(j->text + j->len, '\n', have);
	whole = p ? (size_t)(p + 1 - j->text) : j->len;
	if (p && !begin && j->from) /* in the middle of a line */
		begin = (char *)memchr(j->text, '\n', have) + 1 - j->text;
	good = !parse(j, begin, whole, &added, &n) && (!n || add(j, added, n));
	free(added);
	if (good)
		j->len = whole;
	return good;
}

static void forget(struct sym_jit *j, off_t from)
{
	for (int i = OLD; i <= NEW; i++) {
		free(j->known[i].spans);
		j->known[i] = (struct table){ 0 };
	}
	free(j->text);
	j->text = NULL;
	give_memory(j, j->taken);
	j->len = j->room = 0;
	j->from = from;
}

/* Whether the file has been written to at its end alone since it was read. */
static bool has_grown(const struct sym_jit *j, off_t size)
{
	size_t n = j->len < COMPARED ? j->len : COMPARED;
	char end[COMPARED];

	return j->text && size > j->size && size - j->from <= MAX_TEXT &&
	       pread(j->fd, end, n, j->from + j->len - n) == (ssize_t)n &&
	       !memcmp(end, j->text + j->len - n, n);
}

/* Reads what is new in the file if it is not what it was, and may be looked at yet. */
static bool refresh(struct sym_jit *j)
{
	uint64_t began;
	off_t from = 0;
	struct stat st;
	bool good;

	if (fstat(j->fd, &st) || (st.st_size == j->size && st.st_mtim.tv_sec == j->mtime.tv_sec &&
				  st.st_mtim.tv_nsec == j->mtime.tv_nsec))
		return false;
	if (has_grown(j, st.st_size)) {
		if (!spend(j, st.st_size - j->from - j->len + LEAST_READ +
				      j->known[NEW].count * sizeof(struct sym_span)))
			return false;
	} else {
		/* Half of it, once a file is too long: it is read on for as long again. */
		if (st.st_size > MAX_TEXT)
			from = st.st_size - (j->size < 0 ? MAX_TEXT : MAX_TEXT / 2);
		if (!spend(j, 2 * (st.st_size - from) + LEAST_READ))
			return false;
		forget(j, from);
	}
	began = rp_thread_cpu_ns();
	good = read_more(j, st.st_size);
	j->read_ns += rp_thread_cpu_ns() - began;
	/* The time of a reading allows no more: a slow one would pay for the next. */
	j->since = rp_monotonic_ns();
	if (!good)
		return false;
	j->size = st.st_size;
	j->mtime = st.st_mtim;
	return true;
}

static const struct sym_span *find(const struct sym_jit *j, uint64_t addr)
{
	const struct table *old = &j->known[OLD], *new = &j->known[NEW];
	const struct sym_span *span = sym_spans_find(new->spans, new->count, addr);

	return span ? span : sym_spans_find(old->spans, old->count, addr);
}

void sym_jit_forget_names(struct sym_jit *j)
{
	rp_memory_give(j->named);
	j->named = 0;
}

static const char *keep_name(struct sym_jit *j, struct sym_strings *strings, const char *name,
			     size_t size)
{
	const uint32_t known = strings->count;
	size_t len = strnlen(name, size < MAX_NAME ? size : MAX_NAME);
	const char *kept;

	if (!rp_memory_take(len))
		return NULL;
	kept = sym_strings_add(strings, name, len);
	if (strings->count == known)
		rp_memory_give(len);
	else
		j->named += len;
	return kept;
}

uint64_t sym_jit_bytes(const struct sym_jit *j)
{
	return j->taken + j->named;
}

uint64_t sym_jit_ns(const struct sym_jit *j)
{
	return j->read_ns;
}

bool sym_jit_lookup(struct sym_jit *j, struct sym_strings *strings, uint64_t addr, bool may_read,
		    const char **name, uint64_t *start)
{
	const struct sym_span *span = find(j, addr);
	const char *line, *end, *text, *kept;
	struct sym_span s;

	if (!span && may_read && refresh(j))
		span = find(j, addr);
	if (!span)
		return false;
	line = j->text + span->id;
	end = memchr(line, '\n', j->text + j->len - line);
	if (!end || !parse_line(line, end, &s, &text))
		return false;
	kept = keep_name(j, strings, text, end - text);
	if (!kept)
		return false;
	*name = kept;
	*start = s.start;
	return true;
}
