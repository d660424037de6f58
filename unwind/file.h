/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables as files, and the fingerprint of what a table was made of. */
#ifndef UNWIND_FILE_H
#define UNWIND_FILE_H

#include <rawprof/unwind.h>

#include "elf.h"
#include "keyed.h"

/* Of everything that the table of @s depends on, this version's way of making it included. */
struct unwind_key unwind_source_key(const struct unwind_source *s,
				    const struct unwind_secret *secret);

/*
 * Of the code that rules of @t were computed from, the code of @s. False: it is not there. What was
 * computed holds for no other code.
 */
bool unwind_code_key(const struct unwind_source *s, const struct unwind_table *t,
		     const struct unwind_secret *secret, struct unwind_key *out);

/*
 * What a file with the table of what has @key, and @code, consists of: *@size bytes, to be freed.
 * -ENOMEM.
 */
int unwind_file_make(const struct unwind_key *key, const struct unwind_key *code,
		     const struct unwind_table *t, void **bytes, size_t *size);

/*
 * *@code is what it was made with. -EBADMSG if it is not a whole, sound table of @key by this
 * version; -ENOMEM; what read said.
 */
int unwind_file_read(int fd, const struct unwind_key *key, struct unwind_key *code,
		     struct unwind_table **out);

#endif
