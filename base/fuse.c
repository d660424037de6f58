/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is asked here is answered by the kernel alone: fdinfo, mountinfo, and statx(2) of what it
 * remembers. A mount namespace that belongs to our user namespace was made by root, and so were the
 * overlays in it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
	char text[4096];

	return rp_read_small_file("/proc/filesystems", text, sizeof(text)) < 0 ||
	       strstr(text, "\tfuse\n");
}

static bool is_served(void)
{
	struct statfs fs;
	struct stat st;

	if (statfs(CONNECTIONS, &fs) || fs.f_type != FUSE_CTL_MAGIC)
		return kernel_has_fuse();
	return stat(CONNECTIONS, &st) || (st.st_nlink != 2 && any_is_of_a_user());
}

/* ---- whose a mount is */

bool rp_is_our_user_namespace(const char *proc, uint32_t pid)
{
	struct stat ours, its;
	char path[64];

	snprintf(path, sizeof(path), "%s/%u/ns/user", proc, pid);
	return stat("/proc/self/ns/user", &ours) || stat(path, &its) ||
	       (ours.st_ino == its.st_ino && ours.st_dev == its.st_dev);
}

/* Those of procfs: the first word of a line of mountinfo is the mount's number. */
static bool lists_mount(const char *path, long mount)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	bool found = false;
	size_t room = 0;

	while (f && !found && getline(&line, &room, f) > 0)
		found = strtol(line, NULL, 10) == mount;
	free(line);
	if (f)
		fclose(f);
	return found;
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
	char path[64];
	long mount;
	dev_t dev;

	if (!device_of(path_fd, &dev))
		return errno == ENOSYS ? 0 : -errno;
	if (major(dev) || !is_served() || is_memory(dev))
		return 0;
	mount = mount_of(path_fd);
	if (lists_mount("/proc/self/mountinfo", mount))
		return 0;
	snprintf(path, sizeof(path), "%s/%u/mountinfo", proc, pid);
	return rp_is_our_user_namespace(proc, pid) && lists_mount(path, mount) ? 0 : -EACCES;
}

int rp_fuse_check_root(const char *proc, uint32_t pid)
{
	return rp_is_our_user_namespace(proc, pid) || !is_served() ? 0 : -EACCES;
}
