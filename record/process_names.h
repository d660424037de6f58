/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a language keeps of its own of each process: a struct that begins with the account of the
 * process, found by who that is. What one process had goes with it, and that of others stays.
 */
#ifndef RECORD_PROCESS_NAMES_H
#define RECORD_PROCESS_NAMES_H

#include <stddef.h>

#include "name_share.h"

struct name_owner;

/* Of all processes. */
struct process_names {
	struct name_share *share;
	size_t size;		   /* of what is kept of a process */
	void (*empty)(void *kept); /* frees what that points to */
	struct hash_map processes; /* of who it is and what is kept */
};

/* Nothing yet. */
struct process_names record_process_names(struct name_share *share, size_t size,
					  void (*empty)(void *kept));
/* What is kept of it; NULL: nothing. */
void *record_process_names_find(const struct process_names *p, const struct name_owner *owner);
/*
 * The same, made with zeroes behind the account if there was none, where @more bytes have room.
 * *out NULL: they have not, which was said. 0 or -ENOMEM.
 */
int record_process_names_add(struct process_names *p, const struct name_owner *owner, uint64_t more,
			     void **out, bool *is_new);
/* After record_name_share_settle(): those that are gone go. */
void record_process_names_settle(struct process_names *p);
void record_process_names_free(struct process_names *p);

#endif
