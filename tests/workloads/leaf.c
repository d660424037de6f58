/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaf [CPU-SECONDS]: all time in a function that calls nobody and has no frame of its own, as most
 * that are busy have none. Built without frame pointers. On arm64 and riscv64 its return address is
 * nowhere but in a register.
 *
 * A profiler that goes by unwind tables must find main;calls_leaf;leaf.
 */
#include "work.h"

NOINLINE static void leaf(uint64_t n)
{
	while (n--)
		__asm__ volatile("" ::: "memory");
}

NOINLINE static void calls_leaf(uint64_t end)
{
	do {
		leaf(1000000);
	} while (thread_cpu_ns() < end);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	calls_leaf(thread_cpu_ns() + (uint64_t)(seconds_arg(argc, argv, 1, 5) * 1e9));
	return 0;
}
