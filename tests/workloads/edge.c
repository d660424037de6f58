/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * edge [CPU-SECONDS]: a system call that is the last instruction of its function. All that is known
 * of the caller is where it will go on: the first address of the next function, which does nothing.
 */
#include <fcntl.h>
#include <unistd.h>

#include "work.h"

#if defined(__aarch64__)
#define READ "mov x8, #63\n svc #0\n"
#elif defined(__riscv)
#define READ "li a7, 63\n ecall\n"
#else
#define READ "xorl %eax, %eax\n syscall\n"
#endif
#define FUNCTION(name, body)                                                                       \
	".globl " name "\n.type " name ", %function\n" name ": .cfi_startproc\n" body              \
	".cfi_endproc\n.size " name ", . - " name "\n"

/* read(2), which goes on into the next function, which returns. */
long last_is_syscall(int fd, void *buf, size_t size);
__asm__(".text\n" FUNCTION("last_is_syscall", READ) FUNCTION("next_one", "ret\n"));

int main(int argc, char **argv)
{
	uint64_t end = (uint64_t)(seconds_arg(argc, argv, 1, 1) * 1e9);
	static char buf[1 << 20];
	int fd = open("/dev/zero", O_RDONLY);

	while (thread_cpu_ns() < end)
		if (last_is_syscall(fd, buf, sizeof(buf)) != (long)sizeof(buf))
			return 1;
	return 0;
}
