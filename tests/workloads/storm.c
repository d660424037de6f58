/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * storm KIND TIMES: does one thing so often, as fast as it goes, so that the kernel has as much to
 * say of this process as one user's process can make it say. Left alone it ends after two minutes.
 *
 *	comm	takes ever new names
 *	same	takes the same name again and again
 *	mmap	maps code, here and there, and takes it away again
 *	fork	has children that end at once
 *	exec	has children that run a program (/bin/true) which ends at once
 *	thread	has threads that end at once
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

static void take_name(unsigned long i)
{
	char name[16];

	snprintf(name, sizeof(name), "n%u", (unsigned int)i);
	prctl(PR_SET_NAME, name);
}

static void map_code(unsigned long i)
{
	char *hint = (char *)0x100000000000 + (i % 4096) * 0x10000;
	void *at = mmap(hint, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at != MAP_FAILED)
		munmap(at, 4096);
}

static void have_child(const char *program)
{
	pid_t pid = vfork();

	if (!pid && program)
		execl(program, program, (char *)NULL);
	if (!pid)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void *nothing(void *arg)
{
	return arg;
}

static void have_thread(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, nothing, NULL))
		pthread_join(thread, NULL);
}

static void blow(const char *kind, unsigned long i)
{
	switch (*kind) {
	case 'c':
		take_name(i);
		break;
	case 's':
		prctl(PR_SET_NAME, "same");
		break;
	case 'm':
		map_code(i);
		break;
	case 't':
		have_thread();
		break;
	default:
		have_child(*kind == 'e' ? "/bin/true" : NULL);
	}
}

int main(int argc, char **argv)
{
	unsigned long times = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

	if (argc != 3 || !strchr("csmtfe", *argv[1]))
		return 2;
	alarm(120);
	for (unsigned long i = 0; i < times; i++)
		blow(argv[1], i);
	return 0;
}
