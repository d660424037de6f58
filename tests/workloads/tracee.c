/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tracee KIND TIMES: what a trace of it has to have, exactly.
 *
 *	forks	so many children, one after the other, which do nothing
 *	calls	so many getppid(2), as fast as they go
 *	hot	as calls, and prints how many ns one takes
 *	hotopen	the same of openat(2) of a file that is not there
 *	opens	so many times files that are not there, whose names are hard to print and to read
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "work.h"

/* In memory that nobody has touched: it is read from the file when the kernel asks for it. */
static const char untouched[8192] __attribute__((aligned(4096))) = "/nowhere/untouched";

static void open_them(void)
{
	char name[600] = "/nowhere/", in_memory[] = "a\0b\n";

	memset(name + 9, 'x', sizeof(name) - 10);
	open("/nowhere/\"quoted\\\"\n\x1b\xff", O_RDWR | O_CREAT | O_TRUNC, 0640);
	open(name, O_WRONLY | O_APPEND);
	syscall(SYS_openat, AT_FDCWD, NULL, O_RDONLY);
	syscall(SYS_openat, AT_FDCWD, (void *)8, O_RDONLY | O_DIRECTORY);
	syscall(SYS_openat, AT_FDCWD, untouched, O_RDONLY);
	syscall(SYS_write, -1, in_memory, 4);
}

/* Time that passes, as a tool may stop us meanwhile. */
static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int measure(int opens, long times)
{
	const uint64_t begin = now_ns();

	for (long i = 0; i < times; i++)
		if (opens)
			syscall(SYS_openat, AT_FDCWD, "/nowhere/to/be/found", O_RDONLY | O_CLOEXEC);
		else
			syscall(SYS_getppid);
	printf("%.1f\n", (double)(now_ns() - begin) / (double)times);
	return 0;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	const long times = argc > 2 ? atol(argv[2]) : 0;

	if (times && !strncmp(kind, "hot", 3))
		return measure(kind[3], times);
	for (long i = 0; i < times; i++) {
		if (!strcmp(kind, "calls")) {
			syscall(SYS_getppid);
		} else if (!strcmp(kind, "opens")) {
			open_them();
		} else if (!strcmp(kind, "forks")) {
			const pid_t pid = fork();

			if (!pid)
				_exit(0);
			if (pid < 0 || waitpid(pid, NULL, 0) != pid)
				return 1;
		} else {
			fprintf(stderr, "tracee: forks, calls or opens, and how many\n");
			return 2;
		}
	}
	return 0;
}
