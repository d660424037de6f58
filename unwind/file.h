/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables as files, and the fingerprint of what a table was made of. */
#ifndef UNWIND_FILE_H
#define UNWIND_FILE_H

#include <rawprof/unwind.h>

#include "elf.h"

/* 128 bits against accidents, not against someone who makes two files alike on purpose. */
struct unwind_key {
	uint64_t word[2];
};

/* Of everything that the table of @s depends on, this version's way of making it included. */
struct unwind_key unwind_source_key(const struct unwind_source *s);

/* Writes the table of what has @key to the empty file @fd. 0 or a negative errno. */
int unwind_file_write(int fd, const struct unwind_key *key, const struct unwind_table *t);

/* -EBADMSG if it is not a whole, sound table of @key by this version; -ENOMEM; what read said. */
int unwind_file_read(int fd, const struct unwind_key *key, struct unwind_table **out);

#endif
