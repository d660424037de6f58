/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings that are kept once each, by number. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "intern.h"

int report_strings_init(struct strings *s)
{
	int err;

	*s = (struct strings){ .count = 1 };
	err = RP_GROW_TO(s->start, 64, s->start_cap);
	if (!err)
		s->start[0] = 0;
	return err;
}

void report_strings_free(struct strings *s)
{
	free(s->bytes);
	free(s->start);
	rp_index_free(&s->index);
	*s = (struct strings){ 0 };
}

void report_strings_forget(struct strings *s)
{
	rp_index_free(&s->index);
	s->len = 0;
	s->count = 1;
}

static uint32_t find(const struct strings *s, const char *text, uint32_t hash)
{
	uint32_t at = hash, found;

	while ((found = rp_index_next(&s->index, hash, &at)) != NONE)
		if (!strcmp(s->bytes + s->start[found], text))
			return found;
	return 0;
}

uint32_t report_strings_find(const struct strings *s, const char *text)
{
	return s->index.slots ? find(s, text, rp_hash_bytes(text, strlen(text))) : 0;
}

int report_strings_add(struct strings *s, const char *text, uint32_t *id)
{
	uint32_t hash;
	size_t size;
	int err;

	if (!text) {
		*id = 0;
		return 0;
	}
	err = rp_index_reserve(&s->index);
	if (err)
		return err;
	size = strlen(text) + 1;
	hash = rp_hash_bytes(text, size - 1);
	*id = find(s, text, hash);
	if (*id)
		return 0;
	err = RP_GROW_TO(s->bytes, (size_t)s->len + size, s->cap);
	if (!err)
		err = RP_GROW(s->start, s->count, s->start_cap);
	if (err)
		return err;
	memcpy(s->bytes + s->len, text, size);
	s->start[s->count] = s->len;
	s->len += (uint32_t)size;
	rp_index_put(&s->index, hash, s->count);
	*id = s->count++;
	return 0;
}

static int by_text(const void *a, const void *b, void *strings)
{
	return strcmp(strings_get(strings, *(const uint32_t *)a),
		      strings_get(strings, *(const uint32_t *)b));
}

uint32_t *report_strings_rank(const struct strings *s)
{
	uint32_t *sorted = malloc(s->count * sizeof(*sorted));
	uint32_t *rank = malloc(s->count * sizeof(*rank));

	if (!sorted || !rank) {
		free(sorted);
		free(rank);
		return NULL;
	}
	for (uint32_t i = 0; i < s->count; i++)
		sorted[i] = i;
	qsort_r(sorted + 1, s->count - 1, sizeof(*sorted), by_text, (void *)s);
	rank[0] = 0;
	for (uint32_t i = 1; i < s->count; i++)
		rank[sorted[i]] = i;
	free(sorted);
	return rank;
}
