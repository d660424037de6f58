/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compat NUMBER TIMES: a system call of 32-bit programs, so many times; then it says how many there
 * were.
 *
 * The number is that of another call for 64-bit programs; what would be its first two arguments, 1
 * and 0, mean a descriptor, or a futex that is waited for. Status 77 where there are no such calls.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__x86_64__)
static void not_here(int signal)
{
	(void)signal;
	_exit(77);
}

int main(int argc, char **argv)
{
	const long number = argc > 1 ? atol(argv[1]) : 0, times = argc > 2 ? atol(argv[2]) : 0;

	signal(SIGSEGV, not_here);
	for (long i = 0; i < times; i++) {
		long ret;

		__asm__ volatile("int $0x80"
				 : "=a"(ret)
				 : "0"(number), "b"(-1l), "c"(0l), "D"(1l), "S"(0l)
				 : "r8", "r9", "r10", "r11", "memory");
	}
	printf("%ld\n", times);
	return 0;
}
#else
int main(void)
{
	return 77;
}
#endif
