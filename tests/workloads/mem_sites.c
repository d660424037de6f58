/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_sites [CALLS]: 50 functions, site_00 to site_49, that allocate, in four threads. site_N makes
 * CALLS blocks of 256 (N + 1) bytes in each thread, and keeps every (N + 2)nd. Prints
 * "NAME allocated bytes kept bytes" of each.
 */
#include <pthread.h>
#include <stdio.h>

#include "work.h"

enum { SITES = 50, THREADS = 4 };

static long calls;
static void *volatile hidden[THREADS];

/* One site: its own function, and its own place in the program. */
#define SITE(tens, ones)                                                                           \
	static NOINLINE void site_##tens##ones(int thread)                                         \
	{                                                                                          \
		const long n = tens * 10 + ones;                                                   \
                                                                                                   \
		for (long i = 0; i < calls; i++) {                                                 \
			hidden[thread] = malloc((size_t)(256 * (n + 1)));                          \
			if (i % (n + 2))                                                           \
				free(hidden[thread]);                                              \
		}                                                                                  \
	}
/* Calls of macros without a semicolon are arranged otherwise each time. */
/* clang-format off */
#define TEN_SITES(tens) \
	SITE(tens, 0) SITE(tens, 1) SITE(tens, 2) SITE(tens, 3) SITE(tens, 4) \
	SITE(tens, 5) SITE(tens, 6) SITE(tens, 7) SITE(tens, 8) SITE(tens, 9)
TEN_SITES(0) TEN_SITES(1) TEN_SITES(2) TEN_SITES(3) TEN_SITES(4)
/* clang-format on */

#define TEN_NAMES(tens)                                                                            \
	site_##tens##0, site_##tens##1, site_##tens##2, site_##tens##3, site_##tens##4,            \
		site_##tens##5, site_##tens##6, site_##tens##7, site_##tens##8, site_##tens##9
	static void (*const sites[SITES])(int) = { TEN_NAMES(0), TEN_NAMES(1), TEN_NAMES(2),
						   TEN_NAMES(3), TEN_NAMES(4) };

static void *allocate(void *arg)
{
	for (int i = 0; i < SITES; i++)
		sites[i]((int)(intptr_t)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];

	calls = argc > 1 ? atol(argv[1]) : 1000;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, allocate, (void *)(intptr_t)i))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (long n = 0; n < SITES; n++) {
		const long kept = (calls + n + 1) / (n + 2) * THREADS;

		printf("site_%02ld %ld %ld %ld %ld\n", n, calls * THREADS,
		       calls * THREADS * 256 * (n + 1), kept, kept * 256 * (n + 1));
	}
	return 0;
}
