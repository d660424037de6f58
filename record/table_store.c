/* SPDX-License-Identifier: BSD-2-Clause */
/* Unwind tables in the maps: each file's once, for all processes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rawprof/loader.h>
#include "base/clock.h"
#include "base/grow.h"
#include "base/id_set.h"
#include "base/lack.h"
#include "base/subuid.h"
#include "symbolize/proc.h"

#include "table_evict.h"
#include "table_files.h"
#include "table_keeper.h"
#include "table_maker.h"

/* What found no room is tried again after so long. */
#define ROOM_NS (10 * NS_PER_SECOND)

/* Those that nothing leads to, for want of room, take memory too. */
#define MOST_FILES (4 * UNWIND_FILES)

int record_table_store_open(struct record_table_store **out,
			    const struct record_table_store_maps *maps)
{
	struct record_table_store *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->files_fd = maps->files;
	s->places.index = maps->index;
	s->places.rules = maps->rules;
	s->places.rows = maps->rows;
	s->files = TABLE_FILES;
	s->owners = HASH_MAP(struct table_owner, uid);
	record_table_shares_init(s->shares);
	if (record_table_places_open(&s->places)) {
		record_table_store_close(s);
		return -ENOMEM;
	}
	if (unwind_cache_open(&s->cache, NULL, 0))
		s->cache = NULL;
	*out = s;
	return 0;
}

void record_table_free_file(struct stored_file *file)
{
	free(file->loads);
	free(file->table.parts);
	*file = (struct stored_file){ 0 };
}

static void count_keys(struct record_table_store *s, struct stored_file *file, uint32_t nkeys)
{
	record_share_give(&s->shares[TABLE_KEYS], file->uid, file->nkeys);
	record_share_add(&s->shares[TABLE_KEYS], file->uid, nkeys);
	s->nkeys = s->nkeys - file->nkeys + nkeys;
	file->nkeys = nkeys;
}

void record_table_forget_keys(struct record_table_store *s, struct stored_file *file)
{
	if (file->nkeys)
		record_table_files_remove(s->files_fd, file);
	count_keys(s, file, 0);
}

void record_table_store_forget(struct record_table_store *s)
{
	for (uint32_t i = 0; i < s->files.count; i++) {
		record_table_forget_keys(s, table_file_at(s, i));
		record_table_free_file(table_file_at(s, i));
	}
	rp_hash_free(&s->files);
	for (size_t i = 0; i < s->nretired; i++)
		record_table_free_file(&s->retired[i]);
	s->nretired = 0;
	record_table_free_file(&s->vdso);
	s->vdso_tried = false;
	/* What was read, and said, is not undone. */
	record_table_shares_empty(s->shares);
	/* Without memory there is less room than there could be. */
	s->is_full = record_table_places_open(&s->places) != 0;
}

bool record_table_store_is_full(const struct record_table_store *s)
{
	return s->is_full;
}

void record_table_store_kept_by(struct record_table_store *s, struct record_keeper *keeper)
{
	if (s->cache)
		record_tables_kept_by(s->cache, keeper);
}

void record_table_store_used_by(struct record_table_store *s, record_table_users *users, void *ctx,
				struct id_set *over)
{
	s->users = users;
	s->users_ctx = ctx;
	s->over = over;
}

bool record_table_store_share_matters(const struct record_table_store *s)
{
	bool matters = false;

	for (int i = 0; i < TABLE_SHARES; i++)
		matters |= record_share_matters(&s->shares[i]);
	return matters;
}

void record_table_store_asked_by(struct record_table_store *s, uid_t uid)
{
	s->asker = uid;
}

int record_table_store_make_beside(struct record_table_store *s)
{
	return s->maker ? 0 : record_table_maker_open(&s->maker, s->cache);
}

int record_table_store_fd(const struct record_table_store *s)
{
	return s->maker ? record_table_maker_fd(s->maker) : -1;
}

void record_table_store_close(struct record_table_store *s)
{
	if (!s)
		return;
	record_table_maker_close(s->maker);
	for (uint32_t i = 0; i < s->files.count; i++)
		table_file_at(s, i)->nkeys = 0; /* the map ends with us */
	record_table_store_forget(s);
	record_table_places_close(&s->places);
	rp_hash_free(&s->owners);
	record_table_shares_free(s->shares);
	free(s->retired);
	free(s->marks);
	if (s->cache)
		unwind_cache_close(s->cache);
	free(s);
}

/* ---- a table into the maps */

static uid_t payer_of(const struct record_table_store *s, const struct stat *st)
{
	const uid_t owner = rp_subuid_first(st->st_uid);

	return owner ? owner : s->asker;
}

