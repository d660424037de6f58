/* SPDX-License-Identifier: BSD-2-Clause */
/* What procfs tells of a process. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "maps.h"
#include "proc.h"

int sym_proc_open_file(const char *proc, uint32_t pid, const char *name)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s/%" PRIu32 "/%s", proc, pid, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return fd;
}

/* The first size - 1 bytes of a file, and a NUL. */
static int read_file(const char *proc, uint32_t pid, const char *name, char *buf, size_t size)
{
	size_t have = 0;
	ssize_t n = 0;
	int fd = sym_proc_open_file(proc, pid, name);

	if (fd < 0)
		return fd;
	while (have < size - 1 &&
	       ((n = read(fd, buf + have, size - 1 - have)) > 0 || (n < 0 && errno == EINTR)))
		have += n > 0 ? (size_t)n : 0;
	n = n < 0 ? -errno : 0;
	close(fd);
	buf[have] = '\0';
	return n;
}

static bool take(const char **p, char c)
{
	if (**p != c)
		return false;
	++*p;
	return true;
}

static bool take_number(const char **p, int base, uint64_t *out)
{
	char *end;

	*out = strtoull(*p, &end, base);
	if (end == *p)
		return false;
	*p = end;
	return true;
}

/* The kernel writes a newline in a path as \012, and nothing else differs. */
static void unescape(char *path)
{
	char *to = path;

	for (; *path; path++) {
		if (!strncmp(path, "\\012", 4)) {
			*to++ = '\n';
			path += 3;
		} else {
			*to++ = *path;
		}
	}
	*to = '\0';
}

/* "START-END rwxp OFFSET MAJOR:MINOR INODE     PATH" */
static bool parse_map(char *line, struct sym_proc_map *m)
{
	const char *p = line;
	uint64_t dev_major, dev_minor;

	if (!take_number(&p, 16, &m->start) || !take(&p, '-') || !take_number(&p, 16, &m->end) ||
	    !take(&p, ' ') || strlen(p) < 5)
		return false;
	m->prot = (p[0] == 'r' ? PROT_READ : 0) | (p[1] == 'w' ? PROT_WRITE : 0) |
		  (p[2] == 'x' ? PROT_EXEC : 0);
	p += 4;
	if (!take(&p, ' ') || !take_number(&p, 16, &m->offset) || !take(&p, ' ') ||
	    !take_number(&p, 16, &dev_major) || !take(&p, ':') ||
	    !take_number(&p, 16, &dev_minor) || !take(&p, ' ') || !take_number(&p, 10, &m->inode))
		return false;
	m->dev_major = dev_major;
	m->dev_minor = dev_minor;
	p += strspn(p, " ");
	unescape(line + (p - line));
	m->path = p;
	return m->start < m->end;
}

/* The kernel gives whole lines, a page of them at most; the longest has a path of escapes. */
enum { MAPS_AT_ONCE = 4 * PATH_MAX + 4096 };

/* Of *have bytes those that are whole lines; the rest moves to the front. What fn returned. */
static int take_lines(char *buf, size_t *have, int (*fn)(void *ctx, const struct sym_proc_map *m),
		      void *ctx)
{
	char *line = buf, *end;
	struct sym_proc_map m;
	int ret = 0;

	while (!ret && (end = memchr(line, '\n', *have - (size_t)(line - buf)))) {
		*end = '\0';
		if (parse_map(line, &m))
			ret = fn(ctx, &m);
		line = end + 1;
	}
	*have -= (size_t)(line - buf);
	memmove(buf, line, *have);
	if (*have == MAPS_AT_ONCE)
		*have = 0; /* no line that the kernel writes */
	return ret;
}

