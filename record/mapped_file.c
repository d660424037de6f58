/* SPDX-License-Identifier: BSD-2-Clause */
#include <unistd.h>

#include "mapped_file.h"
#include "names.h"

void *record_known_file(struct hash_map *files, const void *key, const struct mapped_file *file,
			int *fd)
{
	void *known = rp_hash_find(files, key);
	bool is_new;

	*fd = known ? -1 : file->open(file->ctx);
	if (*fd < 0)
		return known;
	known = rp_hash_add_within(files, key, LANGUAGE_MAX_FILES, &is_new);
	if (!known)
		close(*fd);
	return known;
}

bool record_is_that_file(int fd, const struct stat *st)
{
	struct stat now;

	return !fstat(fd, &now) && now.st_dev == st->st_dev && now.st_ino == st->st_ino &&
	       now.st_ctim.tv_sec == st->st_ctim.tv_sec &&
	       now.st_ctim.tv_nsec == st->st_ctim.tv_nsec;
}
