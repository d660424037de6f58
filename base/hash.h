/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash map: entries of one size, numbered from 0 in the order they came, found by the key that
 * each begins with.
 *
 *	struct seen { uint32_t pid; uint64_t since; };
 *	struct hash_map map = HASH_MAP(struct seen, pid);
 *	struct seen *s = rp_hash_add(&map, &pid);
 *	if (s && !s->since)
 *		s->since = now;
 *
 * Below it, for things that lie elsewhere or have no size: an index from hashes to their numbers.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_NONE UINT32_MAX

/*
 * Open addressing. At most three quarters of the slots are in use, so a search always meets an
 * empty one (id HASH_NONE) and ends. The hash is kept beside the id: growing needs no look at the
 * things themselves, and few of them are compared in vain.
 */
struct hash_index {
	struct hash_slot {
		uint32_t hash, id;
	} * slots;
	uint32_t mask, used; /* number of slots - 1, a power of two - 1 */
};

int rp_index_grow(struct hash_index *x); /* 0 or -ENOMEM */
/* What was reserved is taken: @id is found by @hash from now on. */
void rp_index_put(struct hash_index *x, uint32_t hash, uint32_t id);
void rp_index_free(struct hash_index *x);

/* Makes room for one more; before every search that may add. 0 or -ENOMEM. */
static inline int rp_index_reserve(struct hash_index *x)
{
	return x->slots && x->used < x->mask / 4 * 3 ? 0 : rp_index_grow(x);
}

/* The next id with this hash, HASH_NONE at the end. *at starts as hash. */
static inline uint32_t rp_index_next(const struct hash_index *x, uint32_t hash, uint32_t *at)
{
	for (;;) {
		const struct hash_slot *slot = &x->slots[(*at)++ & x->mask];

		if (slot->id == HASH_NONE || slot->hash == hash)
			return slot->id;
	}
}

/*
 * Another one in every process: whoever chooses names or addresses cannot choose many of the same
 * hash, each of which would be compared with all before it.
 */
uint32_t rp_hash_bytes(const void *bytes, size_t n);
/* A number for others to hash with, which tells nothing of the one above. */
uint64_t rp_hash_secret(void);
/* The same one in every process, of what others have not chosen. */
uint32_t rp_hash_lasting(const void *bytes, size_t n);

static inline uint32_t rp_hash_pair(uint32_t a, uint32_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
	return (uint32_t)(h >> 32);
}

/*
 * Keys are compared as bytes, so what belongs to one has no padding. An entry may move when another
 * is added: numbers stay, pointers do not. All zeroes but for the sizes is an empty map.
 */
struct hash_map {
	void *items; /* count entries, in the order they came */
	uint32_t count, capacity;
	uint32_t key_size, size; /* of an entry; key_size <= size */
	struct hash_index index;
};

/* An empty map of entries of @type, whose members up to the one named @last are the key. */
#define HASH_MAP(type, last)                                                                       \
	((struct hash_map){ .key_size = offsetof(type, last) + sizeof(((type *)0)->last),          \
			    .size = sizeof(type) })
/* An empty set: all of an entry is its key. */
#define HASH_SET(type) ((struct hash_map){ .key_size = sizeof(type), .size = sizeof(type) })

/* The entry with this key; NULL: there is none. */
void *rp_hash_find(const struct hash_map *map, const void *key);
/* The entry with this key, made with zeroes behind it if there was none; NULL: out of memory. */
void *rp_hash_add(struct hash_map *map, const void *key);
/*
 * The same of a map that has at most @most entries: one more, and it begins anew, for what others
 * make as many of as they like.
 */
void *rp_hash_add_within(struct hash_map *map, const void *key, uint32_t most, bool *is_new);
/* Its number. 0, -ENOMEM or -EOVERFLOW. */
int rp_hash_number(struct hash_map *map, const void *key, uint32_t *number);
/*
 * Entries go for which @stays, called once with each, says no. What that frees may be of the entry;
 * those that stay have new numbers, in their old order.
 */
void rp_hash_keep(struct hash_map *map, bool (*stays)(void *ctx, void *entry), void *ctx);
/* Empties the map, which may be used again. */
void rp_hash_free(struct hash_map *map);

#endif
