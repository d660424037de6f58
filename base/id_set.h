/* SPDX-License-Identifier: BSD-2-Clause */
/* A set of numbers that only grows: process ids, or these with something in their upper half. */
#ifndef BASE_ID_SET_H
#define BASE_ID_SET_H

#include <stdbool.h>

#include "hash.h"

/* All zeroes is an empty set. 0, the idle task, belongs to every set and is not kept. */
struct id_set {
	struct hash_map ids;
};

bool rp_id_set_has(const struct id_set *set, uint64_t id);
/* True if it is new. Without memory the set stays as it is, and what is new stays new. */
bool rp_id_set_add(struct id_set *set, uint64_t id);
void rp_id_set_free(struct id_set *set);

/* Number @i of those kept, in the order they came. */
static inline uint64_t rp_id_set_at(const struct id_set *set, uint32_t i)
{
	return ((const uint64_t *)set->ids.items)[i];
}

static inline uint32_t rp_id_set_count(const struct id_set *set)
{
	return set->ids.count;
}

#endif
