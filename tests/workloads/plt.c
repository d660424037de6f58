/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plt [CPU-SECONDS]: calls a function of another file, over and over, by the stub of a PLT: if it
 * is built with -fno-builtin. Who needs a linker that does not describe the stub builds it so.
 */
#include <string.h>

#include "work.h"

int main(int argc, char **argv)
{
	const uint64_t end = thread_cpu_ns() + (uint64_t)(seconds_arg(argc, argv, 1, 2) * 1e9);
	char to[8], from[8] = "";

	while (thread_cpu_ns() < end)
		for (int i = 0; i < 100000; i++)
			memcpy(to, from, 1);
	return 0;
}
