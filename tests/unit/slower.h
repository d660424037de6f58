/* SPDX-License-Identifier: BSD-2-Clause */
/* How much longer the same takes in a run under valgrind: its bounds of time are so much wider. */
#ifndef TESTS_SLOWER_H
#define TESTS_SLOWER_H

#include <stdint.h>
#include <stdlib.h>

static inline uint64_t slower(void)
{
	const char *times = getenv("CK_TIMEOUT_MULTIPLIER");

	return times ? strtoull(times, NULL, 10) : 1;
}

#endif
