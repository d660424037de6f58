/* SPDX-License-Identifier: BSD-2-Clause */
/* nest DEPTH SECONDS: is found, whenever it is looked at, DEPTH calls deep. */
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

static __attribute__((noinline)) void spin(double seconds)
{
	time_t end = time(NULL) + (time_t)seconds;

	while (time(NULL) < end)
		for (int i = 0; i < 1000000; i++)
			sink += i;
}

static __attribute__((noinline)) unsigned long nest(int depth, double seconds)
{
	volatile char capacity[64];

	capacity[depth % 64] = 1;
	if (depth == 0)
		spin(seconds);
	else
		sink += nest(depth - 1, seconds);
	return sink + capacity[depth % 64];
}

int main(int argc, char **argv)
{
	return argc == 3 ? nest(atoi(argv[1]) - 4, atof(argv[2])) == 0 : 2;
}
