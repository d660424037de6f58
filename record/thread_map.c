/* SPDX-License-Identifier: BSD-2-Clause */
/* How many threads find room in a map that has threads as keys. */
#include <rawprof/loader.h>
#include "stacks.h"
#include "system.h"

/* Of the memory 16 bytes for each of them are taken at once. */
#define MOST_ENTRIES (1u << 20)

void record_stacks_thread_map(struct asm_map *map, uint32_t threads)
{
	uint64_t entries = 2 * (uint64_t)threads;

	if (rp_has(RP_HAS_UPROBE_MULTI)) { /* older kernels warn of such a map */
		map->flags |= BPF_F_NO_PREALLOC;
		entries = record_threads_most();
	}
	if (entries > MOST_ENTRIES)
		entries = MOST_ENTRIES;
	if (map->max_entries < entries)
		map->max_entries = (uint32_t)entries;
}