/* The first who asked, of those who pay; with a table or keys, until nobody has to. */
static void pays(struct record_table_store *s, struct stored_file *file, uid_t payer)
{
	const uint32_t nkeys = file->nkeys;

	if (file->uid == payer || (payer && (file->table.nparts || nkeys)))
		return;
	record_table_shares_give(s->shares, file->uid, &file->table);
	count_keys(s, file, 0);
	file->uid = payer;
	record_table_shares_add(s->shares, payer, &file->table);
	count_keys(s, file, nkeys);
}

static void say_full(struct record_table_store *s, int err)
{
	if (!s->full_said)
		rp_log(RP_WARN,
		       "no room for more unwind tables (%s): "
		       "other programs' stacks go by frame pointers",
		       strerror(-err));
	s->full_said = true;
}

void record_table_store_lacks(struct record_table_store *s, struct record_share *share, uid_t uid)
{
	const uid_t largest = record_share_contend(share, uid);

	if (!s->over)
		return;
	rp_id_set_add(s->over, uid);
	if (largest)
		rp_id_set_add(s->over, largest);
}

/* Of the user's own files, or of those of whoever would have more than the user has then. */
static bool evict_for(struct record_table_store *s, struct record_share *lacks, uid_t uid,
		      uint64_t size, int which)
{
	const uid_t largest = record_share_larger(lacks, uid, size);

	which |= EVICT_OF_USER;
	return record_table_evict(s, uid, which, uid) ||
	       (largest && record_table_evict(s, uid, which, largest));
}

/* Files that no walk needs go for it, if need be: pointers to files hold no longer. */
static int place(struct record_table_store *s, const struct unwind_table *t, uid_t uid,
		 struct placed_table *out)
{
	struct record_share *lacks;
	uint64_t size;
	int err;

	while ((lacks = record_table_shares_lack(s->shares, uid, t, &size)))
		if (!evict_for(s, lacks, uid, size, EVICT_ALL)) {
			record_share_say(lacks, uid);
			record_table_store_lacks(s, lacks, uid);
			return -EDQUOT;
		}
	do
		err = record_table_place(&s->places, t, out);
	while (err == -ENOSPC && record_table_evict(s, uid, EVICT_ALL, 0));
	if (err == -ENOSPC && !record_table_may_evict(s, uid))
		return -EDQUOT;
	s->is_full = err == -ENOSPC;
	if (err)
		say_full(s, err);
	else
		record_table_shares_add(s->shares, uid, out);
	return err;
}

/* Walks go on by the old one until there is need of its place. */
static void retire(struct record_table_store *s, const struct stored_file *file)
{
	const struct stored_file old = { .uid = file->uid, .table = file->table };

	if (!file->table.nparts)
		return;
	if (RP_PUSH(s->retired, s->nretired, s->retired_capacity, old))
		free(file->table.parts); /* its place is lost */
}

/* ---- keys */

/* Those that it has go on, to the table that it has now. */
static bool has_key_room(struct record_table_store *s, const struct stored_file *file)
{
	return s->files_fd < 0 || file->nkeys ||
	       (s->nkeys + file->nloads <= UNWIND_FILES &&
		record_share_fits(&s->shares[TABLE_KEYS], file->uid, file->nloads));
}

static void lead_to(struct record_table_store *s, struct stored_file *file)
{
	uint32_t nkeys;

	file->lacks_keys = !has_key_room(s, file);
	if (file->lacks_keys)
		return;
	nkeys = record_table_files_put(s->files_fd, file);
	if (nkeys < file->nkeys) { /* the others would lead to the old table, whose place goes */
		record_table_files_remove(s->files_fd, file);
		nkeys = 0;
	}
	count_keys(s, file, nkeys);
}

/* As others wait for it, seldom; a user pays for it, too. */
static void evict_at_times(struct record_table_store *s, uid_t uid, int which)
{
	const uint64_t now = rp_monotonic_ns();

	if (!uid && now - s->free_ns < NS_PER_SECOND)
		return;
	if (!uid)
		s->free_ns = now;
	record_table_evict(s, uid, which, 0);
}

/* If that was not enough it is led to later: record_table_store_known(). */
static void make_key_room(struct record_table_store *s, const struct stored_file *file)
{
	struct record_share *keys = &s->shares[TABLE_KEYS];
	uid_t largest;

	if (has_key_room(s, file))
		return;
	if (record_share_fits(keys, file->uid, file->nloads)) {
		evict_at_times(s, file->uid, EVICT_WITH_KEYS);
	} else if (!evict_for(s, keys, file->uid, file->nloads, EVICT_WITH_KEYS)) {
		record_share_say(keys, file->uid);
		largest = record_share_contend(keys, file->uid);
		if (largest && s->over)
			rp_id_set_add(s->over, largest);
	}
}

