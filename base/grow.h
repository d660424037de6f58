/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrays that grow by one. */
#ifndef SYMBOLIZE_GROW_H
#define SYMBOLIZE_GROW_H

#include <stddef.h>
#include <stdlib.h>

/*
 * @array of @count items of @size bytes, moved if it must be, with room for one more; *room is how
 * many fit. NULL and nothing changed if memory ran out.
 */
static inline void *sym_grow(void *array, size_t count, size_t *capacity, size_t size)
{
	size_t more = *capacity + *capacity / 2 + 2;
	void *p;

	if (count < *capacity)
		return array;
	p = realloc(array, more * size);
	if (p)
		*capacity = more;
	return p;
}

#endif
