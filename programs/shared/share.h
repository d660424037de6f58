/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nobody has all the places of a map whose keys anyone can make up: the addresses of locks, the
 * results of functions. A user has at most seven eighths of what the others have left, as mostly
 * there is one. Root is denied nothing.
 *
 * Who pays is the user of the current task; in a namespace of users who made it, as there a user
 * without rights has 65,536 more, subuid(5). Namespaces in such ones count as one user; so do all
 * subordinate uids that pay themselves, as whoever has them can be outside of a namespace too, by a
 * set-user-ID file of one's own. That one has a place in struct share which no number leads to. But
 * in namespaces that root made, containers, subordinate uids count as one user for each of these.
 */
#ifndef PROGRAMS_SHARED_SHARE_H
#define PROGRAMS_SHARED_SHARE_H

#include "config.h"

/* Users by the lower bits of their numbers: those from 0 to 4,095 have a share of their own. */
#define SHARE_USERS 4096

/* Of one map. All zeroes to begin with, and when that map is emptied. */
struct share {
	uint64_t all;		       /* places that are taken */
	uint64_t has[SHARE_USERS + 1]; /* the last: of who counts as one with others */
};

/* The only element of this map has the shares of so many maps, one behind the other. */
#define SHARE_MAP(maps)                                                                            \
	{                                                                                          \
		"shares", BPF_MAP_TYPE_ARRAY, 4, (maps) * sizeof(struct share), 1                  \
	}

/* R0 = who pays, 32 bits: for the task in R0, or for the current one. R1 to R5 are lost. */
#define SHARE_PAYER_OF() SCOPE("SHARE_PAYER_OF()"), INCLUDE(&rp_share_payer_of_part), END
#define SHARE_PAYER() SCOPE("SHARE_PAYER()"), INCLUDE(&rp_share_payer_part), END
/*
 * Before a new key is put into the map of that number: who pays, in R0, has one more place, or it
 * goes on at the label full. most: the line that sets R2 to how many places there are. R0 to R5 are
 * lost.
 */
#define SHARE_TAKE(number, most, full)                                                             \
	SCOPE("SHARE_TAKE(" #number ", " #most ", " #full ")"),                                    \
		LD_MAP_VALUE(R1, shares, (number) * sizeof(struct share)), most,                   \
		INCLUDE(&rp_share_part), JEQ(R0, 0, full), END
/* The same for the current task. */
#define SHARE_OR(number, most, full)                                                               \
	SCOPE("SHARE_OR(" #number ", " #most ", " #full ")"), INCLUDE(&rp_share_payer_part),       \
		LD_MAP_VALUE(R1, shares, (number) * sizeof(struct share)), most,                   \
		INCLUDE(&rp_share_part), JEQ(R0, 0, full), END
/* A key of it is there no longer: who paid, in R0, has a place again. R0 to R4 are lost. */
#define SHARE_GIVE(number)                                                                         \
	SCOPE("SHARE_GIVE(" #number ")"),                                                          \
		LD_MAP_VALUE(R1, shares, (number) * sizeof(struct share)), MOV(R3, -1),            \
		INCLUDE(&rp_share_add_part), END
/* The same for so many as the register says, one of R5 to R9. */
#define SHARE_GIVE_MANY(number, reg)                                                               \
	SCOPE("SHARE_GIVE_MANY(" #number ", " #reg ")"),                                           \
		LD_MAP_VALUE(R1, shares, (number) * sizeof(struct share)), MOV(R3, 0),             \
		SUB_REG(R3, reg), INCLUDE(&rp_share_add_part), END
/* That many, which another has paid for, are the payer's in R0, who is not asked. */
#define SHARE_ADD_MANY(number, reg)                                                                \
	SCOPE("SHARE_ADD_MANY(" #number ", " #reg ")"),                                            \
		LD_MAP_VALUE(R1, shares, (number) * sizeof(struct share)), MOV_REG(R3, reg),       \
		INCLUDE(&rp_share_add_part), END
extern const struct asm_part rp_share_payer_part, rp_share_payer_of_part, rp_share_part,
	rp_share_add_part;

/* Where a share has the places of who pays. */
static inline uint64_t *share_places(struct share *share, uint32_t payer)
{
	return &share->has[payer == UINT32_MAX ? SHARE_USERS : payer % SHARE_USERS];
}

#endif
