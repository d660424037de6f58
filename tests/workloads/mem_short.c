/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_short CALLS: blocks that do not live long. Each function makes so many blocks that are freed
 * before the thread allocates again ("temporary") or after, as it prints: "NAME temporary bytes".
 * lasting frees its blocks, of 2000 bytes, after a tenth of a second; its last one is temporary.
 */
#include <stdio.h>
#include <unistd.h>

#include "work.h"

static long calls;
static void *volatile hidden;

static void *hide(void *p)
{
	hidden = p;
	return hidden;
}

static NOINLINE void at_once(void)
{
	for (long i = 0; i < calls; i++)
		free(hide(malloc(10)));
}
/* Another block is freed between; which is temporary no more. */
static NOINLINE void with_another(void)
{
	for (long i = 0; i < calls; i++) {
		void *older = hide(malloc(20)), *newer = hide(malloc(30));

		free(older);
		free(newer);
	}
}
static NOINLINE void never(void)
{
	void *before = NULL;

	for (long i = 0; i < calls; i++) {
		void *p = hide(malloc(40));

		free(before);
		before = p;
	}
}
static NOINLINE void lasting(void **blocks)
{
	for (long i = 0; i < calls; i++)
		blocks[i] = hide(malloc(2000));
	usleep(100000);
	for (long i = 0; i < calls; i++)
		free(blocks[i]);
}

int main(int argc, char **argv)
{
	static char out[BUFSIZ];
	void **blocks;

	calls = argc > 1 ? atol(argv[1]) : 100;
	setvbuf(stdout, out, _IOFBF, sizeof(out));
	blocks = calloc((size_t)calls, sizeof(*blocks));
	if (!blocks)
		return 1;
	at_once();
	with_another();
	never();
	lasting(blocks);
	printf("at_once %ld %ld\nlasting 1 2000\nwith_another %ld %ld\n", calls, 10 * calls, calls,
	       30 * calls);
	return 0;
}
