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
	const uint64_t now = rp_monotonic_ns();
	const uint32_t i = pid % WHOSE_PLACES;
	uid_t uid;

	if (w->known[i].pid == pid && now - w->known[i].at_ns < NS_PER_SECOND)
		return w->known[i].uid;
	uid = record_payer(pid);
	w->known[i].pid = pid;
	w->known[i].uid = uid;
	w->known[i].at_ns = now;
	return uid;
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
