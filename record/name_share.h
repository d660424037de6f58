/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory for names that processes have sent of their own functions: whoever makes new functions
 * all the time fills the share of the user it runs as, and what is new of that user has no names.
 *
 * Names are looked up when the recording, or a window of it, is over. Those of processes that have
 * ended are forgotten between two windows, once there is much.
 */
#ifndef RECORD_NAME_SHARE_H
#define RECORD_NAME_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolize/strings.h"
#include "uid_share.h"

struct name_share;

/* -ENOMEM. */
int record_name_share_open(struct name_share **out);
void record_name_share_close(struct name_share *s);

/* Who pays for a process: its real user, who cannot be changed by whoever is that. */
uid_t record_name_owner(struct name_share *s, uint32_t pid, uint64_t generation);

/* At most @size more may come of that user. Else that is said, once. */
bool record_name_has_room(struct name_share *s, uid_t uid, uint64_t size);
/* So much has come. */
void record_name_add(struct name_share *s, uid_t uid, uint64_t size);
/* The kept copy of a text, which counts if it is new; NULL: no memory. */
const char *record_name_keep(struct name_share *s, uid_t uid, struct sym_strings *texts,
			     const char *text);
/* What an entry of a map of names takes beside itself. */
#define RECORD_NAME_INDEX 16

/*
 * Between two windows. True: there is much, and some of it is of processes that are gone. Then
 * nobody has anything; what is of others is to be added again.
 */
bool record_name_share_settle(struct name_share *s);
/* It had ended a window ago, or executed something else. */
bool record_name_is_gone(struct name_share *s, uint32_t pid, uint64_t generation);

#endif
