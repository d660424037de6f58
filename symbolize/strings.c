/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings kept once each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/lack.h"
#include "strings.h"

/* Each is twice the one before: a set may be of one file, and most files have few names. */
enum { SMALLEST = 512, LARGEST = 8192, HEAD = 2 * sizeof(void *) };

struct sym_string_chunk {
	struct sym_string_chunk *next;
	char text[];
};

static char *allocate(struct sym_strings *set, size_t size)
{
	struct sym_string_chunk *c;
	size_t room = SMALLEST - HEAD;

	if (set->chunk && size <= set->size - set->used) {
		set->used += size;
		return set->chunk->text + set->used - size;
	}
	if (set->chunk)
		room = set->size < LARGEST / 2 ? 2 * set->size + HEAD : LARGEST - HEAD;
	if (size > room)
		room = size;
	c = malloc(sizeof(*c) + room);
	if (!c)
		return NULL;
	c->next = set->chunk;
	set->chunk = c;
	set->size = room;
	set->used = size;
	return c->text;
}

static const char *no_memory(void)
{
	rp_lack(-ENOMEM, "a name");
	return NULL;
}

static const char *find(const struct sym_strings *set, uint32_t hash, const char *s, size_t len)
{
	uint32_t at = hash, found;

	while (set->count && (found = rp_index_next(&set->index, hash, &at)) != HASH_NONE) {
		const char *kept = set->kept[found];

		if (!strncmp(kept, s, len) && !kept[len])
			return kept;
	}
	return NULL;
}

const char *sym_strings_find(const struct sym_strings *set, const char *s, size_t len)
{
	return find(set, rp_hash_bytes(s, len), s, len);
}

const char *sym_strings_add(struct sym_strings *set, const char *s, size_t len)
{
	const uint32_t hash = rp_hash_bytes(s, len);
	const char *kept = find(set, hash, s, len);
	char *copy;

	if (kept)
		return kept;
	if (rp_index_reserve(&set->index))
		return no_memory();
	copy = RP_GROW(set->kept, set->count, set->capacity) ? NULL : allocate(set, len + 1);
	if (!copy)
		return no_memory();
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
		return no_memory();
	memcpy(both, a, x);
	memcpy(both + x, b, y + 1);
	kept = sym_strings_add(set, both, x + y);
	free(both);
	return kept;
}
