/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "pid_set.h"

static uint32_t *find(uint32_t *slots, size_t nslots, uint32_t pid)
{
	size_t i = pid * 2654435761u & (nslots - 1);

	while (slots[i] && slots[i] != pid)
		i = (i + 1) & (nslots - 1);
	return &slots[i];
}

static bool grow(struct pid_set *set)
{
	size_t nslots = set->nslots ? set->nslots * 2 : 256;
	uint32_t *slots = calloc(nslots, sizeof(*slots));

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

bool pid_set_has(const struct pid_set *set, uint32_t pid)
{
	return !pid || (set->nslots && *find(set->slots, set->nslots, pid));
}

bool pid_set_add(struct pid_set *set, uint32_t pid)
{
	uint32_t *slot;

	if (!pid)
		return false;
	if (set->used * 2 >= set->nslots && !grow(set))
		return true;
	slot = find(set->slots, set->nslots, pid);
	if (*slot)
		return false;
	*slot = pid;
	set->used++;
	return true;
}

void pid_set_free(struct pid_set *set)
{
	free(set->slots);
	*set = (struct pid_set){ 0 };
}
