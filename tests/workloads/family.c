/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * family [CPU-SECONDS]: a parent, a child it forks, and one it forks that execs itself again.
 *
 * Each uses a third of the CPU time, all at once. A profiler that follows children must find, under
 * three process ids: work_of_parent; work_of_forked, named from the mappings that were inherited;
 * and work_of_execed, by the name "execed" that the kernel gave it upon exec.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

NOINLINE static void work_of_parent(uint64_t end)
{
	burn_until(end);
	__asm__ volatile("");
}

NOINLINE static void work_of_forked(uint64_t end)
{
	burn_until(end);
	__asm__ volatile("");
}

NOINLINE static void work_of_execed(uint64_t end)
{
	burn_until(end);
	__asm__ volatile("");
}

/* The name of a process after exec is the last part of the path, so the copy gets a link. */
static int exec_again(const char *seconds)
{
	char dir[] = "/tmp/family-XXXXXX", link[64], self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0 || !mkdtemp(dir))
		return 1;
	self[n] = 0;
	snprintf(link, sizeof(link), "%s/execed", dir);
	if (symlink(self, link))
		return 1;
	execl(link, link, seconds, dir, (char *)NULL);
	return 1;
}

int main(int argc, char **argv)
{
	double seconds = seconds_arg(argc, argv, 1, 3);
	uint64_t share = (uint64_t)(seconds * 1e9 / 3);
	const char *name = strrchr(argv[0], '/');
	int status, bad = 0;
	char text[32];

	if (!strcmp(name ? name + 1 : argv[0], "execed")) {
		unlink(argv[0]);
		if (argc > 2)
			rmdir(argv[2]);
		work_of_execed(thread_cpu_ns() + share);
		return 0;
	}
	snprintf(text, sizeof(text), "%f", seconds);
	if (fork() == 0)
		_exit(exec_again(text));
	if (fork() == 0) {
		work_of_forked(thread_cpu_ns() + share);
		_exit(0);
	}
	work_of_parent(thread_cpu_ns() + share);
	while (wait(&status) > 0)
		bad |= status;
	return bad != 0;
}
