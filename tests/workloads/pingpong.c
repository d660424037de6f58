/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pingpong [SECONDS]: two threads on one CPU that wake each other through pipes, as fast as they
 * can. Prints how many switches that were, by the kernel's own count, and how many of them to wait.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "work.h"

static int there[2], back[2];

static void *answer(void *unused)
{
	char byte;

	while (read(there[0], &byte, 1) == 1)
		if (write(back[1], &byte, 1) != 1)
			break;
	return unused;
}

NOINLINE static int serve(void)
{
	char byte = 0;

	return write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1;
}

int main(int argc, char **argv)
{
	time_t seconds = (time_t)seconds_arg(argc, argv, 1, 1), end = time(NULL) + seconds;
	struct rusage used;
	pthread_t thread;
	cpu_set_t one;

	sched_getaffinity(0, sizeof(one), &one);
	for (int cpu = 0, found = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &one) && found++)
			CPU_CLR(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, answer, NULL))
		return 1;
	while (time(NULL) <= end)
		for (int i = 0; i < 1000; i++)
			if (!serve())
				return 1;
	getrusage(RUSAGE_SELF, &used);
	printf("%ld switches, %ld to wait\n", used.ru_nvcsw + used.ru_nivcsw, used.ru_nvcsw);
	return 0;
}
