/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * swarm [COUNT] [CPU-MS]: many short-lived programs (500, 10 ms each), two at a time.
 *
 * Each is a copy of this file under a name of its own, swarm-000 to swarm-499, which is deleted as
 * soon as it has ended. A profiler must find every one of the names, with the time in swarm_work(),
 * although process and file are gone before it reports.
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

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 500;
	const char *ms = argc > 2 ? argv[2] : "10";
	char dir[] = "/tmp/swarm-XXXXXX", path[64];
	int running = 0, status, bad = 0;
	pid_t *pids;

	if (!strcmp(argv[1] ? argv[1] : "", "work")) {
		swarm_work(thread_cpu_ns() + (uint64_t)atoi(ms) * 1000000);
		return 0;
	}
	pids = calloc((size_t)count, sizeof(*pids));
	if (!pids || !mkdtemp(dir))
		return 1;
	for (int i = 0; i < count || running;) {
		if (i < count && running < 2) {
			snprintf(path, sizeof(path), "%s/swarm-%03d", dir, i);
			if (copy_self(path))
				return 1;
			pids[i] = fork();
			if (pids[i] == 0) {
				execl(path, path, "work", ms, (char *)NULL);
				_exit(127);
			}
			running++;
			i++;
			continue;
		}
		pid_t ended = wait(&status);

		for (int j = 0; j < i; j++) {
			if (pids[j] != ended)
				continue;
			snprintf(path, sizeof(path), "%s/swarm-%03d", dir, j);
			unlink(path);
		}
		bad |= status;
		running--;
	}
	free(pids);
	rmdir(dir);
	return bad != 0;
}
