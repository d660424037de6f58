/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of a mapping, by way of /proc/PID/map_files. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/fuse.h"
#include "others.h"
#include "proc.h"

static int link_to(char path[PATH_MAX], const char *proc, uint32_t pid, uint64_t start,
		   uint64_t end)
{
	const int n = snprintf(path, PATH_MAX, "%s/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
			       proc, pid, start, end);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* By O_PATH, of what may be looked at. */
static int get_hold(const char *proc, uint32_t pid, uint64_t start, uint64_t end)
{
	char path[PATH_MAX];
	struct rp_wait wait;
	int fd, err = link_to(path, proc, pid, start, end);

	if (err)
		return err;
	rp_wait_begin(&wait);
	fd = open(path, O_PATH | O_CLOEXEC);
	err = fd < 0 ? -errno : 0;
	rp_wait_end(&wait);
	if (!err)
		err = rp_fuse_check(proc, pid, fd);
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

/*
 * Whoever asks for a link in map_files that another one waits for waits without an end: not even
 * SIGKILL helps. So nobody does where the process itself may be that other one.
 */
static bool may_wait(const char *proc, uint32_t pid)
{
	uid_t uid;

	return sym_has_to_be_aside(proc, pid, &uid);
}

int sym_proc_open_mapped(const char *proc, uint32_t pid, uint64_t start, uint64_t end)
{
	const int held = may_wait(proc, pid) ? -EACCES : get_hold(proc, pid, start, end);
	int fd = held;

	if (held >= 0) {
		fd = rp_reopen_regular(held);
		close(held);
	}
	return fd;
}

bool sym_proc_has_two_devices(int fd)
{
	struct statfs s;

	return !fstatfs(fd, &s) && (s.f_type == (__typeof__(s.f_type))BTRFS_SUPER_MAGIC ||
				    s.f_type == (__typeof__(s.f_type))OVERLAYFS_SUPER_MAGIC);
}

int sym_proc_open_by_path(const char *proc, uint32_t pid, const struct sym_proc_map *m)
{
	const int fd = sym_proc_open_in_root(proc, pid, m->path);
	struct stat st;

	if (fd < 0 ||
	    (!fstat(fd, &st) && st.st_ino == m->inode &&
	     (st.st_dev == makedev(m->dev_major, m->dev_minor) || sym_proc_has_two_devices(fd))))
		return fd;
	close(fd);
	return -ESTALE;
}

/* What is on a device is looked at by one system call: there are many. */
int sym_proc_stat_mapped(const char *proc, uint32_t pid, const struct sym_proc_map *m,
			 struct stat *st)
{
	const bool by_path = may_wait(proc, pid);
	char path[PATH_MAX];
	struct rp_wait wait;
	int fd, err;

	if (m->dev_major && !by_path) {
		err = link_to(path, proc, pid, m->start, m->end);
		rp_wait_begin(&wait);
		err = err ? err : stat(path, st) ? -errno : 0;
		rp_wait_end(&wait);
		return err;
	}
	fd = by_path ? sym_proc_open_by_path(proc, pid, m) : get_hold(proc, pid, m->start, m->end);
	if (fd < 0)
		return fd;
	err = fstat(fd, st) ? -errno : 0;
	close(fd);
	return err;
}
