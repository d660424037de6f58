/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tables of a file are called, kept by which file it is: who asks again need not read it.
 *
 * A file is the one that it was as long as its inode, size and times are. st_ctime is when the
 * kernel saw it change last, which nobody sets but who sets the clock. It is asked of a file
 *
 *  - in the file system of the cache: another may be a user's own, and tell whatever he likes;
 *  - that none may write to but root and the cache's owner: what is written through a mapping may
 *    come after the times that it set;
 *  - that has rested for two seconds: the kernel's clock for files goes by ticks.
 */
#ifndef UNWIND_KNOWN_H
#define UNWIND_KNOWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "keyed.h"

/* [0] of the table without what is computed of code, [1] with it. */
struct unwind_known {
	uint64_t version;
	struct unwind_key key[2];
	struct unwind_key code[2]; /* that the table's rules were computed of, and the file's */
	uint64_t has_code[2];	   /* false: whether the file's is of the table was not looked at */
};

/*
 * Names what is known of the file @fd, which may be open as a path only, in the directory @dir of
 * @owner. False: the file is not asked.
 */
bool unwind_known_name(int dir, uid_t owner, int fd, const struct unwind_secret *secret,
		       struct unwind_key *name);

/* What @fd, an entry, says. False: it is none. */
bool unwind_known_read(int fd, struct unwind_known *out);

/* What is known as soon as the file was read. */
void unwind_known_begin(struct unwind_known *k, const struct unwind_key key[2]);

#endif
