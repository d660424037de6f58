/* SPDX-License-Identifier: BSD-2-Clause */
/* Small files, read in one go: those of procfs and sysfs change between two reads. */
#include <errno.h>
#include <fcntl.h>
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
