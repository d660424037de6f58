/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables of files that nobody maps any more make room for others:
 *
 *	mark	the parts that published processes have ranges of (users)
 *	choose	of the others those that were asked for longest ago
 *	cut	nothing leads to them: neither the map of files nor what children have inherited
 *	wait	for the walks that began before
 *	give	their places to others
 */
#include <stdlib.h>

#include <rawprof/loader.h>
#include "base/clock.h"
#include "base/grow.h"
#include "base/id_set.h"

#include "table_evict.h"
#include "table_files.h"

/* Which file has the part of this index. */
struct table_mark {
	uint32_t index;
	bool *is_used;
};

static int by_index(const void *a, const void *b)
{
	const struct table_mark *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

static int add_marks(struct record_table_store *s, struct stored_file *file)
{
	int err = 0;

	file->is_used = false;
	for (uint32_t i = 0; i < file->table.nparts && !err; i++)
		err = RP_PUSH(s->marks, s->nmarks, s->marks_capacity,
			      (struct table_mark){ file->table.parts[i].index, &file->is_used });
	return err;
}

void record_table_store_mark(struct record_table_store *s, uint32_t index)
{
	const struct table_mark key = { .index = index };
	const struct table_mark *m =
		s->nmarks ? bsearch(&key, s->marks, s->nmarks, sizeof(key), by_index) : NULL;

	if (m)
		*m->is_used = true;
}

static int find_used(struct record_table_store *s)
{
	int err = 0;

	s->nmarks = 0;
	for (uint32_t i = 0; i < s->files.count && !err; i++)
		err = add_marks(s, table_file_at(s, i));
	for (size_t i = 0; i < s->nretired && !err; i++)
		err = add_marks(s, &s->retired[i]);
	if (err)
		return err;
	if (s->nmarks)
		qsort(s->marks, s->nmarks, sizeof(*s->marks), by_index);
	err = s->users(s->users_ctx, s);
	s->nmarks = 0;
	return err;
}

/* ---- which go */

struct choice {
	int which; /* EVICT_ALL and so on */
	uid_t uid;
	uint64_t until; /* asked for no later */
};

static bool may_go(const struct stored_file *file, const struct choice *c)
{
	if (file->is_used || file->state == STORED_ORDERED ||
	    (c->which & EVICT_OF_USER && file->uid != c->uid))
		return false;
	return c->which & EVICT_WITH_KEYS ? file->nkeys : !c->which || file->table.nparts;
}

static bool goes(const struct stored_file *file, const struct choice *c)
{
	return may_go(file, c) && file->used_ns <= c->until;
}

static int by_time(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* False: none may go, or there is no memory. */
static bool choose_older_half(const struct record_table_store *s, struct choice *c)
{
	uint64_t *used = malloc((s->files.count + s->nretired + 1) * sizeof(*used));
	size_t n = 0;

	if (!used)
		return false;
	for (uint32_t i = 0; i < s->files.count; i++)
		if (may_go(table_file_at(s, i), c))
			used[n++] = table_file_at(s, i)->used_ns;
	for (size_t i = 0; i < s->nretired; i++)
		if (may_go(&s->retired[i], c))
			used[n++] = s->retired[i].used_ns;
	qsort(used, n, sizeof(*used), by_time);
	c->until = n ? used[(n - 1) / 2] : 0;
	free(used);
	return n;
}

/* ---- and how */

static void unplace(struct record_table_store *s, struct stored_file *file)
{
	record_table_shares_give(s->shares, file->uid, &file->table);
	record_table_unplace(&s->places, &file->table);
}

static bool file_stays(void *ctx, void *entry)
{
	struct stored_file *file = entry;

	if (file->is_used)
		return true;
	unplace(ctx, file);
	record_table_free_file(file);
	return false;
}

static void drop_retired(struct record_table_store *s, const struct choice *c)
{
	size_t left = 0;

	for (size_t i = 0; i < s->nretired; i++) {
		if (goes(&s->retired[i], c)) {
			unplace(s, &s->retired[i]);
			record_table_free_file(&s->retired[i]);
		} else {
			s->retired[left++] = s->retired[i];
		}
	}
	s->nretired = left;
}

static bool evict(struct record_table_store *s, int which, uid_t uid)
{
	struct choice c = { .which = which, .uid = uid };

	if (!s->users || find_used(s) || !choose_older_half(s, &c))
		return false;
	for (uint32_t i = 0; i < s->files.count; i++) {
		struct stored_file *file = table_file_at(s, i);

		file->is_used = !goes(file, &c);
		if (!file->is_used)
			record_table_forget_keys(s, file);
	}
	rp_quiesce();
	rp_hash_keep(&s->files, file_stays, s);
	drop_retired(s, &c);
	return true;
}

bool record_table_may_evict(struct record_table_store *s, uid_t payer)
{
	const struct table_owner *o = rp_hash_add(&s->owners, &(uint32_t){ payer });

	return o && record_table_owner_may_evict(o);
}

bool record_table_evict(struct record_table_store *s, uid_t payer, int which, uid_t uid)
{
	struct table_owner *o = rp_hash_add(&s->owners, &(uint32_t){ payer });
	const uint64_t began = rp_monotonic_ns();
	bool any;

	if (!s->users || !o || !record_table_owner_may_evict(o))
		return false;
	any = evict(s, which, uid);
	record_table_owner_evicted(o, began, any);
	return any;
}

void record_table_store_forget_older(struct record_table_store *s, const struct id_set *uids)
{
	for (uint32_t i = 0; i < rp_id_set_count(uids); i++)
		record_table_evict(s, 0, EVICT_OF_USER, (uid_t)rp_id_set_at(uids, i));
	for (uint32_t i = 0; i < s->files.count; i++) {
		struct stored_file *file = table_file_at(s, i);

		if (file->state == STORED_NO_SHARE && rp_id_set_has(uids, file->uid))
			file->used_ns = 0; /* there is some now */
	}
}
