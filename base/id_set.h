/* SPDX-License-Identifier: BSD-2-Clause */
/* A set of numbers that only grows: process ids, or process ids with something in their upper half. */
#ifndef CLI_ID_SET_H
#define CLI_ID_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Open addressing, at most half full; 0, the idle task, marks an empty slot and is not kept. */
struct id_set {
	uint64_t *slots;
	size_t nslots, used;
};

bool rp_id_set_has(const struct id_set *set, uint64_t id);
/* True if it is new. Without memory the set stays as it is, and what is new stays new. */
bool rp_id_set_add(struct id_set *set, uint64_t id);
void rp_id_set_free(struct id_set *set);

#endif
