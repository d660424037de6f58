/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counted PAGES NAPS CPU-MS [THREADS]: touches so many new pages, sleeps so many times, then burns
 * so much CPU time, in as many threads (1) one after the other. Prints what the kernel says of that
 * part: page faults, context switches, nanoseconds of CPU time.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "work.h"

static long pages, naps, burn_ms;

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

NOINLINE static void touch(void)
{
	const size_t size = (size_t)pages * 4096;
	volatile char *at =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		exit(1);
	madvise((void *)at, size, MADV_NOHUGEPAGE);
	for (long i = 0; i < pages; i++)
		at[i * 4096] = 1;
}

NOINLINE static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	__asm__ volatile("");
}

static void *work(void *unused)
{
	const uint64_t begin = cpu_ns(CLOCK_THREAD_CPUTIME_ID);

	if (pages)
		touch();
	for (long i = 0; i < naps; i++)
		nap();
	while (cpu_ns(CLOCK_THREAD_CPUTIME_ID) - begin < (uint64_t)burn_ms * 1000000)
		;
	return unused;
}

int main(int argc, char **argv)
{
	const long threads = argc > 4 ? atol(argv[4]) : 1;
	struct rusage before, after;
	pthread_t thread;

	if (argc < 4)
		return 2;
	pages = atol(argv[1]);
	naps = atol(argv[2]);
	burn_ms = atol(argv[3]);
	getrusage(RUSAGE_SELF, &before);
	const uint64_t begin = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);

	for (long i = 1; i < threads; i++)
		if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
			return 1;
	work(NULL);
	getrusage(RUSAGE_SELF, &after);
	printf("%ld %ld %llu\n",
	       after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt,
	       after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw,
	       (unsigned long long)(cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - begin));
	return 0;
}
