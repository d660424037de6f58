/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings kept once each. */
#include <stdlib.h>
#include <string.h>

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

static const char **find_slot(const char **slots, size_t nslots, const char *s, size_t len)
{
	size_t i = sym_hash(s, len) & (nslots - 1);

	while (slots[i] && (strncmp(slots[i], s, len) || slots[i][len]))
		i = (i + 1) & (nslots - 1);
	return &slots[i];
}

static int grow(struct sym_strings *set)
{
	size_t nslots = set->nslots ? 2 * set->nslots : 64;
	const char **slots = calloc(nslots, sizeof(*slots));

	if (!slots)
		return -1;
	for (size_t i = 0; i < set->nslots; i++) {
		const char *s = set->slots[i];

		if (s)
			*find_slot(slots, nslots, s, strlen(s)) = s;
	}
	free(set->slots);
	set->slots = slots;
	set->nslots = nslots;
	return 0;
}

const char *sym_strings_add(struct sym_strings *set, const char *s, size_t len)
{
	const char **slot, *kept;
	char *copy;

	if (2 * (set->count + 1) > set->nslots && grow(set))
		return NULL;
	slot = find_slot(set->slots, set->nslots, s, len);
	kept = *slot;
	if (kept)
		return kept;
	copy = allocate(set, len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, s, len);
	copy[len] = '\0';
	set->count++;
	*slot = copy;
	return copy;
}

void sym_strings_free(struct sym_strings *set)
{
	while (set->chunk) {
		struct sym_string_chunk *next = set->chunk->next;

		free(set->chunk);
		set->chunk = next;
	}
	free(set->slots);
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
