/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tracee KIND TIMES: what a trace of it has to have, exactly.
 *
 *	forks	so many children, one after the other, which do nothing
 *	calls	so many getppid(2), as fast as they go
 */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "work.h"

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	const long times = argc > 2 ? atol(argv[2]) : 0;

	for (long i = 0; i < times; i++) {
		if (!strcmp(kind, "calls")) {
			syscall(SYS_getppid);
		} else if (!strcmp(kind, "forks")) {
			const pid_t pid = fork();

			if (!pid)
				_exit(0);
			if (pid < 0 || waitpid(pid, NULL, 0) != pid)
				return 1;
		} else {
			fprintf(stderr, "tracee: forks or calls, and how many\n");
			return 2;
		}
	}
	return 0;
}
