/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two threads that serve requests, of which one in a hundred is slow: 60 ms of CPU time, and 60 ms
 * of waiting, each in a function of its own. Others take some 0.2 ms, and of these one in ten is
 * left by longjmp. A slow one calls request() again, from within. Prints how many calls there were,
 * outermost, how many of them were slow, and how long the slow ones took together, in ns.
 *
 *	tail CALLS	of each thread
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <unistd.h>

#include "work.h"

enum { SLOW_NS = 60000000, FAST_NS = 100000, THREADS = 2 };
#define NESTED UINT64_MAX

struct server {
	pthread_t thread;
	uint64_t calls, slow, slow_ns;
	jmp_buf out;
};
static uint64_t ncalls;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

NOINLINE static void slow_part(void)
{
	burn_until(thread_cpu_ns() + SLOW_NS);
}

NOINLINE static void slow_wait(void)
{
	usleep(SLOW_NS / 1000);
}

NOINLINE static void fast_part(void)
{
	burn_until(thread_cpu_ns() + FAST_NS);
}

NOINLINE static void between(void)
{
	burn_until(thread_cpu_ns() + FAST_NS);
	usleep(100);
}

NOINLINE static int request(struct server *s, uint64_t n)
{
	if (n % 100 == 50) {
		slow_part();
		request(s, NESTED);
		slow_wait();
		return 1;
	}
	if (n == NESTED)
		return 0;
	fast_part();
	if (n % 10 == 5)
		longjmp(s->out, 1);
	return 0;
}

static void *serve(void *arg)
{
	struct server *s = arg;

	for (volatile uint64_t n = 0; n < ncalls; n++) {
		const uint64_t begin = now();

		s->calls++;
		if (!setjmp(s->out) && request(s, n)) {
			s->slow++;
			s->slow_ns += now() - begin;
		}
		between();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct server servers[THREADS] = { 0 }, sum = { 0 };

	ncalls = (uint64_t)seconds_arg(argc, argv, 1, 500);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&servers[i].thread, NULL, serve, &servers[i]))
			return 1;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(servers[i].thread, NULL);
		sum.calls += servers[i].calls;
		sum.slow += servers[i].slow;
		sum.slow_ns += servers[i].slow_ns;
	}
	printf("calls %llu slow %llu ns %llu\n", (unsigned long long)sum.calls,
	       (unsigned long long)sum.slow, (unsigned long long)sum.slow_ns);
	return 0;
}
