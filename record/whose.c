/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/clock.h"
#include "symbolize/others.h"

#include "whose.h"

uid_t record_payer(uint32_t pid)
{
	const uid_t uid = record_share_user(pid);

	return sym_is_ours(uid) ? 0 : uid;
}

uid_t record_whose(struct record_whose *w, uint32_t pid)
{
	const struct known_whose *known = rp_hash_find(&w->known, &pid);
	uid_t uid;

	if (known && rp_monotonic_ns() - known->at_ns < NS_PER_SECOND)
		return known->uid;
	uid = record_payer(pid);
	record_whose_know(w, pid, uid);
	return uid;
}

void record_whose_know(struct record_whose *w, uint32_t pid, uid_t uid)
{
	struct known_whose *known;
	bool is_new;

	if (!w->known.size)
		w->known = HASH_MAP(struct known_whose, pid);
	known = rp_hash_add_within(&w->known, &pid, WHOSE_MOST, &is_new);
	if (!known)
		return; /* without memory it is asked for again */
	known->uid = uid;
	known->at_ns = rp_monotonic_ns();
}

void record_whose_free(struct record_whose *w)
{
	rp_hash_free(&w->known);
}

bool record_room_take(struct record_room *r, uint32_t pid, uint64_t size, uid_t *payer)
{
	*payer = 0;
	if (r->has_free < r->free) {
		r->has_free += size;
		return true;
	}
	*payer = record_whose(r->whose, pid);
	return !*payer || record_share_take(&r->share, *payer, size);
}
