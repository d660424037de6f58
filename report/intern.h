/* SPDX-License-Identifier: BSD-2-Clause */
/* intern.h: equal things get equal small numbers: a hash index of ids, pools and strings on top of
 * it. */
#ifndef REPORT_INTERN_H
#define REPORT_INTERN_H

#include <stddef.h>
#include <stdint.h>

#define NONE UINT32_MAX

/*
 * An open-addressed index from hashes to ids; what an id stands for is the owner's. At most half of
 * the slots are in use, so a probe always meets an empty one (id NONE) and ends. The hash is kept
 * beside the id: growing needs no look at the things themselves, and few of them are compared in
 * vain.
 */
struct index {
	struct index_slot {
		uint32_t hash, id;
	} * slots;
	uint32_t mask, used;
};

int report_index_grow(struct index *x); /* 0 or -ENOMEM */
void report_index_put(struct index *x, uint32_t hash, uint32_t id);
void report_index_free(struct index *x);

/* Makes room for one more; before every search. 0 or -ENOMEM. */
static inline int index_reserve(struct index *x)
{
	return x->slots && x->used < x->mask / 4 * 3 ? 0 : report_index_grow(x);
}

/* The next id with this hash, NONE at the end. *at starts as hash. */
static inline uint32_t index_next(const struct index *x, uint32_t hash, uint32_t *at)
{
	for (;;) {
		const struct index_slot *slot = &x->slots[(*at)++ & x->mask];

		if (slot->id == NONE || slot->hash == hash)
			return slot->id;
	}
}

static inline uint32_t hash_pair(uint32_t a, uint32_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
	return (uint32_t)(h >> 32);
}

uint32_t report_hash_bytes(const void *bytes, size_t n);

/* Different elements of one size, by id from 0. Elements are compared as bytes, so their type has
 * no padding: POOL_ELEMENT() holds it to that. */
struct pool {
	void *items;
	uint32_t count, cap;
	struct index index;
};

#define POOL_ELEMENT(type, sum_of_members)                                                         \
	_Static_assert(sizeof(type) == (sum_of_members), #type " has padding")

int report_pool_add(struct pool *p, const void *item, size_t size,
		    uint32_t *id); /* 0, -ENOMEM, -EOVERFLOW */
void report_pool_free(struct pool *p);

/* Strings by id, from 1; id 0 is "no string" (NULL). Pointers to them last until the next is added.
 */
struct strings {
	char *bytes;
	uint32_t len, cap;
	uint32_t *start; /* of string id, in bytes */
	uint32_t count, start_cap;
	struct index index;
};

int report_strings_init(struct strings *s);
void report_strings_free(struct strings *s);
int report_strings_add(struct strings *s, const char *text, uint32_t *id); /* NULL gives 0 */

static inline const char *strings_get(const struct strings *s, uint32_t id)
{
	return id ? s->bytes + s->start[id] : NULL;
}

/* rank[id] is the place of the string in the order of strcmp; rank[0] is 0. NULL if memory ran out.
 */
uint32_t *report_strings_rank(const struct strings *s);

#endif
