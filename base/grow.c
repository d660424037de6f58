/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrays that grow by half, so that what is copied stays in proportion to what is added. */
#include <stdlib.h>

#include "grow.h"

int rp_grow(void **array, size_t need, size_t *capacity, size_t max, size_t size)
{
	size_t more = *capacity + *capacity / 2 + 2;
	void *p;

	if (need >= max)
		return -EOVERFLOW;
	if (more < need)
		more = need;
	if (more >= max)
		more = max - 1;
	p = reallocarray(*array, more, size);
	if (!p)
		return -ENOMEM;
	*array = p;
	*capacity = more;
	return 0;
}
