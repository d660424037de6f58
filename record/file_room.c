/* SPDX-License-Identifier: BSD-2-Clause */
#include "file_room.h"

enum {
	MOST_BYTES = 64 << 20, /* some 150,000 files with long names, of all users but root */
	FREE_BYTES = 4 << 20,
};

void record_file_room_init(struct record_file_room *r, struct record_whose *whose)
{
	*r = (struct record_file_room){
		.share = RECORD_SHARE(MOST_BYTES, "memory for files that processes map"),
		.whose = whose,
	};
}

void record_file_room_free(struct record_file_room *r)
{
	record_share_free(&r->share);
}

static bool take(void *room, uint32_t pid, size_t bytes, uid_t *payer)
{
	struct record_file_room *r = room;

	*payer = 0;
	if (r->free_bytes < FREE_BYTES) {
		r->free_bytes += bytes;
		return true;
	}
	*payer = record_whose(r->whose, pid);
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
