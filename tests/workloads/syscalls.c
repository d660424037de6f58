/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * syscalls [CPU-SECONDS]: nearly all its time in the kernel, reading zeros in blocks of 1 MiB.
 *
 * A profiler must find read_zeros() as the last frame of the user's with kernel frames on top of
 * it, vfs_read() among them, and over 80 % of the samples must be of that kind.
 */
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "work.h"

static char block[1 << 20];

/* Not libc's: it keeps no frame pointer, so that its caller would be missing from the stacks. */
__attribute__((always_inline)) static inline long raw_read(int fd, void *to, size_t size)
{
#if defined(__x86_64__)
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(SYS_read), "D"(fd), "S"(to), "d"(size)
			 : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = SYS_read;
	register long x0 __asm__("x0") = fd;
	register void *x1 __asm__("x1") = to;
	register size_t x2 __asm__("x2") = size;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
#else
#error "no system call for this architecture"
#endif
}

NOINLINE static void read_zeros(int fd, uint64_t end)
{
	while (thread_cpu_ns() < end) {
		for (int i = 0; i < 16; i++) {
			if (raw_read(fd, block, sizeof(block)) < 0)
				exit(1);
		}
	}
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	int fd = open("/dev/zero", O_RDONLY);

	if (fd < 0)
		return 1;
	read_zeros(fd, thread_cpu_ns() + (uint64_t)(seconds_arg(argc, argv, 1, 2) * 1e9));
	return 0;
}
