/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings kept once each: comms, paths and function names that many frames share. */
#ifndef SYMBOLIZE_STRINGS_H
#define SYMBOLIZE_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/*
 * Texts lie in chunks that never move, so a pointer stays good until the set is freed, and equal
 * texts have equal pointers.
 */
struct sym_strings {
	struct sym_string_chunk *chunk;
	size_t size, used; /* bytes of the newest chunk */
	const char **kept; /* all of them */
	uint32_t count, capacity;
	struct hash_index index;
};

/*
 * The kept copy of the @len bytes at @s, NUL added; they must not hold one. NULL: out of memory,
 * which has been said (rp_lack()); none is needed if there is one.
 */
const char *sym_strings_add(struct sym_strings *set, const char *s, size_t len);
/* The copy that is kept already, or NULL. */
const char *sym_strings_find(const struct sym_strings *set, const char *s, size_t len);
/* The kept copy of one text behind the other. */
const char *sym_strings_join(struct sym_strings *set, const char *a, const char *b);
void sym_strings_free(struct sym_strings *set);

#endif
