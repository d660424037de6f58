/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * remap FILE1 FILE2 OFFSET [CPU-SECONDS]: maps the first file, spends half of the time in the
 * function at that offset, then maps the second at the same address and does the same. The function
 * has the bytes of a different name in each, and is void (*)(volatile long *), which counts down to
 * 0.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "work.h"

enum { SIZE = 1 << 14 };
typedef void count_down(volatile long *n);

static void *map_code(const char *path, void *where)
{
	int fd = open(path, O_RDONLY);
	void *p = mmap(where, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE | (where ? MAP_FIXED : 0),
		       fd, 0);

	if (fd < 0 || p == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	close(fd);
	return p;
}

NOINLINE static void in_first(count_down *f, uint64_t end)
{
	while (thread_cpu_ns() < end) {
		volatile long n = 1000000;

		f(&n);
	}
}

NOINLINE static void in_second(count_down *f, uint64_t end)
{
	while (thread_cpu_ns() < end) {
		volatile long n = 1000000;

		f(&n);
	}
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	uint64_t end = (uint64_t)(seconds_arg(argc, argv, 4, 1) * 1e9);
	long offset = argc > 3 ? strtol(argv[3], NULL, 0) : 0;
	char *code;

	if (argc < 4)
		return 2;
	code = map_code(argv[1], NULL);
	in_first((count_down *)(code + offset), end / 2);
	map_code(argv[2], code);
	in_second((count_down *)(code + offset), end);
	return 0;
}
