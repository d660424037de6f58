/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "id_set.h"

static uint64_t *find(uint64_t *slots, size_t nslots, uint64_t id)
{
	size_t i = (id * 0x9e3779b97f4a7c15 >> 32) & (nslots - 1);

	while (slots[i] && slots[i] != id)
		i = (i + 1) & (nslots - 1);
	return &slots[i];
}

static bool grow(struct id_set *set)
{
	size_t nslots = set->nslots ? set->nslots * 2 : 256;
	uint64_t *slots = calloc(nslots, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < set->nslots; i++)
		if (set->slots[i])
			*find(slots, nslots, set->slots[i]) = set->slots[i];
	free(set->slots);
	set->slots = slots;
	set->nslots = nslots;
	return true;
}

bool rp_id_set_has(const struct id_set *set, uint64_t id)
{
	return !id || (set->nslots && *find(set->slots, set->nslots, id));
}

bool rp_id_set_add(struct id_set *set, uint64_t id)
{
	uint64_t *slot;

	if (!id)
		return false;
	if (set->used * 2 >= set->nslots && !grow(set))
		return true;
	slot = find(set->slots, set->nslots, id);
	if (*slot)
		return false;
	*slot = id;
	set->used++;
	return true;
}

void rp_id_set_free(struct id_set *set)
{
	free(set->slots);
	*set = (struct id_set){ 0 };
}