/* The file that was ordered by this number has this table, or none: NULL. */
static struct stored_file *settle(struct record_table_store *s, const struct stored_file *key,
				  const struct unwind_table *t)
{
	const struct stored_file wanted = *key; /* it moves */
	struct placed_table placed = { 0 };
	struct stored_file *file;
	int err = t ? place(s, t, wanted.uid, &placed) : 0;

	if (s->files.count > MOST_FILES)
		evict_at_times(s, wanted.uid, EVICT_ALL);
	if (!err || wanted.table.nparts)
		make_key_room(s, &wanted);
	file = rp_hash_find(&s->files, &wanted);
	if (!file)
		return NULL;
	file->state = err == -EDQUOT ? STORED_NO_SHARE : err ? STORED_NO_ROOM : STORED;
	file->used_ns = rp_monotonic_ns();
	if (t && placed.nparts) {
		retire(s, file);
		file->table = placed;
		file->jumped_to = t->jumped_to;
	}
	if (s->files_fd >= 0 && !(err && !file->table.nparts))
		lead_to(s, file);
	return file;
}

/* ---- files */

static struct stored_file key_of(const struct stat *st)
{
	return (struct stored_file){
		.dev = st->st_dev, .inode = st->st_ino, .size = st->st_size, .changed = st->st_ctim
	};
}

bool record_table_store_waits(const struct stored_file *file)
{
	return file->state == STORED_ORDERED || file->state == STORED_NOT_YET;
}

void record_table_store_hurry(struct record_table_store *s, const struct stored_file *file)
{
	if (s->maker && file->state == STORED_ORDERED)
		record_table_maker_hurry(s->maker, file->order);
}

bool record_table_store_is_busy(const struct record_table_store *s)
{
	return s->npending || s->was_too_busy;
}

bool record_table_store_computes(const struct record_table_store *s)
{
	return s->ncomputing;
}

static bool lacks_room(const struct stored_file *file)
{
	return file->state == STORED_NO_ROOM || file->state == STORED_NO_SHARE;
}

const struct stored_file *record_table_store_known(struct record_table_store *s,
						   const struct stat *st)
{
	const struct stored_file key = key_of(st);
	struct stored_file *file = rp_hash_find(&s->files, &key);
	const uid_t payer = payer_of(s, st);

	if (!file)
		return NULL;
	if (!lacks_room(file))
		file->used_ns = rp_monotonic_ns();
	else if (file->state == STORED_NO_SHARE && file->uid != payer &&
		 !(payer && s->over && rp_id_set_has(s->over, payer)))
		file->used_ns = 0; /* there may be for this one */
	if (!payer)
		pays(s, file, 0);
	if (file->lacks_keys)
		lead_to(s, file);
	return file;
}

bool record_table_store_try_again(const struct stored_file *file)
{
	return file->state == STORED_NOT_YET ||
	       (lacks_room(file) && rp_monotonic_ns() - file->used_ns > ROOM_NS);
}

/* Here and now, or beside if there is who does that. */
static struct stored_file *make(struct record_table_store *s, struct stored_file *file, int fd)
{
	struct unwind_table *t = NULL;
	int err = -ENOTSUP;

	file->order = ++s->norders;
	if (s->maker)
		err = record_table_maker_order(s->maker, file->order, fd, file->is_computed);
	if (!err) {
		s->npending += !file->is_computed;
		s->ncomputing += file->is_computed;
		return file;
	}
	if (err == -EAGAIN) {
		s->was_too_busy = true;
		file->state = STORED_NOT_YET;
		return file;
	}
	err = unwind_cache_table(s->cache, &t, fd, file->is_computed, NULL);
	rp_lack_file(err, fd);
	file = settle(s, file, err ? NULL : t);
	if (!err)
		unwind_table_free(t);
	return file;
}

