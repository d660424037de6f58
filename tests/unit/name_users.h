/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes whose names are kept, and how much of a user's share they take. */
#ifndef TESTS_NAME_USERS_H
#define TESTS_NAME_USERS_H

#include <check.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/name_share.h"

#define MB (1u << 20)

/* A process of this user that does nothing. */
static inline pid_t begin_process(void)
{
	const pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (!pid)
		for (;;)
			pause();
	return pid;
}

static inline void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Names of some process of the user take so much more. */
static inline void fill_share(struct name_share *share, uid_t uid, uint64_t bytes)
{
	struct name_account a = { .share = share, .uid = uid };

	record_name_add(&a, bytes);
}

static inline bool has_room(struct name_share *share, uid_t uid, uint64_t bytes)
{
	const struct name_account a = { .share = share, .uid = uid };

	return record_name_has_room(&a, bytes);
}

/* How many bytes more a user may have. */
static inline uint64_t room_of(struct name_share *share, uid_t uid)
{
	uint64_t low = 0, high = 512 * MB;

	while (low < high) {
		const uint64_t middle = (low + high + 1) / 2;

		if (has_room(share, uid, middle))
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* There is much, and then the process ends: what it had is forgotten, two windows later. */
static inline void end_and_settle(struct name_share *share, pid_t pid)
{
	fill_share(share, RECORD_UID_UNKNOWN, 64 * MB);
	ck_assert(!record_name_share_settle(share));
	end_process(pid);
	ck_assert(!record_name_share_settle(share));
	ck_assert(record_name_share_settle(share));
}

#endif
