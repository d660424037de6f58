/* SPDX-License-Identifier: BSD-2-Clause */
/* Unwind tables in the maps where the BPF program reads them: where is room, and what is there. */
#ifndef RECORD_TABLE_PLACE_H
#define RECORD_TABLE_PLACE_H

#include "programs/shared/unwind.h"
#include "table_room.h"

/* An array of rows. A part never lies in two of them. */
struct table_shard {
	int fd;
	struct table_room room;
};

/* All zeroes but for the descriptors of the maps, before record_table_places_open(). */
struct table_places {
	int index, rules, rows;
	struct table_room index_room, rules_room;
	struct table_shard shards[UNWIND_SHARDS];
	uint32_t nshards;
};

/* Where a part of a table lies. */
struct stored_part {
	uint64_t start; /* address in the file */
	uint32_t npages;
	uint32_t index, shard, rules;
	uint32_t first_row, nrows;
};

/* A table that lies there; all zeroes: none. */
struct placed_table {
	struct stored_part *parts; /* ordered by start */
	uint32_t nparts;
	uint32_t first_rule, nrules;
};

/* Nothing lies in the maps. 0 or -ENOMEM. */
int record_table_places_open(struct table_places *p);
void record_table_places_close(struct table_places *p);

/* 0; -ENOSPC: there is no room; or a negative errno. */
int record_table_place(struct table_places *p, const struct unwind_table *t,
		       struct placed_table *out);
/* Others may lie there from now on: no walk may use it any more. */
void record_table_unplace(struct table_places *p, struct placed_table *t);

#endif
