/* SPDX-License-Identifier: BSD-2-Clause */
/* forks N [PROGRAM]: N children in turn, which work for a moment, then end or execute it. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long sum;

static __attribute__((noinline)) void work(void)
{
	for (int i = 0; i < 20000; i++)
		sum += i;
}

int main(int argc, char **argv)
{
	for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; i--) {
		pid_t child = fork();

		if (!child) {
			work();
			if (argc > 2)
				execl(argv[2], argv[2], (char *)NULL);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	return 0;
}
