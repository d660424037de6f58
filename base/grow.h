/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arrays that grow: an array, the number of items that it has memory for, and how it gets more.
 *
 *	err = RP_PUSH(list->item, list->count, list->capacity, item);
 */
#ifndef BASE_GROW_H
#define BASE_GROW_H

#include <errno.h>
#include <stddef.h>

/* Memory for @need items of @size bytes; *@capacity becomes at least @need, below @max. */
int rp_grow(void **array, size_t need, size_t *capacity, size_t max, size_t size);

/*
 * Makes room in @array for @need items in all; @capacity, of any integer type, is how many it has
 * room for. Both are assigned to. 0, -ENOMEM, or -EOVERFLOW if the type of @capacity cannot count
 * them; then nothing has changed.
 */
#define RP_GROW_TO(array, need, capacity)                                                          \
	({                                                                                         \
		const size_t need_ = (need);                                                       \
		int err_ = 0;                                                                      \
		if (need_ > (size_t)(capacity)) {                                                  \
			size_t capacity_ = (size_t)(capacity);                                     \
			void *array_ = (array);                                                    \
			err_ = rp_grow(&array_, need_, &capacity_, (__typeof__(capacity))-1,       \
				       sizeof(*(array)));                                          \
			(array) = array_;                                                          \
			(capacity) = (__typeof__(capacity))capacity_;                              \
		}                                                                                  \
		err_;                                                                              \
	})

/* Makes room in @array for one more than its @count items. */
#define RP_GROW(array, count, capacity) RP_GROW_TO(array, (size_t)(count) + 1, capacity)

/* Appends an item, which is the last argument and may have commas in it. */
#define RP_PUSH(array, count, capacity, ...)                                                       \
	({                                                                                         \
		int pushed_ = RP_GROW(array, count, capacity);                                     \
		if (!pushed_) {                                                                    \
			(array)[count] = __VA_ARGS__;                                              \
			(count)++;                                                                 \
		}                                                                                  \
		pushed_;                                                                           \
	})

#endif
