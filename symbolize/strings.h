/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings kept once each: comms, paths and function names that many frames share. */
#ifndef SYMBOLIZE_STRINGS_H
#define SYMBOLIZE_STRINGS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Texts lie in chunks that never move, so a pointer stays good until the set is freed, and equal
 * texts have equal pointers. The slots are an open-addressing hash of them, at most half full.
 */
struct sym_strings {
	struct sym_string_chunk *chunk;
	size_t used; /* bytes of the newest chunk */
	const char **slots;
	size_t nslots; /* 0 or a power of two */
	size_t count;
};

/* The kept copy of the @len bytes at @s, NUL added; they must not hold one. NULL: out of memory. */
const char *sym_strings_add(struct sym_strings *set, const char *s, size_t len);
/* The same for one text after the other. */
const char *sym_strings_join(struct sym_strings *set, const char *a, const char *b);
void sym_strings_free(struct sym_strings *set);

/* FNV-1a, for this and the other hash tables of this folder. */
static inline uint64_t sym_hash(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3;
	return h ^ h >> 32;
}

#endif
