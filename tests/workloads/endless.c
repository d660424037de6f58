/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * endless code|paths DIRECTORY SECONDS: burns CPU time in a process that costs whoever looks at it
 * very much, and prints a line once it does.
 *
 *	code	runs in memory of terabytes, with a frame pointer that leads nowhere
 *	paths	has 60,000 mappings of a file below 1,200 directories, whose path the kernel writes
 *		for each of them
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "work.h"

enum { DIRECTORIES = 1200, NAME = 255, MAPPINGS = 60000 };
#define CODE_BYTES (1ul << 45)

/* The frame pointer is 0x539, and it jumps to itself. */
#if defined(__x86_64__)
static const unsigned char code[] = { 0x48, 0xc7, 0xc5, 0x39, 0x05, 0, 0, 0xeb, 0xfe };
#elif defined(__aarch64__)
static const unsigned int code[] = { 0xd280a73d, 0x14000000 };
#endif

static void run_code(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
	char *at = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	void (*run)(void) = (void (*)(void))at;

	if (at == MAP_FAILED)
		return;
	memcpy(at, code, sizeof(code));
	__builtin___clear_cache(at, at + sizeof(code));
	puts("runs");
	fflush(stdout);
	run();
#endif
}

static void run_paths(void)
{
	char name[NAME + 1];
	int fd;

	memset(name, 'd', NAME);
	name[NAME] = '\0';
	for (int i = 0; i < DIRECTORIES; i++)
		if (mkdir(name, 0755) || chdir(name))
			return;
	fd = open("file", O_RDWR | O_CREAT, 0644);
	for (int i = 0; i < MAPPINGS; i++)
		if (mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE, fd, 0) ==
		    MAP_FAILED)
			return;
	puts("runs");
	fflush(stdout);
	burn_until(UINT64_MAX);
}

int main(int argc, char **argv)
{
	if (argc != 4 || chdir(argv[2]))
		return 2;
	alarm((unsigned int)atoi(argv[3]));
	if (!strcmp(argv[1], "code"))
		run_code();
	else
		run_paths();
	return 1;
}
