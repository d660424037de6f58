/* SPDX-License-Identifier: BSD-2-Clause */
/* Small files, read in one go, as those of procfs change between two reads; and files of others. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"

int rp_read_small_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	if (n < 0)
		n = -errno;
	else
		text[n] = '\0';
	close(fd);
	return (int)n;
}

int rp_reopen_regular(int path_fd)
{
	char path[32];
	struct stat st;
	int fd;

	if (fstat(path_fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EPERM;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	/* A lease on the file would make open(2) wait for its holder, 45 seconds by default. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int rp_open_regular(int dirfd, const char *path)
{
	int path_fd = openat(dirfd, path, O_PATH | O_CLOEXEC), fd;

	if (path_fd < 0)
		return -errno;
	fd = rp_reopen_regular(path_fd);
	close(path_fd);
	return fd;
}
