/* SPDX-License-Identifier: BSD-2-Clause */
/* A radix sort of three digits. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "radix.h"

enum { DIGIT = 11 /* bits: three digits make a number of 32 */, VALUES = 1 << DIGIT };

struct item {
	char bytes[16];
};

static uint32_t digit(const struct item *item, size_t key, unsigned int shift)
{
	uint32_t v;

	memcpy(&v, item->bytes + key, sizeof(v));
	return v >> shift & (VALUES - 1);
}

/* One pass, from @in to @out. */
static void sort_digit(const struct item *in, struct item *out, size_t n, size_t key,
		       unsigned int shift)
{
	size_t at[VALUES] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[digit(&in[i], key, shift)]++;
	for (size_t d = 0; d < VALUES; d++) {
		size_t count = at[d];

		at[d] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		out[at[digit(&in[i], key, shift)]++] = in[i];
}

int sym_radix_sort(void **items, size_t n, size_t key)
{
	struct item *in = *items, *out = malloc(n * sizeof(*out));

	if (!out)
		return -ENOMEM;
	sort_digit(in, out, n, key, 0);
	sort_digit(out, in, n, key, DIGIT);
	sort_digit(in, out, n, key, 2 * DIGIT);
	free(in);
	*items = out;
	return 0;
}
