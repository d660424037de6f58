/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * aio FILE N DEPTH: reads 4 KB N times past the page cache, DEPTH at once; prints the 50th and the
 * 99th percentile of how long they took by its own clock, each from where it is given to the kernel
 * to where it is taken back, in nanoseconds. What fio does, where there is none.
 */
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "work.h"

#define BLOCK 4096
#define BLOCKS 4096 /* that the file has */
#define MAX_AT_ONCE 256
#define MOST (1 << 20)

static uint64_t took[MOST];

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int fail(const char *what)
{
	perror(what);
	return 1;
}

int main(int argc, char **argv)
{
	const long n = argc > 3 ? strtol(argv[2], NULL, 10) : 0;
	const long wanted = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
	const long depth = wanted < 1 ? 1 : wanted > MAX_AT_ONCE ? MAX_AT_ONCE : wanted;
	int fd = argc > 3 ? open(argv[1], O_RDONLY | O_DIRECT) : -1;
	uint64_t begin[MAX_AT_ONCE];
	struct iocb cb[MAX_AT_ONCE] = { 0 };
	aio_context_t ctx = 0;
	long asked = 0, done = 0;
	void *blocks = NULL;

	if (fd < 0 || n < 1 || n > MOST || posix_memalign(&blocks, BLOCK, (size_t)depth * BLOCK))
		return fail("aio FILE N DEPTH");
	if (syscall(SYS_io_setup, depth, &ctx))
		return fail("io_setup");
	while (done < n) {
		struct io_event events[MAX_AT_ONCE];
		long got;

		for (; asked < n && asked < depth; asked++) {
			cb[asked].aio_lio_opcode = IOCB_CMD_PREAD;
			cb[asked].aio_fildes = (uint32_t)fd;
			cb[asked].aio_buf = (uintptr_t)blocks + (uintptr_t)asked * BLOCK;
			cb[asked].aio_nbytes = BLOCK;
			cb[asked].aio_offset = asked * 7 % BLOCKS * BLOCK;
			cb[asked].aio_data = (uint64_t)asked;
			begin[asked] = now_ns();
			if (syscall(SYS_io_submit, ctx, 1, (struct iocb *[]){ &cb[asked] }) != 1)
				return fail("io_submit");
		}
		got = syscall(SYS_io_getevents, ctx, 1, depth, events, NULL);
		if (got < 1)
			return fail("io_getevents");
		for (long i = 0; i < got; i++) {
			const uint64_t slot = events[i].data;

			if (events[i].res != BLOCK)
				return fail("read");
			took[done++] = now_ns() - begin[slot];
			if (asked == n)
				continue;
			cb[slot].aio_offset = asked++ * 7 % BLOCKS * BLOCK;
			begin[slot] = now_ns();
			if (syscall(SYS_io_submit, ctx, 1, (struct iocb *[]){ &cb[slot] }) != 1)
				return fail("io_submit");
		}
	}
	qsort(took, (size_t)n, sizeof(*took), by_value);
	printf("%llu %llu\n", (unsigned long long)took[(n - 1) / 2],
	       (unsigned long long)took[(n * 99 + 99) / 100 - 1]);
	return 0;
}
