/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * swarm COUNT CPU-MS DIRECTORY: many short-lived programs, two at a time, each a copy of this file
 * under a name of its own in DIRECTORY: swarm-000 to swarm-499 for a COUNT of 500. The copies stay.
 *
 * A profiler must find every one of the names, with nearly all of the time in swarm_work(),
 * although no process is left to look at when it reports. Each copy has its own inode, and all have
 * one build id, so that tables may be shared.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

NOINLINE static void swarm_work(uint64_t end)
{
	burn_until(end);
	__asm__ volatile("");
}

static int copy_self(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat st;
	int err = -1;

	if (from >= 0 && to >= 0 && !fstat(from, &st))
		err = sendfile(to, from, NULL, (size_t)st.st_size) == st.st_size ? 0 : -1;
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return err;
}

static pid_t start(const char *dir, int i, const char *ms)
{
	char path[4096];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/swarm-%03d", dir, i);
	if (copy_self(path))
		return -1;
	pid = fork();
	if (pid == 0) {
		execl(path, path, "work", ms, (char *)NULL);
		_exit(127);
	}
	return pid;
}

int main(int argc, char **argv)
{
	int status, bad = 0, running = 0;

	if (argc == 3 && !strcmp(argv[1], "work")) {
		swarm_work(thread_cpu_ns() + (uint64_t)atoi(argv[2]) * 1000000);
		return 0;
	}
	if (argc != 4)
		return 2;
	for (int i = 0; i < atoi(argv[1]); i++) {
		if (running == 2) {
			wait(&status);
			bad |= status;
			running--;
		}
		if (start(argv[3], i, argv[2]) < 0)
			return 1;
		running++;
	}
	while (wait(&status) > 0)
		bad |= status;
	return bad != 0;
}