int sym_proc_maps(const char *proc, uint32_t pid,
		  int (*fn)(void *ctx, const struct sym_proc_map *m), void *ctx)
{
	char buf[MAPS_AT_ONCE + 1];
	struct sym_maps maps;
	int ret = sym_maps_open(&maps, proc, pid);
	size_t have = 0;
	ssize_t n = 1;

	while (!ret && n) {
		n = sym_maps_read(&maps, buf + have, MAPS_AT_ONCE - have);
		if (n < 0)
			ret = (int)n;
		have += n > 0 ? (size_t)n : 0;
		if (!n && have && !maps.is_cut)
			buf[have++] = '\n'; /* the last line has none */
		if (!ret)
			ret = take_lines(buf, &have, fn, ctx);
	}
	sym_maps_close(&maps);
	return ret;
}

/* A name as stat has it; false: what it was before its newlines and backslashes were escaped? */
static bool copy_comm(const char *name, size_t n, char comm[16])
{
	if (memchr(name, '\\', n))
		return false;
	if (n > 15)
		n = 15;
	memcpy(comm, name, n);
	comm[n] = '\0';
	return true;
}

static int read_stat(const char *proc, uint32_t pid, uint64_t *ticks, char comm[16])
{
	char buf[1024];
	const char *p, *name;
	int err;

	err = read_file(proc, pid, "stat", buf, sizeof(buf));
	if (err)
		return err;
	/* Field 2, the name, is in parentheses and may hold any; field 22 is the start. */
	name = strchr(buf, '(');
	p = strrchr(buf, ')');
	if (comm && !(name && p && copy_comm(name + 1, (size_t)(p - name - 1), comm)))
		err = sym_proc_comm(proc, pid, comm);
	if (err)
		return err;
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p && take(&p, ' ') && take_number(&p, 10, ticks) ? 0 : -EPROTO;
}

int sym_proc_identity(const char *proc, uint32_t pid, uint64_t *time, char comm[16])
{
	struct timespec boot, mono;
	uint64_t ticks;
	int64_t suspended;
	int err = read_stat(proc, pid, &ticks, comm);

	if (err)
		return err;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	suspended = (boot.tv_sec - mono.tv_sec) * 1000000000LL + (boot.tv_nsec - mono.tv_nsec);
	*time = ticks * (1000000000ULL / sysconf(_SC_CLK_TCK)) - suspended;
	return 0;
}

int sym_proc_start(const char *proc, uint32_t pid, uint64_t *time)
{
	return sym_proc_identity(proc, pid, time, NULL);
}

int sym_proc_born(const char *proc, uint32_t pid, uint64_t *ticks)
{
	return read_stat(proc, pid, ticks, NULL);
}

int sym_proc_comm(const char *proc, uint32_t pid, char comm[16])
{
	char buf[64]; /* names of kernel workers are longer here than anywhere else */
	int err = read_file(proc, pid, "comm", buf, sizeof(buf));
	size_t n;

	if (err)
		return err;
	n = strlen(buf);
	if (n && buf[n - 1] == '\n')
		n--;
	if (n > 15)
		n = 15;
	memcpy(comm, buf, n);
	comm[n] = '\0';
	return 0;
}

int sym_proc_ids(const char *proc, uint32_t pid, struct sym_proc_ids *ids)
{
	struct sym_proc_ids out = { .ns_pid = pid };
	uint64_t uid, euid, ns_pid;
	char buf[4096];
	const char *p;
	int err;

	err = read_file(proc, pid, "status", buf, sizeof(buf));
	if (err)
		return err;
	p = strstr(buf, "\nUid:");
	if (!p || (p += 5, !take_number(&p, 10, &uid)) || !take_number(&p, 10, &euid))
		return -EPROTO;
	out.uid = uid;
	out.euid = euid;
	/* One pid for each namespace it is in, the innermost last; absent before 4.1. */
	p = strstr(buf, "\nNStgid:");
	for (p = p ? p + 8 : ""; *p && *p != '\n' && take_number(&p, 10, &ns_pid);)
		out.ns_pid = ns_pid;
	*ids = out;
	return 0;
}
