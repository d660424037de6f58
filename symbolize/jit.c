/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf-PID.map: a line "START SIZE NAME" for each piece of generated code, numbers in hex, written
 * by the process itself and so by anyone at all: the text is never trusted.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "jit.h"
#include "proc.h"
#include "spans.h"

enum {
	MAX_TEXT = 32 << 20, /* of a longer file the end is read, where the newest code is */
	MAX_LINES = 1 << 20,
};

struct sym_jit {
	char path[32];
	int fd;
	off_t size; /* of the file when it was read, and its time; -1: it was not */
	struct timespec mtime;
	char *text;
	size_t len;
	struct sym_span *spans; /* .id is where in the text the line begins: later lines win */
	size_t count;
};

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
	j->fd = sym_proc_open_in_root(proc, pid, j->path);
	if (j->fd < 0)
		err = j->fd;
	else if (fstat(j->fd, &st) || !S_ISREG(st.st_mode) ||
		 (st.st_uid != ids.uid && st.st_uid != ids.euid && st.st_uid != 0))
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
	free(j->text);
	free(j->spans);
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

/* A last line without a newline is still being written, and left for the next time. */
static int parse(struct sym_jit *j, const char *text, size_t len)
{
	struct sym_span *spans = NULL;
	const char *line = text, *end = text + len, *newline, *name;
	size_t count = 0, capacity = 0;
	int err = 0;

	for (; (newline = memchr(line, '\n', end - line)); line = newline + 1) {
		struct sym_span s = { .id = line - text };

		if (count == MAX_LINES || !parse_line(line, newline, &s, &name))
			continue;
		err = RP_PUSH(spans, count, capacity, s);
		if (err)
			break;
	}
	if (!err && count)
		qsort(spans, count, sizeof(*spans), compare);
	if (!err) {
		free(j->spans);
		j->spans = NULL;
		j->count = 0;
		err = sym_spans_flatten(spans, count, &j->spans, &j->count);
	}
	free(spans);
	return err;
}

static char *read_tail(int fd, off_t size, size_t *len)
{
	off_t from = size > MAX_TEXT ? size - MAX_TEXT : 0;
	char *text = malloc(size - from + 1);
	ssize_t n = 1;

	*len = 0;
	while (text && n > 0 && *len < (size_t)(size - from)) {
		n = pread(fd, text + *len, size - from - *len, from + *len);
		if (n > 0)
			*len += n;
	}
	return text;
}

/* Reads the file again if it is not what it was. */
static bool refresh(struct sym_jit *j)
{
	struct stat st;
	char *text;
	size_t len;

	if (fstat(j->fd, &st) || (st.st_size == j->size && st.st_mtim.tv_sec == j->mtime.tv_sec &&
				  st.st_mtim.tv_nsec == j->mtime.tv_nsec))
		return false;
	text = read_tail(j->fd, st.st_size, &len);
	if (!text || parse(j, text, len)) {
		free(text);
		return false;
	}
	free(j->text);
	j->text = text;
	j->len = len;
	j->size = st.st_size;
	j->mtime = st.st_mtim;
	return true;
}

bool sym_jit_lookup(struct sym_jit *j, struct sym_strings *strings, uint64_t addr,
		    const char **name, uint64_t *start)
{
	const struct sym_span *span = sym_spans_find(j->spans, j->count, addr);
	const char *line, *end, *text, *kept;
	struct sym_span s;

	if (!span && refresh(j))
		span = sym_spans_find(j->spans, j->count, addr);
	if (!span)
		return false;
	line = j->text + span->id;
	end = memchr(line, '\n', j->text + j->len - line);
	if (!end || !parse_line(line, end, &s, &text))
		return false;
	kept = sym_strings_add(strings, text, strnlen(text, end - text));
	if (!kept)
		return false;
	*name = kept;
	*start = s.start;
	return true;
}
