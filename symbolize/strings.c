/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings kept once each. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "strings.h"

enum { CHUNK = 8192 - 2 * sizeof(void *) };

struct sym_string_chunk {
	struct sym_string_chunk *next;
	char text[];
};

static char *allocate(struct sym_strings *set, size_t size)
{
	struct sym_string_chunk *c;

	if (set->chunk && size <= CHUNK && set->used <= CHUNK - size) {
		set->used += size;
		return set->chunk->text + set->used - size;
	}
	c = malloc(sizeof(*c) + (size > CHUNK ? size : CHUNK));
	if (!c)
		return NULL;
	c->next = set->chunk;
	set->chunk = c;
	set->used = size > CHUNK ? CHUNK : size;
	return c->text;
}

const char *sym_strings_add(struct sym_strings *set, const char *s, size_t len)
{
	uint32_t hash = rp_hash_bytes(s, len), at = hash, found;
	char *copy;

	if (rp_index_reserve(&set->index))
		return NULL;
	while ((found = rp_index_next(&set->index, hash, &at)) != HASH_NONE) {
		const char *kept = set->kept[found];

		if (!strncmp(kept, s, len) && !kept[len])
			return kept;
	}
	copy = RP_GROW(set->kept, set->count, set->capacity) ? NULL : allocate(set, len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, s, len);
	copy[len] = '\0';
	set->kept[set->count] = copy;
	rp_index_put(&set->index, hash, set->count++);
	return copy;
}

void sym_strings_free(struct sym_strings *set)
{
	while (set->chunk) {
		struct sym_string_chunk *next = set->chunk->next;

		free(set->chunk);
		set->chunk = next;
	}
	free(set->kept);
	rp_index_free(&set->index);
	*set = (struct sym_strings){ 0 };
}

const char *sym_strings_join(struct sym_strings *set, const char *a, const char *b)
{
	size_t x = strlen(a), y = strlen(b);
	char *both = malloc(x + y + 1);
	const char *kept;

	if (!both)
		return NULL;
	memcpy(both, a, x);
	memcpy(both + x, b, y + 1);
	kept = sym_strings_add(set, both, x + y);
	free(both);
	return kept;
}
