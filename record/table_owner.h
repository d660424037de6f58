/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of one user have of the maps and of our time. Both are everyone's: users but root
 * may fill three quarters of the maps each, so that theirs do not push out all others.
 */
#ifndef RECORD_TABLE_OWNER_H
#define RECORD_TABLE_OWNER_H

#include "table_place.h"

struct table_owner {
	uint32_t uid;
	bool time_said, room_said;
	uint64_t pages, rules, rows;
	uint64_t bytes;	  /* of files that were read, */
	uint64_t read_ns; /*   as of then: with time it counts less */
};

/* Whether a file of @size bytes may be read too: then it counts. Else that is said, once. */
bool record_table_owner_may_read(struct table_owner *o, uint64_t size);
/* Whether there may be one more of their tables in the maps. */
bool record_table_owner_has_room(const struct table_owner *o, const struct unwind_table *t);
/* There may not: that is said, once. */
void record_table_owner_say_room(struct table_owner *o);
/* It lies there, and it is gone. */
void record_table_owner_add(struct table_owner *o, const struct placed_table *t);
void record_table_owner_remove(struct table_owner *o, const struct placed_table *t);

#endif
