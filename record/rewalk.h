/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks that no table, or no rule, was known for when they were sampled, walked once there is one:
 * from what programs/shared/stack_copy.c has sent of them, by what their processes had mapped then.
 * Each is counted once, as it is in the end. What was copied is the memory of other processes: it
 * is kept no longer than that, and leaves by no other way than as addresses.
 */
#ifndef RECORD_REWALK_H
#define RECORD_REWALK_H

#include <stddef.h>
#include <stdint.h>

#include "programs/shared/stack.h"

struct recording;
struct record_rewalk;

/* The maps and tables of @rec are there: stacks may come. 0 or -ENOMEM. */
int record_rewalk_open(struct record_rewalk **out, const struct recording *rec);
void record_rewalk_close(struct record_rewalk *w);

/* What a stack holds. 0, -ENOMEM or -EBADMSG. */
int record_rewalk_copy(struct record_rewalk *w, const void *data, size_t size);
/*
 * The record that it is of. *@plain is one that did not say so, and good until the next call.
 * RECORD_REWALK_KEPT: it is counted later; 0: what it may be walked by is not there, or there is no
 * room for it: the caller counts it as it is; -ENOMEM.
 */
enum { RECORD_REWALK_KEPT = 1 };
int record_rewalk_keep(struct record_rewalk *w, const struct stack_record *record,
		       const struct stack_record **plain);
/* Counts a record, and says when it was. 0 or -ENOMEM. */
int record_rewalk_count(struct recording *rec, const struct stack_record *record);

/*
 * After a drain: walks and counts all that is kept. At the end, once what is being made is there:
 * tables, and rules that one of the stacks may lack. 0 or a negative errno.
 */
int record_rewalk(struct recording *rec);
/* The same if so much is kept that there may be no room for more; waits for nothing. */
int record_rewalk_if_full(struct recording *rec);

#endif
