/* SPDX-License-Identifier: BSD-2-Clause */
/* offcpu: time that threads do not run (programs/threads/offcpu.c). */
#ifndef PROGRAMS_OFFCPU_H
#define PROGRAMS_OFFCPU_H

#include "programs/shared/sched.h"

enum { OFFCPU_WEIGHT_COUNT, OFFCPU_WEIGHT_NS, OFFCPU_WEIGHTS };
/* Key and value of the map pairs: waits by who waited, and who ended them. */
struct offcpu_pair {
	uint64_t sleeper, waker; /* hashes of stacks; waker 0: not seen */
};
struct offcpu_pair_weights {
	uint64_t count, ns;
};
/* Tags of wakers: a task, or what it was interrupted by. */
enum { OFFCPU_WAKER_TASK = 1 << 16, OFFCPU_WAKER_INTERRUPT };

/* Without wakers the last one is not needed. */
enum { OFFCPU_MAP_PAIRS = SCHED_MAPS, OFFCPU_MAPS };
extern const struct asm_map rp_offcpu_maps[OFFCPU_MAPS];
extern const struct sched_config rp_offcpu_usual_config; /* to show programs with */
/* For kernels with BTF, and without. */
enum offcpu_role {
	OFFCPU_SWITCH = 1 << 0, /* on sched_switch */
	OFFCPU_WAKING = 1 << 1, /* on sched_waking, for wakers (programs/threads/offcpu_waking.c) */
};

#endif
