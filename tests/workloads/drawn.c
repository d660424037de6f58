/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drawn SECONDS: threads that wait at sites of their own, each wait measured by the program itself.
 *
 * Some wait for 0.2 ms each time, some for 3 ms, some for 0.3 or 12 ms in no order. Prints the time
 * when they begin; at the end a line for each wait, in the order of its thread: the thread, the
 * site, when the wait ended (ns since 1970), how long it was (ns).
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "work.h"

#define THREADS 12
#define MAX_WAITS 200000

struct wait {
	const char *site;
	uint64_t end, ns;
};
static struct waiter {
	pthread_t thread;
	int number;
	size_t n;
	struct wait *wait;
} waiters[THREADS];
static uint64_t end_ns;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#define SITE(name, us)                                                                             \
	NOINLINE static void name(void)                                                            \
	{                                                                                          \
		nanosleep(&(struct timespec){ .tv_nsec = (us)*1000 }, NULL);                       \
		__asm__ volatile("");                                                              \
	}
SITE(blink, 200)
SITE(pause_3, 3000)
SITE(either_short, 300)
SITE(either_long, 12000)

static void wait_at(struct waiter *w, void (*site)(void), const char *name)
{
	const uint64_t begin = now(CLOCK_MONOTONIC);
	struct wait *wait = &w->wait[w->n++];

	site();
	wait->site = name;
	wait->ns = now(CLOCK_MONOTONIC) - begin;
	wait->end = now(CLOCK_REALTIME);
}

static void *run(void *ctx)
{
	struct waiter *w = ctx;
	uint64_t state = 88172645463325252u + (uint64_t)w->number;

	while (now(CLOCK_MONOTONIC) < end_ns && w->n < MAX_WAITS) {
		if (w->number < 2)
			wait_at(w, blink, "blink");
		else if (w->number < 4)
			wait_at(w, pause_3, "pause_3");
		else if (next_random(&state) >> 40 & 1)
			wait_at(w, either_short, "either_short");
		else
			wait_at(w, either_long, "either_long");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	end_ns = now(CLOCK_MONOTONIC) + (uint64_t)(seconds_arg(argc, argv, 1, 5) * 1e9);
	for (int i = 0; i < THREADS; i++) {
		waiters[i].number = i;
		waiters[i].wait = calloc(MAX_WAITS, sizeof(struct wait));
		if (!waiters[i].wait || pthread_create(&waiters[i].thread, NULL, run, &waiters[i]))
			return 1;
	}
	printf("begins %llu\n", (unsigned long long)now(CLOCK_REALTIME));
	fflush(stdout);
	for (int i = 0; i < THREADS; i++)
		pthread_join(waiters[i].thread, NULL);
	for (int i = 0; i < THREADS; i++)
		for (size_t j = 0; j < waiters[i].n; j++) {
			const struct wait *w = &waiters[i].wait[j];

			printf("%d %s %llu %llu\n", i, w->site, (unsigned long long)w->end,
			       (unsigned long long)w->ns);
		}
	return 0;
}
