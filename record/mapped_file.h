/* SPDX-License-Identifier: BSD-2-Clause */
/* A file that a process has mapped code of, for those who look what language it is of. */
#ifndef RECORD_MAPPED_FILE_H
#define RECORD_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "symbolize/proc.h"

/*
 * What is known of a file is kept under this. The number of one that was deleted is given to the
 * next, which may be another user's. No padding: see struct hash_map.
 */
struct file_key {
	uint32_t major, minor;
	uint64_t inode, size, changed_ns;
};

struct mapped_file {
	struct file_key key;
	const struct sym_proc_map *map;
	int (*open)(void *ctx); /* a descriptor or a negative errno */
	void *ctx;
};

static inline struct file_key record_file_key(const struct sym_proc_map *m, const struct stat *st)
{
	return (struct file_key){ .major = m->dev_major,
				  .minor = m->dev_minor,
				  .inode = m->inode,
				  .size = (uint64_t)st->st_size,
				  .changed_ns = (uint64_t)st->st_ctim.tv_sec * 1000000000u +
						(uint64_t)st->st_ctim.tv_nsec };
}

/* Whether what was opened is what the key was made of: between the two a process may change it. */
static inline bool record_is_that_file(int fd, const struct stat *st)
{
	struct stat now;

	return !fstat(fd, &now) && now.st_dev == st->st_dev && now.st_ino == st->st_ino &&
	       now.st_ctim.tv_sec == st->st_ctim.tv_sec &&
	       now.st_ctim.tv_nsec == st->st_ctim.tv_nsec;
}

#endif
