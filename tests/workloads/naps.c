/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * naps THREADS [SECONDS]: so many threads that sleep 10 ms again and again.
 *
 * Each thread has stacks of its own to a profiler of waits, all of which are new to it at once.
 * Prints a line when all threads are there, then goes on for SECONDS.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "work.h"

NOINLINE static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	__asm__ volatile("");
}

static void *nap_on(void *all_there)
{
	pthread_rwlock_rdlock(all_there);
	for (;;)
		nap();
	return NULL;
}

int main(int argc, char **argv)
{
	const long n = argc > 1 ? atol(argv[1]) : 100;
	static pthread_rwlock_t all_there = PTHREAD_RWLOCK_INITIALIZER;
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_rwlock_wrlock(&all_there);
	for (long i = 0; i < n; i++)
		if (pthread_create(&thread, &small, nap_on, &all_there))
			return 1;
	printf("%ld threads\n", n);
	fflush(stdout);
	pthread_rwlock_unlock(&all_there);
	usleep((useconds_t)(seconds_arg(argc, argv, 2, 1) * 1e6));
	return 0;
}
