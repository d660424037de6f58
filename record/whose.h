/* SPDX-License-Identifier: BSD-2-Clause */
/* Who pays for what a process causes: asked often, of processes that may be gone by then. */
#ifndef RECORD_WHOSE_H
#define RECORD_WHOSE_H

#include "uid_share.h"

/* What was found out in the last second, and before, of so many at most. */
enum { WHOSE_MOST = 65536 };
struct known_whose {
	uint32_t pid;
	uid_t uid;
	uint64_t at_ns;
};
/* All zeroes to begin with. */
struct record_whose {
	struct hash_map known;
};

/* 0: root or us, who do not pay; RECORD_UID_UNKNOWN: it has ended. */
uid_t record_payer(uint32_t pid);
/* The same, or what it was in the last second. */
uid_t record_whose(struct record_whose *w, uint32_t pid);
/* It is so now, and the next second. */
void record_whose_know(struct record_whose *w, uint32_t pid, uid_t uid);
void record_whose_free(struct record_whose *w);

/* A share after so many bytes for which nobody pays, so that most recordings ask nobody's user. */
struct record_room {
	struct record_share share;
	struct record_whose *whose; /* the caller's */
	uint64_t free, has_free;    /* such bytes: all, and those that are taken */
};

/* @payer: who has it; 0: nobody who pays. False: there is no room, which is said. */
bool record_room_take(struct record_room *r, uint32_t pid, uint64_t size, uid_t *payer);

#endif
