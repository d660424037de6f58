/* SPDX-License-Identifier: BSD-2-Clause */
/* files.c: small files of /proc and /sys, whose size is not known before they are read. */
#include "internal.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SMALL_FILE = 1 << 20 };

static const char *root = "";

void rp_root_replace(const char *with)
{
	root = with ? with : "";
	rp_features_forget();
}

int rp_root_open(const char *path, int flags)
{
	char full[PATH_MAX];
	int fd;

	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	fd = open(full, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int rp_read_fd(int fd, size_t limit, char **out, size_t *size)
{
	size_t used = 0, capacity = 4096;
	struct stat st;
	char *buf, *more;
	int err = -ENOMEM;

	/* Most files of /proc and /sys say 0 or a page; where it is the truth, no copying. */
	if (!fstat(fd, &st) && st.st_size >= (off_t)capacity && (size_t)st.st_size <= limit)
		capacity = (size_t)st.st_size + 2;
	buf = malloc(capacity);
	while (buf) {
		const ssize_t n = read(fd, buf + used, capacity - used - 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err = -errno;
			break;
		}
		used += (size_t)n;
		if (n == 0) {
			buf[used] = '\0';
			*out = buf;
			if (size)
				*size = used;
			return 0;
		}
		if (used > limit) {
			err = -EFBIG;
			break;
		}
		if (used < capacity - 1)
			continue;
		more = realloc(buf, capacity *= 2);
		if (!more)
			break;
		buf = more;
	}
	free(buf);
	return err;
}

int rp_read_file(const char *path, char **out)
{
	const int fd = rp_root_open(path, O_RDONLY);
	int err;

	if (fd < 0)
		return fd;
	err = rp_read_fd(fd, SMALL_FILE, out, NULL);
	close(fd);
	return err;
}

int rp_read_number(const char *path, long long *out)
{
	char *text, *end;
	long long n;
	int err;

	err = rp_read_file(path, &text);
	if (err)
		return err;
	errno = 0;
	n = strtoll(text, &end, 0);
	if (errno || end == text || (*end && *end != '\n'))
		err = -EINVAL;
	else
		*out = n;
	free(text);
	return err;
}
