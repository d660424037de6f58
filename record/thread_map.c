/* SPDX-License-Identifier: BSD-2-Clause */
/* How many threads find room in a map that has threads as keys. */
#include <rawprof/loader.h>
#include "stacks.h"
#include "system.h"

/* 16 bytes for each are taken at once; where such a map does not grow, all that they need. */
#define MOST_ENTRIES (1u << 20)

void record_stacks_thread_map(struct asm_map *map, uint32_t threads)
{
	uint64_t entries = 2 * (uint64_t)threads;

	if (rp_has(RP_HAS_UPROBE_MULTI)) { /* older kernels warn of a map that grows */
		const uint64_t most = record_threads_most();

		map->flags |= BPF_F_NO_PREALLOC;
		if (entries < most)
			entries = most;
	}
	if (entries > MOST_ENTRIES)
		entries = MOST_ENTRIES;
	if (map->max_entries < entries)
		map->max_entries = (uint32_t)entries;
}
