/* SPDX-License-Identifier: BSD-2-Clause */
/* First or last fit, in an array of the holes: there are as many as files have gone. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "table_room.h"

/* So many would fill it: they are long. */
enum { LONG_PART = 16 };

int record_table_room_open(struct table_room *r, uint32_t count)
{
	r->n = 0;
	r->count = count;
	return RP_PUSH(r->holes, r->n, r->capacity, (struct table_hole){ 0, count });
}

void record_table_room_free(struct table_room *r)
{
	free(r->holes);
	*r = (struct table_room){ 0 };
}

static void remove_hole(struct table_room *r, size_t i)
{
	r->n--;
	memmove(r->holes + i, r->holes + i + 1, (r->n - i) * sizeof(*r->holes));
}

static bool take_last(struct table_room *r, uint32_t count, uint32_t *first)
{
	size_t i = r->n;

	while (i && r->holes[i - 1].count < count)
		i--;
	if (!i)
		return false;
	r->holes[i - 1].count -= count;
	*first = r->holes[i - 1].first + r->holes[i - 1].count;
	if (!r->holes[i - 1].count)
		remove_hole(r, i - 1);
	return true;
}

static bool take_first(struct table_room *r, uint32_t count, uint32_t *first)
{
	size_t i = 0;

	while (i < r->n && r->holes[i].count < count)
		i++;
	if (i == r->n)
		return false;
	*first = r->holes[i].first;
	r->holes[i].first += count;
	r->holes[i].count -= count;
	if (!r->holes[i].count)
		remove_hole(r, i);
	return true;
}

bool record_table_room_take(struct table_room *r, uint32_t count, uint32_t *first)
{
	return count > r->count / LONG_PART ? take_last(r, count, first)
					    : take_first(r, count, first);
}

void record_table_room_give(struct table_room *r, uint32_t first, uint32_t count)
{
	size_t i = 0;
	bool joins_last, joins_next;

	if (!count)
		return;
	while (i < r->n && r->holes[i].first < first)
		i++;
	joins_last = i && r->holes[i - 1].first + r->holes[i - 1].count == first;
	joins_next = i < r->n && first + count == r->holes[i].first;
	if (joins_last) {
		r->holes[i - 1].count += count;
		if (joins_next) {
			r->holes[i - 1].count += r->holes[i].count;
			remove_hole(r, i);
		}
	} else if (joins_next) {
		r->holes[i].first = first;
		r->holes[i].count += count;
	} else if (!RP_GROW(r->holes, r->n, r->capacity)) {
		memmove(r->holes + i + 1, r->holes + i, (r->n - i) * sizeof(*r->holes));
		r->holes[i] = (struct table_hole){ first, count };
		r->n++;
	}
}