const struct stored_file *record_table_store_file(struct record_table_store *s, int fd,
						  bool is_computed)
{
	const struct table_source src = { .fd = fd };
	const struct stored_file *known;
	struct stored_file *file, key;
	struct table_owner *owner;
	struct stat st;
	int err;

	if (fstat(fd, &st)) {
		rp_lack_file(-errno, fd);
		return NULL;
	}
	known = record_table_store_known(s, &st);
	if (known && !record_table_store_try_again(known) &&
	    (!is_computed || known->is_computed || known->state == STORED_ORDERED))
		return known;
	key = key_of(&st);
	file = rp_hash_add(&s->files, &key);
	owner = rp_hash_add(&s->owners, &(uint32_t){ rp_subuid_first(st.st_uid) });
	if (!owner || !file) {
		rp_lack_file(-ENOMEM, fd);
		return NULL;
	}
	pays(s, file, payer_of(s, &st));
	file->state = STORED_ORDERED; /* so it does not go meanwhile */
	file->used_ns = rp_monotonic_ns();
	file->is_computed |= is_computed;
	err = file->loads ? 0 : record_table_loads_read(&src, &file->loads, &file->nloads);
	if (err || !record_table_owner_may_read(owner, (uint64_t)st.st_size))
		return settle(s, file, NULL); /* remembered as one that has none */
	return make(s, file, fd);
}

const struct stored_file *record_table_store_made(struct record_table_store *s,
						  const struct stat *key,
						  const struct unwind_table *t)
{
	const struct stored_file wanted = key_of(key);
	struct stored_file *file = rp_hash_add(&s->files, &wanted);

	if (!file)
		return NULL;
	pays(s, file, payer_of(s, key));
	file->state = STORED_ORDERED; /* so it does not go meanwhile */
	return settle(s, file, t);
}

static struct stored_file *find_order(const struct record_table_store *s, uint64_t number)
{
	for (uint32_t i = 0; i < s->files.count; i++)
		if (table_file_at(s, i)->state == STORED_ORDERED &&
		    table_file_at(s, i)->order == number)
			return table_file_at(s, i);
	return NULL; /* all was forgotten meanwhile */
}

/* The file goes on as it is, if it has anything, until all that was computed of it is there. */
static void order_more(struct record_table_store *s, struct stored_file *file,
		       const struct made_table *made)
{
	if (made->more < 0)
		return;
	if (file && !record_table_maker_order(s->maker, made->number, made->more, true)) {
		file->state = STORED_ORDERED;
		file->is_computed = true;
		s->ncomputing++;
	}
	close(made->more);
}

static void pay_for(struct record_table_store *s, const struct made_table *made)
{
	const uint32_t uid = rp_subuid_first(made->owner);
	struct table_owner *owner = rp_hash_find(&s->owners, &uid);

	if (owner)
		record_table_owner_spent(owner, made->size, made->spent_ns);
}

bool record_table_store_collect(struct record_table_store *s)
{
	struct made_table made;
	bool any = false;

	while (s->maker && record_table_maker_take(s->maker, &made)) {
		struct stored_file *file = find_order(s, made.number);

		s->npending -= !made.is_computed;
		s->ncomputing -= made.is_computed;
		pay_for(s, &made);
		if (file)
			file = settle(s, file, made.table);
		order_more(s, file, &made);
		unwind_table_free(made.table);
		any = true;
	}
	if (any)
		s->was_too_busy = false;
	return any;
}

int record_table_store_table(struct record_table_store *s, int fd, bool with_computed,
			     struct unwind_table **out)
{
	const uint64_t began = rp_thread_cpu_ns();
	struct table_owner *owner;
	bool has_more;
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	owner = rp_hash_add(&s->owners, &(uint32_t){ rp_subuid_first(st.st_uid) });
	if (!owner)
		return -ENOMEM;
	if (!record_table_owner_may_make(owner))
		return -EDQUOT;
	err = with_computed ? unwind_cache_table(s->cache, out, fd, false, NULL)
			    : unwind_cache_first(s->cache, out, fd, &has_more);
	record_table_owner_made(owner, (uint64_t)st.st_size, rp_thread_cpu_ns() - began);
	return err;
}

static int take_vdso(void *ctx, const struct sym_proc_map *m)
{
	struct table_source *src = ctx;

	if (strcmp(m->path, "[vdso]"))
		return 0;
	src->image = (const unsigned char *)(uintptr_t)m->start; /* our own */
	src->size = m->end - m->start;
	return 1;
}

const struct stored_file *record_table_store_vdso(struct record_table_store *s)
{
	struct table_source src = { .fd = -1 };
	struct unwind_table *t;

	if (!s->vdso_tried) {
		s->vdso_tried = true;
		if (sym_proc_maps("/proc", (uint32_t)getpid(), take_vdso, &src) == 1 &&
		    !record_table_loads_read(&src, &s->vdso.loads, &s->vdso.nloads) &&
		    !unwind_table_build_image(&t, src.image, src.size)) {
			place(s, t, 0, &s->vdso.table);
			unwind_table_free(t);
		}
	}
	return s->vdso.nloads ? &s->vdso : NULL;
}
