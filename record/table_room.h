/* SPDX-License-Identifier: BSD-2-Clause */
/* Which elements of an array are free: taken and given back by stretches. */
#ifndef RECORD_TABLE_ROOM_H
#define RECORD_TABLE_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Free stretches, by their place; no two touch each other. Long ones are taken from the end, the
 * others from the beginning: what stays for long does not lie where long ones would fit.
 */
struct table_room {
	uint32_t count; /* elements, free or not */
	struct table_hole {
		uint32_t first, count;
	} * holes;
	size_t n, capacity;
};

/* @count free elements, from number 0 on; what there was is forgotten. 0 or -ENOMEM. */
int record_table_room_open(struct table_room *r, uint32_t count);
void record_table_room_free(struct table_room *r);
/* A place where so many, at least one, are free. False: there is none. */
bool record_table_room_take(struct table_room *r, uint32_t count, uint32_t *first);
/* They are free again. Without memory some stay taken. */
void record_table_room_give(struct table_room *r, uint32_t first, uint32_t count);

#endif
