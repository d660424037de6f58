/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * renewed SECONDS: a thread, which is not the first, executes the program again, which sleeps for
 * half of the time, and once more. The first thread is gone then, and the process, with its id and
 * its birth, lives on.
 */
#include <pthread.h>
#include <unistd.h>

#include "work.h"

static char **arguments;

static void *renew(void *unused)
{
	(void)unused;
	execl(arguments[0], arguments[0], arguments[1], "again", NULL);
	_exit(1);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 2) {
		for (int half = 0; half < 2; half++)
			usleep((useconds_t)(seconds_arg(argc, argv, 1, 1) * 5e5));
		return 0;
	}
	arguments = argv;
	if (argc < 2 || pthread_create(&thread, NULL, renew, NULL))
		return 1;
	for (;;)
		pause();
}
