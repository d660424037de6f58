/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of real processes look at (sym_process.h): prints the address of a function and of
 * a library's, then waits to be told to end, or as many microseconds as it was told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int known(int x);
__attribute__((noinline)) int known(int x)
{
	return x + getpid();
}

int main(int argc, char **argv)
{
	printf("%p %p\n", (void *)known, (void *)qsort);
	fflush(stdout);
	if (argc > 1)
		usleep(atoi(argv[1]));
	else
		pause();
	return known(1) == 0;
}
