/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks that wait to be walked: what was copied of each, and its record. */
#ifndef RECORD_REWALK_KEPT_H
#define RECORD_REWALK_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/shared/stack.h"

/* A copy comes first; its record may never come. */
struct rewalk_one {
	struct stack_copy *copy;
	struct stack_record *record; /* NULL: it has not come */
};

/* All zeroes but for most: nothing is kept. */
struct rewalk_kept {
	struct rewalk_one *one;
	size_t n, capacity;
	size_t bytes, most;
	uint64_t refused;	    /* records without a copy */
	struct stack_record *plain; /* the last of these */
};

/* A struct stack_copy of so many bytes; dropped if there is no room. 0, -ENOMEM or -EBADMSG. */
int record_rewalk_kept_copy(struct rewalk_kept *k, const void *data, size_t size);
/*
 * A record with STACK_COPIED: *@plain is one without, which lives until the next call or as long as
 * it is kept. 1: it is kept with its copy; 0: there is none; -ENOMEM.
 */
int record_rewalk_kept_record(struct rewalk_kept *k, const struct stack_record *record,
			      const struct stack_record **plain);
/* Nothing of it stays in memory: it is other processes'. */
void record_rewalk_kept_forget(struct rewalk_kept *k);
void record_rewalk_kept_free(struct rewalk_kept *k);

/* What stack_hash() of a program of that @config makes of a record that has all of its frames. */
uint64_t record_rewalk_hash(const struct stack_record *r, const struct program_config *config);

#endif
