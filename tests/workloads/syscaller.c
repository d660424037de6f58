// SPDX-License-Identifier: BSD-2-Clause
/*
 * Makes system calls whose numbers are known: syscaller N makes N getppid, N close of what is not
 * open (EBADF), N / 10 openat of what is not there (ENOENT), and half as many of each in each of
 * two children, which it waits for one after the other. With another argument it prints how many
 * nanoseconds one of its own N getppid and close took.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void calls(int n)
{
	for (int i = 0; i < n; i++) {
		syscall(SYS_getppid);
		syscall(SYS_close, 1000);
	}
	for (int i = 0; i < n / 10; i++)
		syscall(SYS_openat, AT_FDCWD, "/nowhere/at/all", O_RDONLY);
}

static void child(int n)
{
	const pid_t pid = fork();

	if (!pid) {
		calls(n);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 100;
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	calls(n);
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (argc > 2)
		printf("%.0f\n", ((double)(end.tv_sec - begin.tv_sec) * 1e9 +
				  (double)(end.tv_nsec - begin.tv_nsec)) /
					 (2.1 * n));
	child(n / 2);
	child(n / 2);
	return 0;
}
