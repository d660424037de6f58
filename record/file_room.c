/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/clock.h"
#include "symbolize/others.h"

#include "file_room.h"

enum {
	MOST_BYTES = 64 << 20, /* some 150,000 files with long names, of all users but root */
	FREE_BYTES = 4 << 20,
	ASKED_NS = NS_PER_SECOND / 10,
};

void record_file_room_init(struct record_file_room *r)
{
	*r = (struct record_file_room){
		.share = RECORD_SHARE(MOST_BYTES, "memory for files that processes map"),
	};
}

void record_file_room_free(struct record_file_room *r)
{
	record_share_free(&r->share);
}

/* 0: nobody's who has to pay. */
static uid_t whose(struct record_file_room *r, uint32_t pid)
{
	const uint64_t now = rp_monotonic_ns();
	const uint32_t i = pid % FILE_ROOM_ASKED;
	uid_t uid;

	if (r->asked[i].pid == pid && now - r->asked[i].at_ns < ASKED_NS)
		return r->asked[i].uid;
	uid = record_share_user(pid);
	if (sym_is_ours(uid))
		uid = 0;
	r->asked[i].pid = pid;
	r->asked[i].uid = uid;
	r->asked[i].at_ns = now;
	return uid;
}

static bool take(void *room, uint32_t pid, size_t bytes, uid_t *payer)
{
	struct record_file_room *r = room;

	*payer = 0;
	if (r->free_bytes < FREE_BYTES) {
		r->free_bytes += bytes;
		return true;
	}
	*payer = whose(r, pid);
	return !*payer || record_share_take(&r->share, *payer, bytes);
}

static void give(void *room, uid_t payer, size_t bytes)
{
	struct record_file_room *r = room;

	record_share_give(&r->share, payer, bytes);
}

struct sym_user_room record_file_room(struct record_file_room *r)
{
	return (struct sym_user_room){ .take = take, .give = give, .ctx = r };
}
