/* SPDX-License-Identifier: BSD-2-Clause */
/* dive DEPTH SECONDS: dive() is there DEPTH times, then bottom() burns so much CPU time. */
#include <stdlib.h>

#include "work.h"

static volatile int sink;

NOINLINE static void bottom(double seconds)
{
	burn_until(thread_cpu_ns() + (uint64_t)(seconds * 1e9));
	__asm__ volatile("");
}

NOINLINE static void dive(int depth, double seconds)
{
	if (depth > 1)
		dive(depth - 1, seconds);
	else
		bottom(seconds);
	sink++; /* no jump in place of the call */
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	dive(atoi(argv[1]), atof(argv[2]));
	return 0;
}
