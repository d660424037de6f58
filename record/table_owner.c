/* SPDX-License-Identifier: BSD-2-Clause */
/* Shares of the maps, and of the time that it takes to read files. */
#include <rawprof/loader.h>

#include "base/clock.h"
#include "table_owner.h"

/* So much of a file is read at most: no larger .eh_frame is. That can cost a second, */
#define FILE_BYTES (64ULL << 20)
/*   and of a user's files it is this sum in an hour. */
#define OWNER_BYTES (1ULL << 30)
#define OWNER_SECONDS 3600
#define BYTE_NS 16 /* of CPU time, at least: 64 MB a second */

#define HERE_NS NS_PER_SECOND
#define HERE_PART 50 /* comes back, of the time */

/* Room is made so often at once; and each time counts at least so long. */
#define EVICT_TIMES 10
#define EVICT_NS (20 * NS_PER_SECOND / 1000)
#define EVICT_PART 20

static void say_time(struct table_owner *o)
{
	if (!o->time_said)
		rp_log(RP_WARN,
		       "the files of user %u have taken their share of the time for unwind tables: "
		       "stacks in more of them go by frame pointers",
		       o->uid);
	o->time_said = true;
}

/* A bucket that runs out slowly. */
static void let_out(struct table_owner *o, uint64_t now)
{
	const uint64_t seconds = (now - o->read_ns) / NS_PER_SECOND,
		       out = seconds * (OWNER_BYTES / OWNER_SECONDS),
		       back = (now - o->read_ns) / HERE_PART;

	o->bytes = o->read_ns && o->bytes > out ? o->bytes - out : 0;
	o->here_ns = o->here_ns > back ? o->here_ns - back : 0;
	o->read_ns = now;
}

static void let_out_at_times(struct table_owner *o)
{
	const uint64_t now = rp_monotonic_ns();

	if (now - o->read_ns >= NS_PER_SECOND)
		let_out(o, now);
}

bool record_table_owner_may_read(struct table_owner *o, uint64_t size)
{
	if (size > FILE_BYTES)
		size = FILE_BYTES;
	let_out_at_times(o);
	if (o->uid && o->bytes + size > OWNER_BYTES) {
		say_time(o);
		return false;
	}
	o->bytes += size;
	return true;
}

void record_table_owner_spent(struct table_owner *o, uint64_t size, uint64_t ns)
{
	if (size > FILE_BYTES)
		size = FILE_BYTES;
	if (ns / BYTE_NS > size)
		o->bytes += ns / BYTE_NS - size;
}

bool record_table_owner_may_make(struct table_owner *o)
{
	let_out_at_times(o);
	if (!o->uid || (o->here_ns < HERE_NS && o->bytes < OWNER_BYTES))
		return true;
	say_time(o);
	return false;
}

void record_table_owner_made(struct table_owner *o, uint64_t size, uint64_t ns)
{
	o->here_ns += ns;
	record_table_owner_spent(o, size, ns);
}

bool record_table_owner_may_evict(const struct table_owner *o)
{
	return !o->uid || o->paid_ns < rp_monotonic_ns() + EVICT_TIMES * EVICT_NS * EVICT_PART;
}

void record_table_owner_evicted(struct table_owner *o, uint64_t began, bool is_made)
{
	const uint64_t now = rp_monotonic_ns(), took = now - began,
		       least = is_made ? EVICT_NS : EVICT_NS / 2;

	if (o->paid_ns < now)
		o->paid_ns = now;
	o->paid_ns += (took > least ? took : least) * EVICT_PART;
}

/* ---- room */

void record_table_shares_init(struct record_share *shares)
{
	static const uint64_t most[TABLE_SHARES] = { UNWIND_PAGES, UNWIND_RULES,
						     (uint64_t)UNWIND_SHARDS * UNWIND_PART_ROWS,
						     UNWIND_FILES };

	for (int i = 0; i < TABLE_SHARES; i++) {
		shares[i] = RECORD_SHARE(most[i], "room for unwind tables");
		shares[i].parts = 8; /* one user's, of a machine that is its own, are most */
	}
	shares[TABLE_KEYS].what = "files that new processes are walked by";
}

void record_table_shares_free(struct record_share *shares)
{
	for (int i = 0; i < TABLE_SHARES; i++)
		record_share_free(&shares[i]);
}

void record_table_shares_empty(struct record_share *shares)
{
	for (int i = 0; i < TABLE_SHARES; i++)
		record_share_empty(&shares[i]);
}

struct record_share *record_table_shares_lack(struct record_share *shares, uid_t uid,
					      const struct unwind_table *t, uint64_t *lacking)
{
	uint64_t size[TABLE_KEYS] = { 0, t->nrules, 0 };

	for (uint32_t i = 0; i < t->nparts; i++) {
		size[0] += t->parts[i].npages + 1;
		size[2] += t->parts[i].nrows;
	}
	for (int i = 0; i < TABLE_KEYS; i++)
		if (!record_share_fits(&shares[i], uid, size[i])) {
			*lacking = size[i];
			return &shares[i];
		}
	return NULL;
}

static void count_table(struct record_share *shares, uid_t uid, const struct placed_table *t,
			void (*to)(struct record_share *s, uid_t uid, uint64_t size))
{
	for (uint32_t i = 0; i < t->nparts; i++) {
		to(&shares[0], uid, t->parts[i].npages + 1);
		to(&shares[2], uid, t->parts[i].nrows);
	}
	to(&shares[1], uid, t->nrules);
}

void record_table_shares_add(struct record_share *shares, uid_t uid, const struct placed_table *t)
{
	count_table(shares, uid, t, record_share_add);
}

void record_table_shares_give(struct record_share *shares, uid_t uid, const struct placed_table *t)
{
	count_table(shares, uid, t, record_share_give);
}
