/* SPDX-License-Identifier: BSD-2-Clause */
/* The clocks of the machine, and how far they are apart. */
#include <stdint.h>
#include <time.h>

#include "clock.h"

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

uint64_t rp_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t rp_thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* The monotonic clock is read on both sides; the pair that lies closest together wins. */
uint64_t rp_wall_offset_ns(void)
{
	uint64_t best = UINT64_MAX, offset = 0;

	for (int i = 0; i < 5; i++) {
		uint64_t before = rp_monotonic_ns(), wall = clock_ns(CLOCK_REALTIME),
			 after = rp_monotonic_ns();

		if (after - before < best) {
			best = after - before;
			offset = wall - (before + best / 2);
		}
	}
	return offset;
}
