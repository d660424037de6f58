/* SPDX-License-Identifier: BSD-2-Clause */
/* An entry goes to the keeper as the name of a packet and a memfd with its bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rawprof/unwind.h>

#include "table_keeper.h"
#include "unwind/cache.h"

#define MAX_ENTRY (256u << 20) /* bytes: what the other side sends is not to be trusted */
#define NAME_LEN 32

/* ---- in the keeper */

/* Of the process, which is the keeper. Its own look at the directory: it was not sent. */
static struct unwind_cache_dir *open_dir(void)
{
	static struct unwind_cache *cache;

	if (!cache && unwind_cache_open(&cache, NULL, 0))
		return NULL;
	return unwind_cache_dir(cache);
}

/* Read, not mapped: the sender could make it shorter meanwhile. */
static int store(struct unwind_cache_dir *dir, const char *name, int fd)
{
	struct stat st;
	char *bytes;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_size <= 0 || st.st_size > MAX_ENTRY)
		return -EFBIG;
	bytes = malloc((size_t)st.st_size);
	if (!bytes)
		return -ENOMEM;
	err = pread(fd, bytes, (size_t)st.st_size, 0) == st.st_size ? 0 : -EIO;
	if (!err)
		err = unwind_cache_store(dir, name, bytes, (size_t)st.st_size);
	free(bytes);
	return err;
}

static int keep_table(void *ctx, const void *data, size_t size, int fd)
{
	struct unwind_cache_dir *dir = open_dir();
	char name[NAME_LEN + 1] = "";

	(void)ctx;
	if (!dir)
		return -ENOENT;
	if (size != NAME_LEN)
		return -EINVAL;
	memcpy(name, data, NAME_LEN);
	if (fd >= 0)
		return store(dir, name, fd);
	unwind_cache_used(dir, name);
	return 0;
}

const struct record_duty record_table_duty = { .run = keep_table };

/* ---- in the recording */

static int send_table(void *ctx, const char *name, const void *bytes, size_t size)
{
	struct record_keeper *keeper = ctx;
	int err = 0, fd = -1;

	if (bytes) {
		fd = memfd_create("table", MFD_CLOEXEC);
		if (fd < 0)
			return -errno;
		if (write(fd, bytes, size) != (ssize_t)size)
			err = -ENOSPC;
	}
	if (!err)
		err = record_keeper_ask(keeper, RECORD_DUTY_TABLES, name, strlen(name), fd);
	if (fd >= 0)
		close(fd);
	return err;
}

void record_tables_kept_by(struct unwind_cache *cache, struct record_keeper *keeper)
{
	unwind_cache_keep_by(cache, keeper ? send_table : NULL, keeper);
}
