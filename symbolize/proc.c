/* SPDX-License-Identifier: BSD-2-Clause */
/* What procfs tells of a process. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "proc.h"

static int open_file(const char *proc, uint32_t pid, const char *name)
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
	int fd = open_file(proc, pid, name);

	if (fd < 0)
		return fd;
	while (have < size - 1 && (n = read(fd, buf + have, size - 1 - have)) > 0)
		have += n;
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

int sym_proc_maps(const char *proc, uint32_t pid,
		  int (*fn)(void *ctx, const struct sym_proc_map *m), void *ctx)
{
	int fd = open_file(proc, pid, "maps"), ret = 0;
	struct sym_proc_map m;
	size_t capacity = 0;
	char *line = NULL;
	ssize_t n;
	FILE *f;

	if (fd < 0)
		return fd;
	f = fdopen(fd, "r");
	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	while (!ret && (n = getline(&line, &capacity, f)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		if (parse_map(line, &m))
			ret = fn(ctx, &m);
	}
	free(line);
	fclose(f);
	return ret;
}

int sym_proc_start(const char *proc, uint32_t pid, uint64_t *time)
{
	struct timespec boot, mono;
	char buf[1024];
	const char *p;
	uint64_t ticks;
	int64_t suspended;
	int err;

	err = read_file(proc, pid, "stat", buf, sizeof(buf));
	if (err)
		return err;
	/* Field 2, the name, is in parentheses and may hold any; field 22 is the start. */
	p = strrchr(buf, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p || !take(&p, ' ') || !take_number(&p, 10, &ticks))
		return -EPROTO;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	suspended = (boot.tv_sec - mono.tv_sec) * 1000000000LL + (boot.tv_nsec - mono.tv_nsec);
	*time = ticks * (1000000000ULL / sysconf(_SC_CLK_TCK)) - suspended;
	return 0;
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

int sym_proc_open_regular(int path_fd)
{
	char path[32];
	struct stat st;
	int fd;

	if (fstat(path_fd, &st) || !S_ISREG(st.st_mode))
		return -EPERM;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_in_root(const char *proc, uint32_t pid, const char *path, int nofollow)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | nofollow,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	char root[PATH_MAX];
	int dir, fd, path_fd;

	if (snprintf(root, sizeof(root), "%s/%" PRIu32 "/root", proc, pid) >= (int)sizeof(root))
		return -ENAMETOOLONG;
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	path_fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
	if (path_fd < 0 && errno == ENOSYS) /* before 5.6; the caller checks what it got */
		path_fd = openat(dir, path + strspn(path, "/"), O_PATH | O_CLOEXEC | O_NOFOLLOW);
	fd = path_fd < 0 ? -errno : sym_proc_open_regular(path_fd);
	if (path_fd >= 0)
		close(path_fd);
	close(dir);
	return fd;
}

int sym_proc_open_in_root(const char *proc, uint32_t pid, const char *path)
{
	return open_in_root(proc, pid, path, O_NOFOLLOW);
}

int sym_proc_follow_in_root(const char *proc, uint32_t pid, const char *path)
{
	return open_in_root(proc, pid, path, 0);
}
