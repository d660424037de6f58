/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/budget.h"

#include "stack_room.h"

enum {
	MOST_BYTES = 512 << 20,
	SLOT_BYTES = 64, /* where it is found, and what it weighs */
	MOST_STAND_INS = 4096,
	MOST_MOVED = 1 << 17, /* twice what the kernel counts by hash */
};

struct moved {
	uint64_t hash, to;
};

void record_stack_room_init(struct stack_room *r, struct record_whose *whose)
{
	const uint64_t most = rp_memory_part(4, MOST_BYTES);

	*r = (struct stack_room){
		.room = { .share = RECORD_SHARE(most, "memory for stacks"),
			  .whose = whose,
			  .free = most / 8 },
		.instead = HASH_MAP(struct moved, hash),
	};
}

void record_stack_room_empty(struct stack_room *r)
{
	record_share_empty(&r->room.share);
	rp_hash_free(&r->instead);
	r->instead = HASH_MAP(struct moved, hash);
	r->room.has_free = 0;
	r->stand_ins = 0;
}

void record_stack_room_free(struct stack_room *r)
{
	record_share_free(&r->room.share);
	rp_hash_free(&r->instead);
}

bool record_stack_room_has(struct stack_room *r, const struct stack_record *record)
{
	const uint32_t pid = (uint32_t)(record->pid_tgid >> 32);
	uid_t payer;

	if (!r->room.whose ||
	    record_room_take(&r->room, pid, record_bytes(record) + SLOT_BYTES, &payer))
		return true;
	r->is_used = true;
	return false;
}

struct stack_record record_stack_of_all(void)
{
	return (struct stack_record){ .hash = 1, .user_end = UNWIND_COMPLETE, .comm = "[others]" };
}

/* Without frames, of the process alone. */
static struct stack_record bare(const struct stack_record *record)
{
	const uint64_t of[] = { record->pid_tgid >> 32, record->tag };
	struct stack_record b = *record;

	b.hash = (uint64_t)rp_hash_bytes(of, sizeof(of)) << 32 | (uint32_t)(of[0] ^ of[1]);
	b.kernel_bytes = b.user_bytes = b.managed_bytes = 0;
	b.kernel_of = 0;
	b.user_end = UNWIND_COMPLETE;
	b.fresh = 0;
	return b;
}

/* A stand-in is in its own place. */
static bool has_place(struct stack_room *r, uint64_t hash, uint32_t most)
{
	struct moved *m = rp_hash_find(&r->instead, &hash);

	if (m || r->stand_ins >= most)
		return m;
	m = rp_hash_add(&r->instead, &hash);
	if (!m)
		return false;
	m->to = hash;
	r->stand_ins++;
	return true;
}

struct stack_record record_stack_instead(struct stack_room *r, const struct stack_record *record)
{
	struct stack_record b = bare(record), all = record_stack_of_all();
	struct moved *m;

	if (!has_place(r, b.hash, MOST_STAND_INS)) {
		all.tag = record->tag; /* a weight of one may be no weight of another */
		b = bare(&all);
		if (!has_place(r, b.hash, 2 * MOST_STAND_INS))
			return record_stack_of_all();
	}
	m = r->instead.count < MOST_MOVED ? rp_hash_add(&r->instead, &record->hash) : NULL;
	if (m)
		m->to = b.hash;
	return b;
}

uint64_t record_stack_moved(const struct stack_room *r, uint64_t hash)
{
	const struct moved *m = r->is_used ? rp_hash_find(&r->instead, &hash) : NULL;

	return m ? m->to : 0;
}
