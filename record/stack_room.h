/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Room for stacks that are not alike. A program may make each of its stacks another one, thousands
 * of frames deep, so those of a user's processes have a share: of 512 MB, or of a quarter of the
 * machine's memory if that is less. Root and we pay nothing, nor does anyone for the first eighth
 * (64 MB). What has no room is counted without its frames: in its place is one stack of that
 * process and tag, and from some thousands of these on one of the tag, and then one of all.
 */
#ifndef RECORD_STACK_ROOM_H
#define RECORD_STACK_ROOM_H

#include "stack_blocks.h"
#include "whose.h"

struct stack_room {
	struct record_room room; /* its .whose is NULL: for all */
	struct hash_map instead; /* what is in the place of a stack, by its hash */
	uint32_t stand_ins;
	bool is_used; /* something once had no room */
};

void record_stack_room_init(struct stack_room *r, struct record_whose *whose);
void record_stack_room_free(struct stack_room *r);
bool record_stack_room_has(struct stack_room *r, const struct stack_record *record);
/* Begins as nothing was kept. */
void record_stack_room_empty(struct stack_room *r);

/* What stands in the place of a record that has no room, which is remembered. */
struct stack_record record_stack_instead(struct stack_room *r, const struct stack_record *record);
/* Of all those that nothing else is in the place of. */
struct stack_record record_stack_of_all(void);
/* The hash of what is in the place of that stack; 0: nothing is known to be. */
uint64_t record_stack_moved(const struct stack_room *r, uint64_t hash);

#endif
