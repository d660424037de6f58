/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fsyncs FILE N [direct]: writes 4 KB and calls fsync, N times; prints how long all fsyncs took by
 * its own clock, in nanoseconds. With `direct` it reads 4 KB at places far from each other instead,
 * past the page cache.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "work.h"

#define BLOCK 4096

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

NOINLINE static int write_and_sync(int fd, void *block, off_t at, uint64_t *ns)
{
	uint64_t begin;

	if (pwrite(fd, block, BLOCK, at) != BLOCK)
		return -1;
	begin = now_ns();
	if (fsync(fd))
		return -1;
	*ns += now_ns() - begin;
	return 0;
}

/* Never where the last one ended: 7 blocks further, of 997. */
NOINLINE static int read_elsewhere(int fd, void *block, long i)
{
	return pread(fd, block, BLOCK, (off_t)(i * 7 % 997) * BLOCK) == BLOCK ? 0 : -1;
}

int main(int argc, char **argv)
{
	const int direct = argc > 3 && !strcmp(argv[3], "direct");
	const long n = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	int fd = argc > 2 ? open(argv[1], direct ? O_RDONLY | O_DIRECT : O_RDWR | O_CREAT, 0600)
			  : -1;
	void *block = NULL;
	uint64_t ns = 0;

	if (fd < 0 || posix_memalign(&block, BLOCK, BLOCK)) {
		perror("fsyncs");
		return 1;
	}
	memset(block, 'x', BLOCK);
	for (long i = 0; i < n; i++)
		if (direct ? read_elsewhere(fd, block, i)
			   : write_and_sync(fd, block, (off_t)i * BLOCK, &ns)) {
			perror("fsyncs");
			return 1;
		}
	printf("%llu\n", (unsigned long long)ns);
	free(block);
	return close(fd) ? 1 : 0;
}
