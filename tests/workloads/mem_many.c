/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_many N: makes N blocks of 32 bytes, all in use at the same time, then frees all but every
 * tenth. Prints how many it made and how many it kept.
 */
#include <stdio.h>

#include "work.h"

static NOINLINE void make(void **blocks, long n)
{
	for (long i = 0; i < n; i++)
		blocks[i] = malloc(32);
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000000;
	void **blocks = calloc((size_t)n, sizeof(*blocks));

	if (!blocks)
		return 1;
	make(blocks, n);
	for (long i = 0; i < n; i++)
		if (i % 10)
			free(blocks[i]);
	printf("%ld %ld\n", n, (n + 9) / 10);
	return 0;
}
