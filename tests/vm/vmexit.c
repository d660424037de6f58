/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vmexit STATUS: ends the virtual machine. On x86 by qemu's isa-debug-exit device at port 0xf4,
 * which makes qemu exit with 2 * STATUS + 1; on arm64 by semihosting, SYS_EXIT_EXTENDED (0x20) and
 * ADP_Stopped_ApplicationExit, which qemu takes from user space if told to (userspace=on).
 */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <sys/io.h>

static int end(int status)
{
	if (ioperm(0xf4, 4, 1))
		return 1;
	outl((unsigned int)status, 0xf4);
	return 1;
}
#elif defined(__aarch64__)
static int end(int status)
{
	const uint64_t block[2] = { 0x20026, (uint64_t)status };
	register uint64_t operation __asm__("x0") = 0x20;
	register const uint64_t *argument __asm__("x1") = block;

	__asm__ volatile("hlt #0xf000" : "+r"(operation) : "r"(argument) : "memory");
	return 1;
}
#endif

int main(int argc, char **argv)
{
	sync();
	return end(argc > 1 ? atoi(argv[1]) : 0);
}
