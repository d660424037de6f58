/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * futexes NUMBER ROUNDS: waits for so many futexes, each at an address of its own, so often. None
 * has the value that it waits for, so no wait lasts. It stops for a moment after every 4,096, so
 * that who looks on keeps pace.
 */
#include <linux/futex.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST (1 << 17)

int main(int argc, char **argv)
{
	static uint32_t word[MOST];
	const long n = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	const long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 1;

	for (long round = 0; round < rounds; round++)
		for (long i = 0; i < n && i < MOST; i++) {
			syscall(SYS_futex, &word[i], FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
			if (i % 4096 == 4095)
				usleep(50000);
		}
	return 0;
}
