/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads [CPU-SECONDS]: three threads of different names and of 50, 30 and 20 % of the CPU time.
 *
 * A profiler must find the names "alpha", "beta" and "gamma (3;x)" (which holds the characters that
 * text formats use as separators) with these shares. Prints the three thread ids, in that order.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "work.h"

struct part {
	const char *name;
	double share;
	uint64_t ns;
	long tid;
	pthread_t thread;
	pthread_barrier_t *all_named;
};

NOINLINE static void work_in_thread(uint64_t end)
{
	burn_until(end);
	__asm__ volatile("");
}

static void *run(void *arg)
{
	struct part *p = arg;

	p->tid = syscall(SYS_gettid);
	pthread_setname_np(pthread_self(), p->name);
	pthread_barrier_wait(p->all_named);
	work_in_thread(thread_cpu_ns() + p->ns);
	return NULL;
}

int main(int argc, char **argv)
{
	double seconds = seconds_arg(argc, argv, 1, 2);
	pthread_barrier_t all_named;
	struct part parts[] = { { .name = "alpha", .share = 0.5 },
				{ .name = "beta", .share = 0.3 },
				{ .name = "gamma (3;x)", .share = 0.2 } };

	pthread_barrier_init(&all_named, NULL, 4);
	for (int i = 0; i < 3; i++) {
		parts[i].ns = (uint64_t)(seconds * parts[i].share * 1e9);
		parts[i].all_named = &all_named;
		if (pthread_create(&parts[i].thread, NULL, run, &parts[i]))
			return 1;
	}
	pthread_barrier_wait(&all_named);
	printf("%ld %ld %ld\n", parts[0].tid, parts[1].tid, parts[2].tid);
	fflush(stdout);
	for (int i = 0; i < 3; i++)
		pthread_join(parts[i].thread, NULL);
	return 0;
}
