/* SPDX-License-Identifier: BSD-2-Clause */
/* intern.c: a hash index of ids, pools and strings on top of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "intern.h"

static int index_resize(struct index *x, uint32_t size)
{
	struct index old = *x;

	x->slots = malloc((size_t)size * sizeof(*x->slots));
	if (!x->slots) {
		x->slots = old.slots;
		return -ENOMEM;
	}
	memset(x->slots, 0xff, (size_t)size * sizeof(*x->slots));
	x->mask = size - 1;
	x->used = 0;
	for (uint32_t i = 0; old.slots && i <= old.mask; i++)
		if (old.slots[i].id != NONE)
			report_index_put(x, old.slots[i].hash, old.slots[i].id);
	free(old.slots);
	return 0;
}

int report_index_grow(struct index *x)
{
	if (!x->slots)
		return index_resize(x, 64);
	return x->mask >= UINT32_MAX / 2 ? -ENOMEM : index_resize(x, (x->mask + 1) * 2);
}

void report_index_put(struct index *x, uint32_t hash, uint32_t id)
{
	uint32_t at = hash;

	while (x->slots[at & x->mask].id != NONE)
		at++;
	x->slots[at & x->mask] = (struct index_slot){ hash, id };
	x->used++;
}

void report_index_free(struct index *x)
{
	free(x->slots);
	*x = (struct index){ 0 };
}

uint32_t report_hash_bytes(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t h = n * 0x9e3779b97f4a7c15ull, word;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&word, p, 8);
		h = (h ^ word) * 0xd6e8feb86659fd93ull;
		h ^= h >> 32;
	}
	word = 0;
	if (n)
		memcpy(&word, p, n);
	h = (h ^ word) * 0xd6e8feb86659fd93ull;
	h = (h ^ h >> 32) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(h >> 32);
}

int report_pool_add(struct pool *p, const void *item, size_t size, uint32_t *id)
{
	uint32_t hash = report_hash_bytes(item, size), at = hash, found;
	int err = index_reserve(&p->index);

	if (err)
		return err;
	while ((found = index_next(&p->index, hash, &at)) != NONE)
		if (!memcmp((char *)p->items + found * size, item, size))
			break;
	if (found == NONE) {
		err = report_array_grow(&p->items, &p->cap, (uint64_t)p->count + 1, size);
		if (err)
			return err;
		found = p->count++;
		memcpy((char *)p->items + found * size, item, size);
		report_index_put(&p->index, hash, found);
	}
	*id = found;
	return 0;
}

void report_pool_free(struct pool *p)
{
	free(p->items);
	report_index_free(&p->index);
	*p = (struct pool){ 0 };
}

int report_strings_init(struct strings *s)
{
	int err;

	*s = (struct strings){ .count = 1 };
	err = report_array_grow(&s->start, &s->start_cap, 64, sizeof(*s->start));
	if (!err)
		s->start[0] = 0;
	return err;
}

void report_strings_free(struct strings *s)
{
	free(s->bytes);
	free(s->start);
	report_index_free(&s->index);
	*s = (struct strings){ 0 };
}

int report_strings_add(struct strings *s, const char *text, uint32_t *id)
{
	uint32_t hash, at, found;
	size_t size;
	int err;

	if (!text) {
		*id = 0;
		return 0;
	}
	err = index_reserve(&s->index);
	if (err)
		return err;
	size = strlen(text) + 1;
	at = hash = report_hash_bytes(text, size - 1);
	while ((found = index_next(&s->index, hash, &at)) != NONE) {
		if (!strcmp(s->bytes + s->start[found], text)) {
			*id = found;
			return 0;
		}
	}
	err = report_array_grow(&s->bytes, &s->cap, (uint64_t)s->len + size, 1);
	if (!err)
		err = report_array_grow(&s->start, &s->start_cap, (uint64_t)s->count + 1,
					sizeof(*s->start));
	if (err)
		return err;
	memcpy(s->bytes + s->len, text, size);
	s->start[s->count] = s->len;
	s->len += (uint32_t)size;
	report_index_put(&s->index, hash, s->count);
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
