/* SPDX-License-Identifier: BSD-2-Clause */
/* A hash index of numbers, and a map of entries with their keys on top of it. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "grow.h"
#include "hash.h"

static int resize(struct hash_index *x, uint32_t size)
{
	struct hash_index old = *x;

	x->slots = malloc((size_t)size * sizeof(*x->slots));
	if (!x->slots) {
		x->slots = old.slots;
		return -ENOMEM;
	}
	memset(x->slots, 0xff, (size_t)size * sizeof(*x->slots));
	x->mask = size - 1;
	x->used = 0;
	for (uint32_t i = 0; old.slots && i <= old.mask; i++)
		if (old.slots[i].id != HASH_NONE)
			rp_index_put(x, old.slots[i].hash, old.slots[i].id);
	free(old.slots);
	return 0;
}

int rp_index_grow(struct hash_index *x)
{
	if (!x->slots)
		return resize(x, 64);
	return x->mask >= UINT32_MAX / 2 ? -ENOMEM : resize(x, (x->mask + 1) * 2);
}

void rp_index_put(struct hash_index *x, uint32_t hash, uint32_t id)
{
	uint32_t at = hash;

	while (x->slots[at & x->mask].id != HASH_NONE)
		at++;
	x->slots[at & x->mask] = (struct hash_slot){ hash, id };
	x->used++;
}

void rp_index_free(struct hash_index *x)
{
	free(x->slots);
	*x = (struct hash_index){ 0 };
}

/* Odd numbers with bits all over: the first is 2^64 by the golden ratio. */
static const uint64_t lasting[2] = { 0x9e3779b97f4a7c15ull, 0xd6e8feb86659fd93ull };
static uint64_t secret[2] = { 0x9e3779b97f4a7c15ull, 0xd6e8feb86659fd93ull };

/* By what the kernel gives each program at its start: no system call, which could fail. */
static __attribute__((constructor)) void make_secret(void)
{
	const void *random = (const void *)(uintptr_t)getauxval(AT_RANDOM); /* 16 bytes */

	if (!random)
		return;
	memcpy(secret, random, sizeof(secret));
	/* What the C library guards stacks with are those bytes. */
	secret[0] *= lasting[0];
	secret[1] = secret[1] * lasting[1] | 1;
}

/* Both halves of the product: what a bit does depends on the secret and on all bits below it. */
static uint64_t fold(uint64_t a, uint64_t b)
{
	const unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint32_t hash_with(const uint64_t key[2], const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t h = key[0] ^ n * lasting[0], word;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&word, p, 8);
		h = fold(h ^ word, key[1]);
	}
	if (n) {
		word = 0;
		if (n == 4) /* most ids: no call */
			memcpy(&word, p, 4);
		else
			memcpy(&word, p, n);
		h = fold(h ^ word, key[1]);
	}
	h = (h ^ h >> 32) * lasting[0];
	return (uint32_t)(h >> 32);
}

uint32_t rp_hash_bytes(const void *bytes, size_t n)
{
	return hash_with(secret, bytes, n);
}

uint64_t rp_hash_secret(void)
{
	return fold(secret[0], secret[1]);
}

uint32_t rp_hash_lasting(const void *bytes, size_t n)
{
	return hash_with(lasting, bytes, n);
}

static void *entry(const struct hash_map *map, uint32_t number)
{
	return (char *)map->items + (size_t)number * map->size;
}

/* Numbers are compared without a call: most keys are one. */
static bool is_equal(const void *a, const void *b, size_t n)
{
	return n == 8 ? !memcmp(a, b, 8) : n == 4 ? !memcmp(a, b, 4) : !memcmp(a, b, n);
}

static uint32_t find(const struct hash_map *map, const void *key, uint32_t hash)
{
	uint32_t at = hash, found;

	do
		found = rp_index_next(&map->index, hash, &at);
	while (found != HASH_NONE && !is_equal(entry(map, found), key, map->key_size));
	return found;
}

void *rp_hash_find(const struct hash_map *map, const void *key)
{
	uint32_t found = HASH_NONE;

	if (map->count)
		found = find(map, key, rp_hash_bytes(key, map->key_size));
	return found == HASH_NONE ? NULL : entry(map, found);
}

/* Room for one more. The size of an entry is known at run time, so RP_GROW() is of no use. */
static int reserve(struct hash_map *map)
{
	size_t capacity = map->capacity;
	int err = rp_index_reserve(&map->index);

	if (!err && map->count == capacity) {
		err = rp_grow(&map->items, capacity + 1, &capacity, HASH_NONE, map->size);
		map->capacity = (uint32_t)capacity;
	}
	return err;
}

int rp_hash_number(struct hash_map *map, const void *key, uint32_t *number)
{
	uint32_t hash = rp_hash_bytes(key, map->key_size), found = HASH_NONE;
	unsigned char *new;
	int err;

	if (map->count)
		found = find(map, key, hash);
	if (found == HASH_NONE) {
		err = reserve(map);
		if (err)
			return err;
		found = map->count++;
		new = entry(map, found);
		memcpy(new, key, map->key_size);
		memset(new + map->key_size, 0, map->size - map->key_size);
		rp_index_put(&map->index, hash, found);
	}
	*number = found;
	return 0;
}

void *rp_hash_add(struct hash_map *map, const void *key)
{
	uint32_t number;

	return rp_hash_number(map, key, &number) ? NULL : entry(map, number);
}

/* Empty, with the memory that it has. */
static void clear(struct hash_map *map)
{
	map->count = 0;
	memset(map->index.slots, 0xff, ((size_t)map->index.mask + 1) * sizeof(*map->index.slots));
	map->index.used = 0;
}

void *rp_hash_add_within(struct hash_map *map, const void *key, uint32_t most, bool *is_new)
{
	void *found = rp_hash_find(map, key);

	*is_new = !found;
	if (found)
		return found;
	if (map->count && map->count >= most)
		clear(map);
	return rp_hash_add(map, key);
}

void rp_hash_keep(struct hash_map *map, bool (*stays)(void *ctx, void *entry), void *ctx)
{
	const uint32_t count = map->count;

	if (!count)
		return;
	clear(map);
	for (uint32_t i = 0; i < count; i++) {
		if (!stays(ctx, entry(map, i)))
			continue;
		if (i != map->count)
			memcpy(entry(map, map->count), entry(map, i), map->size);
		rp_index_put(&map->index, rp_hash_bytes(entry(map, map->count), map->key_size),
			     map->count);
		map->count++;
	}
}

void rp_hash_free(struct hash_map *map)
{
	free(map->items);
	rp_index_free(&map->index);
	*map = (struct hash_map){ .key_size = map->key_size, .size = map->size };
}
