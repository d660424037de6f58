/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the workloads share: CPU time that is exact whatever the machine does meanwhile.
 *
 * A thread's own CPU clock stands still while others run, so "burn until my clock says t" divides
 * the CPU time that was used, not the time that passed.
 */
#ifndef WORK_H
#define WORK_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static inline uint64_t thread_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * Inlined, so that the time is the caller's own. The clock is a system call: it is read every 30 us
 * on a fast machine, which costs 1 %, and that 1 % falls on every burner alike.
 */
__attribute__((always_inline)) static inline void burn_until(uint64_t end)
{
	do {
		for (int i = 0; i < 100000; i++)
			__asm__ volatile("" ::: "memory");
	} while (thread_cpu_ns() < end);
}

/* Rounds of changing length, so that no sampling rate can keep step with them. */
static inline uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline double seconds_arg(int argc, char **argv, int n, double otherwise)
{
	double s = argc > n ? strtod(argv[n], NULL) : otherwise;

	return s > 0 ? s : otherwise;
}

#endif
