/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_pinned BLOCKS [SECONDS]: so many blocks of 200 bytes, of which all are freed but one in each
 * page, by turns of sparse_a and sparse_b; and as many of dense, which stay. Prints
 * "NAME pages blocks live wasted" of the first two, as they must be, and waits.
 */
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "work.h"

enum { BYTES = 200 };

static NOINLINE void *sparse_a(void)
{
	return malloc(BYTES);
}
static NOINLINE void *sparse_b(void)
{
	return malloc(BYTES);
}
static NOINLINE void *dense(void)
{
	return malloc(BYTES);
}

static uintptr_t page_of(const void *p, long bytes, long page_bytes)
{
	return ((uintptr_t)p + (uintptr_t)bytes) / (uintptr_t)page_bytes;
}

int main(int argc, char **argv)
{
	static char out[BUFSIZ];
	const long n = argc > 1 ? atol(argv[1]) : 10000, page = sysconf(_SC_PAGESIZE);
	void **blocks = calloc((size_t)n, sizeof(*blocks)),
	     **others = calloc((size_t)n, sizeof(*others));
	long kept[2] = { 0 };
	uintptr_t first, end, last = 0;

	if (!blocks || !others)
		return 1;
	setvbuf(stdout, out, _IOFBF, sizeof(out));
	/* They come one behind the other, and so do the dense ones behind them. */
	for (long i = 0; i < n; i++) {
		blocks[i] = i % 2 ? sparse_b() : sparse_a();
		*(volatile char *)blocks[i] = 1;
	}
	for (long i = 0; i < n; i++) {
		others[i] = dense();
		*(volatile char *)others[i] = 1;
	}
	/* The first of each page that lies in it, with what surrounds it; none at the ends. */
	first = page_of(blocks[0], 0, page);
	end = page_of(others[0], -page, page);
	for (long i = 0; i < n; i++) {
		const uintptr_t at = page_of(blocks[i], -16, page);

		if (at > first && at < end && at != last &&
		    at == page_of(blocks[i], BYTES + 16, page)) {
			last = at;
			kept[i % 2]++;
		} else {
			free(blocks[i]);
		}
	}
	for (int i = 0; i < 2; i++)
		printf("sparse_%c %ld %ld %ld %ld\n", 'a' + i, kept[i], kept[i], kept[i] * BYTES,
		       kept[i] * (page - BYTES));
	fflush(stdout);
	usleep((useconds_t)(seconds_arg(argc, argv, 2, 1) * 1e6));
	return 0;
}
