/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * split [CPU-SECONDS] [EXIT-STATUS]: 60, 30 and 10 % of its CPU time in three functions.
 *
 * A profiler must find main;work_60, main;work_30 and main;work_10 with these shares. The targets
 * are cumulative, so what one slice overruns the next ones make up for.
 */
#include <stdio.h>

#include "work.h"

NOINLINE static void work_60(uint64_t end)
{
	burn_until(end);
	__asm__ volatile("");
}

NOINLINE static void work_30(uint64_t end)
{
	burn_until(end);
	__asm__ volatile("");
}

NOINLINE static void work_10(uint64_t end)
{
	burn_until(end);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	uint64_t total = (uint64_t)(seconds_arg(argc, argv, 1, 5) * 1e9);
	uint64_t t = thread_cpu_ns(), end = t + total, random = 88172645463325252u;

	while (t < end) {
		uint64_t round = 500000 + next_random(&random) % 1000000; /* 0.5 to 1.5 ms */

		work_60(t + round * 6 / 10);
		work_30(t + round * 9 / 10);
		work_10(t + round);
		t += round;
	}
	return argc > 2 ? atoi(argv[2]) : 0;
}
