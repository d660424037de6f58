/* SPDX-License-Identifier: BSD-2-Clause */
/* The text of /proc/PID/maps: the file itself, or a copy that was made aside. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "others.h"
#include "proc.h"

/* 65,530 mappings with paths of 160 bytes; of more those that come first. */
#define MOST_TEXT (16 << 20)

struct copying {
	struct rp_aside job;
	uint32_t pid;
	int fd; /* or a negative errno */
};

/* 0 or a negative errno. */
static int copy(int from, int to)
{
	char text[1 << 14];
	size_t all = 0;
	ssize_t n;

	while (all < MOST_TEXT && (n = read(from, text, sizeof(text)))) {
		if (n < 0 || write(to, text, (size_t)n) != n)
			return n < 0 ? -errno : -ENOMEM;
		all += (size_t)n;
	}
	return lseek(to, 0, SEEK_SET) ? -errno : 0;
}

static void read_maps(struct rp_aside *job)
{
	struct copying *c = (struct copying *)job;
	const int from = sym_proc_open_file("/proc", c->pid, "maps");
	int err;

	c->fd = from < 0 ? from : memfd_create("maps", MFD_CLOEXEC);
	if (from < 0)
		return;
	err = c->fd < 0 ? -errno : copy(from, c->fd);
	if (err && c->fd >= 0)
		close(c->fd);
	c->fd = err ? err : c->fd;
	close(from);
}

static void drop(struct rp_aside *job)
{
	struct copying *c = (struct copying *)job;

	if (c->fd >= 0)
		close(c->fd);
	free(c);
}

static int copy_aside(uint32_t pid, uid_t uid)
{
	struct copying *c = malloc(sizeof(*c));
	int fd;

	if (!c)
		return -ENOMEM;
	*c = (struct copying){ .job = { read_maps, drop }, .pid = pid, .fd = -1 };
	fd = sym_read_aside(&c->job, pid, uid);
	if (fd)
		return fd;
	fd = c->fd;
	free(c);
	return fd;
}

int sym_proc_open_maps(const char *proc, uint32_t pid)
{
	uid_t uid;

	return sym_has_to_be_aside(proc, pid, &uid) ? copy_aside(pid, uid)
						    : sym_proc_open_file(proc, pid, "maps");
}
