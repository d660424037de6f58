/* SPDX-License-Identifier: BSD-2-Clause */
/* Shares of the maps, and of the time that it takes to read files. */
#include <rawprof/loader.h>

#include "base/clock.h"
#include "table_owner.h"

#define MOST(all) ((uint64_t)(all) / 4 * 3)
/* So much of a file is read at most: no larger .eh_frame is. That can cost a second, */
#define FILE_BYTES (64ULL << 20)
/*   and of a user's files it is this sum in an hour. */
#define OWNER_BYTES (1ULL << 30)
#define OWNER_SECONDS 3600

static void say(const struct table_owner *o, bool *is_said, const char *what)
{
	if (!*is_said)
		rp_log(RP_WARN,
		       "the files of user %u have %s: "
		       "stacks in more of them go by frame pointers",
		       o->uid, what);
	*is_said = true;
}

/* A bucket that runs out slowly. */
static void let_out(struct table_owner *o, uint64_t now)
{
	const uint64_t seconds = (now - o->read_ns) / NS_PER_SECOND,
		       out = seconds * (OWNER_BYTES / OWNER_SECONDS);

	o->bytes = o->read_ns && o->bytes > out ? o->bytes - out : 0;
	o->read_ns = now;
}

bool record_table_owner_may_read(struct table_owner *o, uint64_t size)
{
	const uint64_t now = rp_monotonic_ns();

	if (size > FILE_BYTES)
		size = FILE_BYTES;
	if (now - o->read_ns >= NS_PER_SECOND)
		let_out(o, now);
	if (o->uid && o->bytes + size > OWNER_BYTES) {
		say(o, &o->time_said, "taken their share of the time for unwind tables");
		return false;
	}
	o->bytes += size;
	return true;
}

bool record_table_owner_has_room(const struct table_owner *o, const struct unwind_table *t)
{
	uint64_t pages = o->pages, rows = o->rows;

	for (uint32_t i = 0; i < t->nparts; i++) {
		pages += t->parts[i].npages + 1;
		rows += t->parts[i].nrows;
	}
	return !o->uid ||
	       (o->rules + t->nrules <= MOST(UNWIND_RULES) && pages <= MOST(UNWIND_PAGES) &&
		rows <= MOST((uint64_t)UNWIND_SHARDS * UNWIND_PART_ROWS));
}

void record_table_owner_say_room(struct table_owner *o)
{
	say(o, &o->room_said, "filled their share of the room for unwind tables");
}

void record_table_owner_add(struct table_owner *o, const struct placed_table *t)
{
	for (uint32_t i = 0; i < t->nparts; i++) {
		o->pages += t->parts[i].npages + 1;
		o->rows += t->parts[i].nrows;
	}
	o->rules += t->nrules;
}

void record_table_owner_remove(struct table_owner *o, const struct placed_table *t)
{
	for (uint32_t i = 0; i < t->nparts; i++) {
		o->pages -= t->parts[i].npages + 1;
		o->rows -= t->parts[i].nrows;
	}
	o->rules -= t->nrules;
}
