/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_peak CALLS [keep|later|threads]: allocates and frees at random at eight sites, and counts
 * itself: prints "NAME allocated bytes blocks bytes" of each, the last two at the moment when most
 * was in use, and "peak BYTES". In the end all is freed.
 *
 *	keep	it is not, and the exit is at once
 *	later	it reads a line of its input before
 *	threads	four threads do that, one after the other up to the highest moment, then all at once
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "work.h"

enum { SITES = 8, BLOCKS = 4096, THREADS = 4 };

static struct count {
	long objects, bytes, in_use, bytes_in_use;
} now[SITES], at_peak[SITES];
static long in_use, peak;

static struct block {
	void *p;
	int site;
	long bytes;
} blocks[BLOCKS];

/* ---- the books */

static void gone(struct block *b)
{
	now[b->site].in_use--;
	now[b->site].bytes_in_use -= b->bytes;
	in_use -= b->bytes;
	b->p = NULL;
}

static void come(struct block *b, void *p, int site, long bytes)
{
	if (!p)
		exit(1);
	*b = (struct block){ p, site, bytes };
	now[site].objects++;
	now[site].bytes += bytes;
	now[site].in_use++;
	now[site].bytes_in_use += bytes;
	in_use += bytes;
	if (in_use <= peak)
		return;
	peak = in_use;
	memcpy(at_peak, now, sizeof(now));
}

/* ---- the sites */

static NOINLINE void site_0(struct block *b, long n)
{
	come(b, malloc((size_t)n), 0, n);
}
static NOINLINE void site_1(struct block *b, long n)
{
	come(b, calloc(3, (size_t)n), 1, 3 * n);
}
static NOINLINE void site_2(struct block *b, long n)
{
	come(b, aligned_alloc(64, (size_t)n * 64), 2, 64 * n);
}
static NOINLINE void site_3(struct block *b, long n)
{
	come(b, realloc(NULL, (size_t)n), 3, n);
}
/* The old block is gone when the new one is there: at no moment both are in use. */
static NOINLINE void site_4(struct block *b, long n)
{
	void *p = realloc(b->p, (size_t)n);

	gone(b);
	come(b, p, 4, n);
}
static NOINLINE void site_5(struct block *b, long n)
{
	come(b, malloc((size_t)n * 10), 5, 10 * n);
}
static NOINLINE void site_6(struct block *b, long n)
{
	(void)n;
	come(b, malloc(0), 6, 0);
}
static NOINLINE void site_7(struct block *b, long n)
{
	void *p = NULL;

	if (posix_memalign(&p, 32, (size_t)n))
		exit(1);
	come(b, p, 7, n);
}

static NOINLINE void give_back(struct block *b)
{
	void *p = b->p;

	gone(b);
	free(p);
}

static void one_call(uint64_t *state, long i, long calls)
{
	static void (*const sites[])(struct block *, long) = { site_0, site_1, site_2, site_3,
							       site_5, site_6, site_7 };
	const uint64_t random = next_random(state);
	struct block *b = &blocks[random % BLOCKS];
	const long n = 1 + (long)(random >> 20) % 500;
	/* First more comes than goes, then less. */
	const bool grows = (random >> 32) % 4 > (i < calls / 2 ? 0 : 2);

	if (b->p && grows)
		site_4(b, n);
	else if (b->p)
		give_back(b);
	else if (grows)
		sites[(random >> 40) % (sizeof(sites) / sizeof(sites[0]))](b, n);
}

/* ---- threads */

static pthread_barrier_t highest;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void *grow_and_shrink(void *calls)
{
	static struct block own[THREADS][BLOCKS];
	static int threads;
	struct block *mine;

	pthread_mutex_lock(&turn);
	mine = own[threads++];
	for (long i = 0; i < (long)(intptr_t)calls && i < BLOCKS; i++)
		(i % 2 ? site_0 : site_5)(&mine[i], 1 + i % 300);
	pthread_mutex_unlock(&turn);
	pthread_barrier_wait(&highest);
	for (int i = 0; i < BLOCKS; i++)
		free(mine[i].p);
	return NULL;
}

static int in_threads(long calls)
{
	pthread_t thread[THREADS];

	if (pthread_barrier_init(&highest, NULL, THREADS))
		return 1;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, grow_and_shrink, (void *)(intptr_t)calls))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	static char out[BUFSIZ];
	const long calls = argc > 1 ? atol(argv[1]) : 10000;
	const char *how = argc > 2 ? argv[2] : "";
	uint64_t state = 88172645463325252ull;

	setvbuf(stdout, out, _IOFBF, sizeof(out));
	if (!strcmp(how, "later"))
		while (getchar() != '\n' && !feof(stdin))
			;
	if (!strcmp(how, "threads")) {
		if (in_threads(calls))
			return 1;
	} else {
		for (long i = 0; i < calls; i++)
			one_call(&state, i, calls);
	}
	for (int i = 0; i < SITES; i++)
		printf("site_%d %ld %ld %ld %ld\n", i, now[i].objects, now[i].bytes,
		       at_peak[i].in_use, at_peak[i].bytes_in_use);
	printf("peak %ld\n", peak);
	fflush(stdout);
	if (!strcmp(how, "keep"))
		_exit(0);
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i].p);
	return 0;
}
