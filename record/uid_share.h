/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What users have of something that is everyone's: places of a map, bytes of names. A user has at
 * most half of what the others have left, so that there is some for one more. Subordinate uids of
 * one range are one user (base/subuid.h); whoever has many uids in another way can leave next to
 * nothing. What root has is beside that: root is denied nothing by others.
 *
 * Where root's lie among the others' there are parts: two of all are kept for root and for what is
 * taken before anybody is asked for, and root may have more if it is there; and one user has at
 * most all but a part of what the others have left, until somebody lacks room while another has
 * more: half from then on.
 */
#ifndef RECORD_UID_SHARE_H
#define RECORD_UID_SHARE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/hash.h"

/* A process that had ended before anybody asked whose it was. */
#define RECORD_UID_UNKNOWN ((uid_t)-1)

struct record_share {
	uint64_t most, all; /* for all users but root, and what they have; root has as much */
	uint32_t parts;	    /* 0: as much beside that; else all of it is for root too */
	bool is_contended;  /* of parts: somebody lacked room while another had more */
	const char *what;   /* "places for layouts of V8" */
	uint32_t said;
	struct hash_map users;
};

struct share_user {
	uid_t uid;
	bool said;
	uint64_t has;
};

#define RECORD_SHARE(most_, what_)                                                                 \
	((struct record_share){                                                                    \
		.most = (most_), .what = (what_), .users = HASH_MAP(struct share_user, uid) })

/* It may have so much more. */
bool record_share_fits(struct record_share *s, uid_t uid, uint64_t size);
/* It may not: that is said, once of a user. */
void record_share_say(struct record_share *s, uid_t uid);
/* It may have so much more; else that is said. */
bool record_share_has_room(struct record_share *s, uid_t uid, uint64_t size);
/* It has so much more, whether it may or not. */
void record_share_add(struct record_share *s, uid_t uid, uint64_t size);
/* It has so much less. */
void record_share_give(struct record_share *s, uid_t uid, uint64_t size);
/* Both; false: it may not, and has not. */
bool record_share_take(struct record_share *s, uid_t uid, uint64_t size);
/* Whose a file is. */
uid_t record_share_owner(int fd);
/* Whose a process is: its real user; RECORD_UID_UNKNOWN: it has ended. */
uid_t record_share_user(uint32_t pid);
/* An eighth of it is taken: before nobody needs to be asked for. */
bool record_share_matters(const struct record_share *s);
/* Who has most, if that is more than what @uid has and so much; 0: nobody has. */
uid_t record_share_larger(struct record_share *s, uid_t uid, uint64_t size);
/* The same, of one with parts: @uid lacks room. If there is one, a user has half of what others
 * left from then on. */
uid_t record_share_contend(struct record_share *s, uid_t uid);
/* Nobody has anything; what was said is not said again. */
void record_share_empty(struct record_share *s);
void record_share_free(struct record_share *s);

#endif
