/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is asked here is answered by the kernel alone: fdinfo, mountinfo, and statx(2) of what it
 * remembers. A mount has one number in all namespaces, so whoever lists it says what it is. A mount
 * namespace that belongs to our user namespace was made by root, and so were the overlays in it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "file.h"
#include "fuse.h"

#define CONNECTIONS "/sys/fs/fuse/connections"
#define FUSE_CTL_MAGIC 0x65735543 /* include/uapi/linux/magic.h: FUSE_CTL_SUPER_MAGIC */

/* ---- whether there is one */

/* A directory for each connection, of the user who mounted it. */
static bool any_is_of_a_user(void)
{
	DIR *d = opendir(CONNECTIONS);
	const struct dirent *entry;
	bool found = !d;
	struct stat st;

	while (!found && (entry = readdir(d)))
		found = entry->d_name[0] != '.' &&
			!fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) && st.st_uid;
	if (d)
		closedir(d);
	return found;
}

static bool kernel_has_fuse(void)
{
	static atomic_bool has; /* it stays there while it is in use */
	char text[4096];

	if (!has && (rp_read_small_file("/proc/filesystems", text, sizeof(text)) < 0 ||
		     strstr(text, "\tfuse\n")))
		has = true;
	return has;
}

/* Where they are listed, to ask without a path: it is asked often. */
static int open_connections(void)
{
	static atomic_int kept = -1;
	struct statfs fs;
	int fd = kept;

	if (fd >= 0)
		return fd;
	fd = open(CONNECTIONS, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && (fstatfs(fd, &fs) || fs.f_type != FUSE_CTL_MAGIC)) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0)
		kept = fd;
	return fd;
}

bool rp_fuse_is_served(void)
{
	const int fd = open_connections();
	struct stat st;

	if (fd < 0)
		return kernel_has_fuse();
	return fstat(fd, &st) || (st.st_nlink != 2 && any_is_of_a_user());
}

/* ---- what a mount is, and whose */

/* 1, 0, or a negative errno. It can be left for a deeper one only, so it is asked last. */
static int is_ours(const char *proc, uint32_t pid)
{
	struct stat ours, its;
	char path[64];

	if (strcmp(proc, "/proc") ||
	    stat("/proc/self/ns/user", &ours)) /* a test's; there is none */
		return 1;
	snprintf(path, sizeof(path), "/proc/%u/ns/user", pid);
	if (stat(path, &its))
		return errno == ENOENT ? -ESRCH : -errno;
	return ours.st_ino == its.st_ino && ours.st_dev == its.st_dev;
}

bool rp_is_our_user_namespace(const char *proc, uint32_t pid)
{
	return is_ours(proc, pid) > 0;
}

enum kind { NOT_LISTED, HARMLESS, OVERLAY, OF_A_USER };

/* "36 35 0:40 / /mnt rw - fuse.sshfs host: rw,user_id=1000,allow_other": proc_pid_mountinfo(5). */
static enum kind kind_of(const char *line)
{
	const char *type = strstr(line, " - "), *source = type ? strchr(type + 3, ' ') : NULL,
		   *options = source ? strchr(source + 1, ' ') : NULL, /* users name the source */
			   *user = options ? strstr(options, ",user_id=") : NULL;

	if (!type || !strncmp(type, " - overlay ", 11))
		return OVERLAY;
	return strncmp(type, " - fuse", 7) || (user && !strtol(user + 9, NULL, 10)) ? HARMLESS
										    : OF_A_USER;
}

/* Whoever has a namespace has any number of mounts in it. */
#define MOST_TEXT (1 << 20)

static enum kind kind_in(const char *path, long mount)
{
	enum kind kind = NOT_LISTED;
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t n, all = 0;

	while (f && !kind && all < MOST_TEXT && (n = getline(&line, &room, f)) > 0) {
		all += n;
		if (strtol(line, NULL, 10) == mount)
			kind = kind_of(line);
	}
	free(line);
	if (f)
		fclose(f);
	return kind;
}

static long mount_of(int fd)
{
	char path[64], text[256];
	const char *at;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (rp_read_small_file(path, text, sizeof(text)) < 0)
		return -1;
	at = strstr(text, "mnt_id:");
	return at ? strtol(at + strlen("mnt_id:"), NULL, 10) : -1;
}

/* What the kernel remembers of it; nobody is asked. */
static bool device_of(int fd, dev_t *dev)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st))
		return false;
	*dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	return true;
}

/* Memory that memfd_create(2) names is of a file system that the kernel mounts for itself. */
static bool is_memory(dev_t dev)
{
	const int fd = memfd_create("", MFD_CLOEXEC);
	dev_t memory;
	const bool is_same = fd >= 0 && device_of(fd, &memory) && memory == dev;

	if (fd >= 0)
		close(fd);
	return is_same;
}

/* An overlay has no device. */
int rp_fuse_check(const char *proc, uint32_t pid, int path_fd)
{
	enum kind kind;
	char path[64];
	long mount;
	dev_t dev;
	int ours;

	if (!device_of(path_fd, &dev))
		return errno == ENOSYS ? 0 : -errno;
	if (major(dev) || !rp_fuse_is_served() || is_memory(dev))
		return 0;
	mount = mount_of(path_fd);
	kind = kind_in("/proc/self/mountinfo", mount);
	if (kind == OVERLAY)
		return 0;
	if (kind == NOT_LISTED) {
		snprintf(path, sizeof(path), "%s/%u/mountinfo", proc, pid);
		kind = kind_in(path, mount);
	}
	if (kind != OVERLAY)
		return kind == HARMLESS ? 0 : -EACCES;
	ours = is_ours(proc, pid);
	return ours > 0 ? 0 : ours < 0 ? ours : -EACCES;
}

int rp_fuse_check_way(struct rp_fuse_way *way, int path_fd)
{
	dev_t dev;
	int err;

	if (!device_of(path_fd, &dev))
		return errno == ENOSYS ? 0 : -errno;
	if (way->is_checked && way->dev == dev)
		return 0;
	err = rp_fuse_check(way->proc, way->pid, path_fd);
	way->is_checked = !err;
	way->dev = dev;
	return err;
}

int rp_fuse_check_root(const char *proc, uint32_t pid)
{
	const int ours = is_ours(proc, pid);

	return ours > 0 || !rp_fuse_is_served() ? 0 : ours < 0 ? ours : -EACCES;
}
