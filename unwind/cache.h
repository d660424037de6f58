/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing to the directory of tables, apart from reading it: another process may do it. */
#ifndef UNWIND_CACHE_H
#define UNWIND_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UNWIND_CACHE_NAME = 2 * 16 + 1 }; /* bytes of a name: those of a key, in hexadecimal */

struct unwind_cache_dir {
	int fd;
	uint64_t max_bytes; /* of whole pages, as entries have them on the disk; */
	uint64_t bytes;	    /*   that all have, */
	uint64_t entries;   /*   and how many they are, */
	bool is_counted;    /*   if they were counted */
};

/* However small they are: each has an inode. */
#define UNWIND_CACHE_ENTRIES (1U << 16)

/*
 * As unwind_cache_open(); *@secret is the directory's. What is in it is counted when it is written
 * to first.
 */
struct unwind_secret;
int unwind_cache_dir_open(struct unwind_cache_dir *out, const char *dir, uint64_t max_bytes,
			  struct unwind_secret *secret);

/*
 * Stores the entry @name, 32 hexadecimal digits, whole or not at all; those that were used least
 * recently make room for it. -EINVAL: no such name; -EFBIG: beyond the limit for files; -ENOSPC,
 * -EDQUOT or whatever else writing says.
 */
int unwind_cache_store(struct unwind_cache_dir *c, const char *name, const void *bytes,
		       size_t size);
/* The entry was used just now: others make room before it does. */
void unwind_cache_used(struct unwind_cache_dir *c, const char *name);

/* @keep does both from now on, unless it is NULL; @bytes NULL: the entry was used. */
struct unwind_cache;
typedef int unwind_cache_keep(void *ctx, const char *name, const void *bytes, size_t size);
void unwind_cache_keep_by(struct unwind_cache *c, unwind_cache_keep *keep, void *ctx);
/* What it writes to. */
struct unwind_cache_dir *unwind_cache_dir(struct unwind_cache *c);

#endif
