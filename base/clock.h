/* SPDX-License-Identifier: BSD-2-Clause */
/* What time it is, in nanoseconds. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_SECOND 1000000000ull

uint64_t rp_monotonic_ns(void);
uint64_t rp_thread_cpu_ns(void); /* CPU time of this thread */
/* What to add to CLOCK_MONOTONIC for nanoseconds since 1970; it drifts: ask again now and then. */
uint64_t rp_wall_offset_ns(void);

#endif
