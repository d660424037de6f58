/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who may compute rules of code in memory, and for how long: whoever makes code makes us work.
 *
 * CPU time that was spent on a user is a debt, which 2 % of the time pays off. Whoever owes too
 * much waits; nobody saves anything up. All users but root owe together as well, and 8 % of the
 * time pays that off: many uids gain no more than that, and root has its own.
 */
#ifndef RECORD_GENERATED_TIME_H
#define RECORD_GENERATED_TIME_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The first is root's. A user without one takes that which owes least, with what it owes: nothing
 * mostly, and never much, as all together cannot owe much.
 */
#define GENERATED_USERS 33

/* Zeroes at the beginning. */
struct generated_time {
	struct generated_debt {
		uint64_t paid_ns; /* when it is paid off */
		uint32_t uid;
	} of[GENERATED_USERS];
	uint64_t all_paid_ns;
	bool is_named; /* of processes that were named, which may owe twelve times as much */
};

/*
 * What the user owes and half of what all owe are less than 200 ms: at once root has 200 ms, one
 * user alone 133, and all of them 400.
 */
bool record_generated_has_time(struct generated_time *t, uint32_t uid, uint64_t now);
/* Nobody owes anything: everybody has time. */
bool record_generated_is_paid(const struct generated_time *t, uint64_t now);
void record_generated_spent(struct generated_time *t, uint32_t uid, uint64_t now, uint64_t spent);

#endif
