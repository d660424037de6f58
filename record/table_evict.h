/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the halves of the store: what it has (table_store.c), what goes (table_evict.c). */
#ifndef RECORD_TABLE_EVICT_H
#define RECORD_TABLE_EVICT_H

#include "base/hash.h"
#include "table_owner.h"
#include "table_store.h"

struct record_table_store {
	int files_fd;
	uint32_t nkeys; /* in the map of files */
	struct table_places places;
	struct hash_map files; /* struct stored_file, by its key */
	/* Files whose table another one has replaced, which walks may use yet; without loads. */
	struct stored_file *retired;
	size_t nretired, retired_capacity;
	struct stored_file vdso;
	bool vdso_tried;
	struct unwind_cache *cache;	  /* NULL: none */
	struct record_table_maker *maker; /* NULL: tables are made here and now */
	uint64_t norders;
	uint32_t npending;	/* orders that are no computed ones; */
	uint32_t ncomputing;	/*   and those that are */
	bool was_too_busy;	/* some were turned away since tables were collected last */
	struct hash_map owners; /* struct table_owner, by uid */
	struct record_share shares[TABLE_SHARES];
	uid_t asker; /* who pays for what is root's from now on; 0: nobody */
	record_table_users *users;
	void *users_ctx;
	struct id_set *over;	  /* to which users are added who have no room */
	struct table_mark *marks; /* while users() is asked, by index */
	size_t nmarks, marks_capacity;
	bool is_full, full_said;
	uint64_t free_ns; /* when room was made last that nobody pays for */
};

#define TABLE_FILES HASH_MAP(struct stored_file, changed)

static inline struct stored_file *table_file_at(const struct record_table_store *s, uint32_t i)
{
	return (struct stored_file *)s->files.items + i;
}

/* Its keys are not in the map of files any more; and its memory is freed. */
void record_table_forget_keys(struct record_table_store *s, struct stored_file *file);
void record_table_free_file(struct stored_file *file);
/* Room may be made for @payer now, who else has to wait. */
bool record_table_may_evict(struct record_table_store *s, uid_t payer);
/* Which files may go: all, or a user's that have a table; or of either those that have keys. */
enum { EVICT_ALL, EVICT_OF_USER = 1, EVICT_WITH_KEYS = 2 };
/*
 * For @payer the older half of the files that no walk will use goes, of those that @which says;
 * pointers to files hold no longer. False: there were none, or it has to wait.
 */
bool record_table_evict(struct record_table_store *s, uid_t payer, int which, uid_t uid);

#endif
