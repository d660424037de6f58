/* SPDX-License-Identifier: BSD-2-Clause */
/* A set of numbers, as a hash map of keys alone. */
#include "id_set.h"

bool rp_id_set_has(const struct id_set *set, uint64_t id)
{
	return !id || rp_hash_find(&set->ids, &id);
}

bool rp_id_set_add(struct id_set *set, uint64_t id)
{
	if (rp_id_set_has(set, id))
		return false;
	set->ids.key_size = set->ids.size = sizeof(id);
	rp_hash_add(&set->ids, &id);
	return true;
}

void rp_id_set_free(struct id_set *set)
{
	rp_hash_free(&set->ids);
}
