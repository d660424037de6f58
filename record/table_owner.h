/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What users have of the maps, by their files and by those of root that only their processes asked
 * for; and what the files of one user have of our time. Both are everyone's.
 */
#ifndef RECORD_TABLE_OWNER_H
#define RECORD_TABLE_OWNER_H

#include "table_place.h"
#include "uid_share.h"

struct table_owner {
	uint32_t uid;
	bool time_said;
	uint64_t bytes;	  /* of files that were read, */
	uint64_t here_ns; /*   time that the recording itself has spent on them, */
	uint64_t read_ns; /*   both as of then: with time they count less */
	uint64_t paid_ns; /* until when making room for it counts */
};

/* Whether a file of @size bytes may be read too: then it counts. Else that is said, once. */
bool record_table_owner_may_read(struct table_owner *o, uint64_t size);
/*
 * The table of a file of @size bytes took that much CPU time: what was packed, or has very many
 * sections, costs more than its bytes say.
 */
void record_table_owner_spent(struct table_owner *o, uint64_t size, uint64_t ns);
/* Whether the recording itself may make a table, while everything waits: a second of them. */
bool record_table_owner_may_make(struct table_owner *o);
void record_table_owner_made(struct table_owner *o, uint64_t size, uint64_t ns);
/*
 * Whether room may be made for it: each time everybody waits for walks to end, so that it is a
 * twentieth of the time. Root's is made in any case.
 */
bool record_table_owner_may_evict(const struct table_owner *o);
/* It was, beginning then; or was looked for in vain, which nobody has waited for. */
void record_table_owner_evicted(struct table_owner *o, uint64_t began, bool is_made);

/* Pages, rules and rows in the maps; and keys in that of files, of tables that lie there. */
enum { TABLE_KEYS = 3, TABLE_SHARES };
void record_table_shares_init(struct record_share *shares);
void record_table_shares_free(struct record_share *shares);
void record_table_shares_empty(struct record_share *shares);
/* In which of them there is no room for one more table of that user's, of which @lacking is what it
 * takes. NULL: there is in all. */
struct record_share *record_table_shares_lack(struct record_share *shares, uid_t uid,
					      const struct unwind_table *t, uint64_t *lacking);
/* It lies there, and it is gone. */
void record_table_shares_add(struct record_share *shares, uid_t uid, const struct placed_table *t);
void record_table_shares_give(struct record_share *shares, uid_t uid, const struct placed_table *t);

#endif
