/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of another file by the stubs of a PLT, for bench/unwind/more.sh: two seconds. */
#include <string.h>
#include <time.h>

int main(void)
{
	char to[8], from[8] = "";
	const clock_t end = clock() + 2 * CLOCKS_PER_SEC;

	while (clock() < end)
		for (int i = 0; i < 100000; i++)
			memcpy(to, from, 1);
	return 0;
}
