/* SPDX-License-Identifier: BSD-2-Clause */
/* Time in functions of the C library: with musl they have no unwind tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

int main(void)
{
	static char text[20000][32];

	for (int round = 0; round < 60; round++) {
		for (int i = 0; i < 20000; i++)
			snprintf(text[i], sizeof(text[i]), "%d-%g", (i * 7919 + round) % 20011,
				 i / 3.0);
		qsort(text, 20000, sizeof(text[0]), by_text);
	}
	return text[0][0] == 'x';
}
