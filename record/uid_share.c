/* SPDX-License-Identifier: BSD-2-Clause */
/* What users have of something that is everyone's. */
#include <sys/stat.h>

#include <rawprof/loader.h>
#include "base/subuid.h"
#include "symbolize/proc.h"

#include "uid_share.h"

/* Whoever has many uids does not fill the terminal with them. */
#define MOST_SAID 16

/* Who pays; NULL: no memory. */
static struct share_user *add_user(struct record_share *s, uid_t uid)
{
	return rp_hash_add(&s->users, &(uid_t){ rp_subuid_first(uid) });
}

/* What all users but root may have. */
static uint64_t for_users(const struct record_share *s)
{
	const struct share_user *root = rp_hash_find(&s->users, &(uid_t){ 0 });
	const uint64_t kept = s->parts ? s->most / s->parts : 0,
		       has = s->parts && root ? root->has : 0;

	/* Of what root has, so much may be anybody's: see record_share_matters(). */
	return s->most - (has > 2 * kept ? has : 2 * kept);
}

bool record_share_fits(struct record_share *s, uid_t uid, uint64_t size)
{
	const struct share_user *u = add_user(s, uid);
	uint64_t most = s->most;

	if (!u)
		return false;
	if (!uid && s->parts)
		return true; /* what is there is seen elsewhere */
	if (uid) {
		most = for_users(s) + u->has;
		most = most > s->all ? most - s->all : 0;
		most = s->parts && !s->is_contended ? most - most / s->parts : most / 2;
	}
	return u->has <= most && size <= most - u->has;
}

void record_share_say(struct record_share *s, uid_t uid)
{
	struct share_user *u = add_user(s, uid);

	if (!u || u->said)
		return;
	u->said = true;
	if (s->said++ >= MOST_SAID)
		return;
	if (u->uid == RECORD_UID_UNKNOWN)
		rp_log(RP_WARN,
		       "processes that had ended have taken their share of the %s: new ones of "
		       "such are left out",
		       s->what);
	else
		rp_log(RP_WARN,
		       "user %d has taken its share of the %s: new ones of it are left out",
		       (int)u->uid, s->what);
}

bool record_share_has_room(struct record_share *s, uid_t uid, uint64_t size)
{
	const bool fits = record_share_fits(s, uid, size);

	if (!fits)
		record_share_say(s, uid);
	return fits;
}

void record_share_add(struct record_share *s, uid_t uid, uint64_t size)
{
	struct share_user *u = add_user(s, uid);

	if (!u)
		return;
	u->has += size;
	if (uid)
		s->all += size;
}

void record_share_give(struct record_share *s, uid_t uid, uint64_t size)
{
	struct share_user *u = add_user(s, uid);

	if (!u || u->has < size)
		return;
	u->has -= size;
	if (uid)
		s->all -= size;
}

bool record_share_take(struct record_share *s, uid_t uid, uint64_t size)
{
	const bool has_room = record_share_has_room(s, uid, size);

	if (has_room)
		record_share_add(s, uid, size);
	return has_room;
}

bool record_share_matters(const struct record_share *s)
{
	const struct share_user *root = rp_hash_find(&s->users, &(uid_t){ 0 });

	return s->all + (root ? root->has : 0) >= s->most / 8;
}

uid_t record_share_larger(struct record_share *s, uid_t uid, uint64_t size)
{
	const struct share_user *own = add_user(s, uid), *u = s->users.items, *largest = NULL;

	for (uint32_t i = 0; i < s->users.count; i++)
		if (u[i].uid && u[i].has > (largest ? largest->has : 0))
			largest = &u[i];
	return own && largest && largest->has > own->has + size ? largest->uid : 0;
}

uid_t record_share_contend(struct record_share *s, uid_t uid)
{
	const uid_t largest = record_share_larger(s, uid, 0);

	s->is_contended |= largest != 0;
	return largest;
}

uid_t record_share_owner(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? RECORD_UID_UNKNOWN : st.st_uid;
}

uid_t record_share_user(uint32_t pid)
{
	struct sym_proc_ids ids;

	return sym_proc_ids("/proc", pid, &ids) ? RECORD_UID_UNKNOWN : ids.uid;
}

void record_share_empty(struct record_share *s)
{
	struct share_user *u = s->users.items;

	for (uint32_t i = 0; i < s->users.count; i++)
		u[i].has = 0;
	s->all = 0;
	s->is_contended = false;
}

void record_share_free(struct record_share *s)
{
	rp_hash_free(&s->users);
	s->all = 0;
}
