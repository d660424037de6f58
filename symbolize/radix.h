/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorting a hundred thousand addresses, which takes qsort longer than reading them. */
#ifndef SYMBOLIZE_RADIX_H
#define SYMBOLIZE_RADIX_H

#include <stddef.h>

/*
 * Sorts @n items of 16 bytes, allocated by malloc, by the uint32_t at offset @key of each; equal
 * ones stay in their order. *items may be other memory afterwards. -ENOMEM.
 */
int sym_radix_sort(void **items, size_t n, size_t key);

#endif
