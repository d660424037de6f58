/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/budget.h"

#include "file_room.h"

enum {
	MOST_BYTES = 64 << 20, /* some 150,000 files with long names, of all users but root */
	FREE_BYTES = 4 << 20,
};

void record_file_room_init(struct record_room *r, struct record_whose *whose)
{
	*r = (struct record_room){
		.share = RECORD_SHARE(rp_memory_part(16, MOST_BYTES),
				      "memory for files that processes map"),
		.whose = whose,
		.free = FREE_BYTES,
	};
}

static bool take(void *room, uint32_t pid, size_t bytes, uid_t *payer)
{
	return record_room_take(room, pid, bytes, payer);
}

static void give(void *room, uid_t payer, size_t bytes)
{
	struct record_room *r = room;

	record_share_give(&r->share, payer, bytes);
}

struct sym_user_room record_file_room(struct record_room *r)
{
	return (struct sym_user_room){ .take = take, .give = give, .ctx = r };
}
