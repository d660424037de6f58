/* SPDX-License-Identifier: BSD-2-Clause */
/* The errors that say that there was something, but not that it could be had. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "lack.h"

static struct rp_lacks lacks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool counts(int err)
{
	static const int errors[] = { EIO,    ENOMEM, EMFILE, ENFILE, EACCES,
				      EAGAIN, EINTR,  ESTALE, EBUSY,  EDQUOT };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (err == -errors[i])
			return true;
	return false;
}

void rp_lack(int err, const char *path)
{
	if (!counts(err))
		return;
	pthread_mutex_lock(&lock);
	if (!lacks.n++) {
		lacks.err = err;
		snprintf(lacks.what, sizeof(lacks.what), "%s", path);
	}
	pthread_mutex_unlock(&lock);
}

void rp_lack_file(int err, int fd)
{
	char link[32], path[sizeof(lacks.what)];
	ssize_t n;

	if (!counts(err))
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	rp_lack(err, n > 0 ? path : "a file");
}

struct rp_lacks rp_lacks_take(void)
{
	struct rp_lacks taken;

	pthread_mutex_lock(&lock);
	taken = lacks;
	lacks = (struct rp_lacks){ 0 };
	pthread_mutex_unlock(&lock);
	return taken;
}
