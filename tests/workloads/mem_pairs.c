/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_pairs PAIRS [DEPTH [WAIT]]: so many times malloc and free of 64 bytes, called from so many
 * functions deep, as fast as it goes; prints the nanoseconds that a pair took. WAIT: seconds to
 * wait before, for whoever attaches.
 */
#include <stdio.h>
#include <unistd.h>

#include "work.h"

static NOINLINE void pairs(long n)
{
	for (long i = 0; i < n; i++) {
		void *volatile p = malloc(64);

		free(p);
	}
}

static NOINLINE void deeper(int depth, long n)
{
	if (depth > 0)
		deeper(depth - 1, n);
	else
		pairs(n);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000000;
	int depth = argc > 2 ? atoi(argv[2]) : 10;
	uint64_t begin;

	usleep((useconds_t)(seconds_arg(argc, argv, 3, 0) * 1e6));
	pairs(1000); /* what is paid once is paid here */
	begin = thread_cpu_ns();
	deeper(depth, n);
	printf("%.1f\n", (double)(thread_cpu_ns() - begin) / (double)n);
	return 0;
}
