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
	uint64_t before = thread_cpu_ns(), t, end, random = 88172645463325252u, unit;

	/*
	 * Rounds of 0.5 to 1.5 ms, or on a slow machine of 25 to 75 times what burning can tell
	 * apart.
	 */
	burn_until(0);
	t = thread_cpu_ns();
	unit = 25 * (t - before);
	unit = unit < 500000 ? 500000 : unit;
	end = before + total;
	while (t < end) {
		uint64_t round = unit + next_random(&random) % (2 * unit);

		/* The last one ends when it should, and is no shorter than the others. */
		if (t + round + unit > end)
			round = end - t;
		work_60(t + round * 6 / 10);
		work_30(t + round * 9 / 10);
		work_10(t + round);
		t += round;
	}
	return argc > 2 ? atoi(argv[2]) : 0;
}
