/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_vfork [TIMES]: a child that works in its parent's memory (vfork, clone with CLONE_VM) frees
 * its blocks, and the parent frees the child's; prints for each function "NAME allocated bytes kept
 * bytes".
 */
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

static long times;
static void *blocks[1000];
static size_t page;

static NOINLINE void case_parents(void)
{
	for (long i = 0; i < times; i++)
		blocks[i] = malloc(10);
}
static NOINLINE void case_childs(void)
{
	for (long i = 0; i < times; i++)
		blocks[i] = malloc(20);
}
static NOINLINE void case_parents_map(void)
{
	for (long i = 0; i < times; i++)
		blocks[i] = mmap(NULL, 3 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static NOINLINE void free_all(void)
{
	for (long i = 0; i < times; i++)
		free(blocks[i]);
}
static NOINLINE void unmap_some(void)
{
	for (long i = 0; i < times; i++)
		munmap(blocks[i], 2 * page);
}

static int child(void *unused)
{
	(void)unused;
	free_all();
	case_childs();
	_exit(0);
}
static int unmapping_child(void *unused)
{
	(void)unused;
	unmap_some();
	_exit(0);
}

static NOINLINE void run(int (*what)(void *))
{
	static char stack[256 << 10] __attribute__((aligned(16)));
	const pid_t pid =
		clone(what, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);

	if (pid < 0)
		exit(1);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	times = argc > 1 ? atol(argv[1]) : 100;
	page = (size_t)sysconf(_SC_PAGESIZE);
	case_parents();
	run(child);
	free_all(); /* what the child has allocated */
	case_parents_map();
	run(unmapping_child);
	printf("case_parents %ld %ld 0 0\n", times, 10 * times);
	printf("case_childs %ld %ld 0 0\n", times, 20 * times);
	printf("case_parents_map %ld %ld %ld %ld\n", times, 3 * times * (long)page, times,
	       times * (long)page);
	return 0;
}
