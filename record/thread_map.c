/* SPDX-License-Identifier: BSD-2-Clause */
/* How many threads find room in a map that has threads as keys. */
#include <rawprof/loader.h>
#include "stacks.h"
#include "system.h"

void record_stacks_thread_map(struct asm_map *map, uint32_t threads)
{
	uint64_t entries = 2 * (uint64_t)threads;

	if (rp_has(RP_HAS_UPROBE_MULTI)) { /* older kernels warn of a map that grows */
		const uint64_t most = record_threads_most();

		map->flags |= BPF_F_NO_PREALLOC;
		if (entries < most)
			entries = most;
	}
	record_stacks_at_least(map, entries);
}
