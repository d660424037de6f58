/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rounds N: a loop of two instructions, so many times; on other machines than x86-64 and arm64 of
 * some.
 */
#include <stdint.h>

#include "work.h"

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;

	if (!n)
		return 0;
#if defined(__aarch64__)
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
#elif defined(__x86_64__)
	__asm__ volatile("1: sub $1, %0\n\tjnz 1b" : "+r"(n) : : "cc");
#else
	for (volatile uint64_t i = 0; i < n; i++)
		;
#endif
	return 0;
}
