/* SPDX-License-Identifier: BSD-2-Clause */
/* A file that a process has mapped code of, for those who look what language it is of. */
#ifndef RECORD_MAPPED_FILE_H
#define RECORD_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/hash.h"
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

/*
 * What @files has of it, by @key. What it has not is opened, *fd, and added, all zeroes: not a file
 * that cannot be opened now, which the next process may have as well. NULL: there is none of it.
 */
void *record_known_file(struct hash_map *files, const void *key, const struct mapped_file *file,
			int *fd);

/* Whether what was opened is what the key was made of: between the two a process may change it. */
bool record_is_that_file(int fd, const struct stat *st);

#endif
