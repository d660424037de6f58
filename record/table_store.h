/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind tables of files, in the maps where the BPF program reads them. Each file is digested once,
 * however many processes map it, and stays until there is no room for others: then those go that no
 * process is walked by, the ones first that were asked for longest ago.
 */
#ifndef RECORD_TABLE_STORE_H
#define RECORD_TABLE_STORE_H

#include <sys/types.h>
#include <time.h>

#include "table_loads.h"
#include "table_place.h"

enum stored_state {
	STORED,		 /* as it is: it has a table or none */
	STORED_ORDERED,	 /* its table, or a better one, is being made */
	STORED_NOT_YET,	 /* so it should be, but too many were */
	STORED_NO_ROOM,	 /* there was none for its table, */
	STORED_NO_SHARE, /*   or none for this user's */
};

struct stored_file {
	dev_t dev;
	ino_t inode;
	off_t size;
	struct timespec changed;   /* all above: its key */
	struct stored_load *loads; /* none: it is no ELF file of this machine */
	uint32_t nloads;
	uid_t uid; /* who pays for its room; 0: nobody */
	struct placed_table table;
	struct unwind_rule jumped_to; /* of the table */
	enum stored_state state;
	uint64_t order;	  /* which number it has, being made */
	uint64_t used_ns; /* when it was asked for last */
	uint32_t nkeys;	  /* that lead to it in the map of files; */
	bool lacks_keys;  /*   there was no room for any */
	bool is_computed; /* rules for code without an FDE were asked for */
	bool is_used;	  /* while room is made: it stays */
};

struct record_table_store;
struct record_table_maker;

/* Descriptors of the maps, which stay the caller's. 0 or a negative errno after a message. */
struct record_table_store_maps {
	int index, rules, rows;
	int files; /* -1: processes are walked only once they have been read */
};
int record_table_store_open(struct record_table_store **out,
			    const struct record_table_store_maps *maps);
/* @keeper puts tables into the cache, NULL: this process. */
struct record_keeper;
void record_table_store_kept_by(struct record_table_store *s, struct record_keeper *keeper);
/*
 * From now on they are made beside, by threads, and are there a moment after they were asked for. 0
 * or a negative errno: they are not.
 */
int record_table_store_make_beside(struct record_table_store *s);
/* Can be read from when something was made; -1: nothing is. */
int record_table_store_fd(const struct record_table_store *s);
void record_table_store_close(struct record_table_store *s);

/*
 * Asked when there is no room: record_table_store_mark() of each part, by its index, that a walk
 * may use from now on. All else may go once no walk is under way that began before. Nothing goes
 * without it, or if it fails. Users whose share is full are added to @over.
 */
struct id_set;
typedef int record_table_users(void *ctx, struct record_table_store *s);
void record_table_store_used_by(struct record_table_store *s, record_table_users *users, void *ctx,
				struct id_set *over);
void record_table_store_mark(struct record_table_store *s, uint32_t index);
struct record_share;
/* @share has no room for @uid, who is over; and so is who has most of it, if that is more. */
void record_table_store_lacks(struct record_table_store *s, struct record_share *share, uid_t uid);
/* So much of the maps is taken that it matters who pays. */
bool record_table_store_share_matters(const struct record_table_store *s);
/*
 * For whose process files are asked for from now on, 0: one that nobody pays for. It pays for
 * root's that are new, until one is asked for by whom nobody pays for.
 */
void record_table_store_asked_by(struct record_table_store *s, uid_t uid);
/* Of what each of these users pays for and no walk uses the older half goes. */
void record_table_store_forget_older(struct record_table_store *s, const struct id_set *uids);

/*
 * The file open as fd, digested if it is new, or if @is_computed, and it was not: with rules for
 * code without an FDE. NULL without memory. It lives until the next call.
 */
const struct stored_file *record_table_store_file(struct record_table_store *s, int fd,
						  bool is_computed);
/*
 * What is no file has a table too: @t, which stays the caller's, by a key that is like a file's of
 * device 0: st_ino, st_size, st_ctim; st_uid: its owner. NULL: there is no memory.
 */
struct unwind_table;
struct stat;
const struct stored_file *record_table_store_made(struct record_table_store *s,
						  const struct stat *key,
						  const struct unwind_table *t);
/* A file that was asked for before, by what stat(2) says of it; NULL if it is new. */
const struct stored_file *record_table_store_known(struct record_table_store *s,
						   const struct stat *st);
/* It had no table for a reason that may have passed: worth another record_table_store_file(). */
bool record_table_store_try_again(const struct stored_file *file);
/* It is waited for: those that are not come later. */
void record_table_store_hurry(struct record_table_store *s, const struct stored_file *file);
/* Its table, or a better one, is being made. */
bool record_table_store_waits(const struct stored_file *file);
/* Tables are being made, other than those with computed rules, which take longer. */
bool record_table_store_is_busy(const struct record_table_store *s);
/* Such are. */
bool record_table_store_computes(const struct record_table_store *s);
/* Places what was made meanwhile. False: nothing was. */
bool record_table_store_collect(struct record_table_store *s);
/* A table was not placed for want of room. */
bool record_table_store_is_full(const struct record_table_store *s);
/* Forgets all tables; no walk may use them any more. */
void record_table_store_forget(struct record_table_store *s);
/*
 * Made, or taken from the cache, for the caller. As unwind_cache_table(); @with_computed: with what
 * was computed, however long it takes to see that it is of the same code. -EDQUOT: its owner has
 * had a second of the time that this takes (table_owner.h).
 */
int record_table_store_table(struct record_table_store *s, int fd, bool with_computed,
			     struct unwind_table **out);
/* The vdso, whose image every process shares. */
const struct stored_file *record_table_store_vdso(struct record_table_store *s);

#endif
