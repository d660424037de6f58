/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may compute rules of code in memory, and for how long. */
#include "base/subuid.h"

#include "generated_time.h"

enum {
	MOST_NS = 200 * 1000 * 1000,
	TIMES = 50, /* as long as it was spent does a user pay: 2 % of the time; */
	ALL = 4,    /*   all together pay as so many users do */
	NAMED = 12, /* who named a process waits for it, half of the time */
};

static struct generated_debt *debt_of(struct generated_time *t, uint32_t uid)
{
	struct generated_debt *least = &t->of[1];

	if (!uid)
		return &t->of[0];
	uid = rp_subuid_first(uid);
	for (uint32_t i = 1; i < GENERATED_USERS; i++) {
		if (t->of[i].uid == uid)
			return &t->of[i];
		if (t->of[i].paid_ns < least->paid_ns)
			least = &t->of[i];
	}
	return least;
}

/* Debts are kept as the time until they are paid: they become less by themselves. */
static uint64_t left(uint64_t paid_ns, uint64_t now)
{
	return paid_ns > now ? paid_ns - now : 0;
}

bool record_generated_has_time(struct generated_time *t, uint32_t uid, uint64_t now)
{
	uint64_t wait = left(debt_of(t, uid)->paid_ns, now);

	if (uid)
		wait += left(t->all_paid_ns, now) * ALL / 2;
	return wait < (uint64_t)MOST_NS * TIMES;
}

bool record_generated_is_paid(const struct generated_time *t, uint64_t now)
{
	for (uint32_t i = 0; i < GENERATED_USERS; i++)
		if (t->of[i].paid_ns > now)
			return false;
	return t->all_paid_ns <= now;
}

/* What took very long is one user's fault, and no reason to leave the others without. */
void record_generated_spent(struct generated_time *t, uint32_t uid, uint64_t now, uint64_t spent)
{
	struct generated_debt *own = debt_of(t, uid);

	if (t->is_named)
		spent /= NAMED;
	own->uid = rp_subuid_first(uid);
	own->paid_ns = now + left(own->paid_ns, now) + spent * TIMES;
	if (uid)
		t->all_paid_ns = now + left(t->all_paid_ns, now) +
				 (spent < MOST_NS ? spent : MOST_NS) * TIMES / ALL;
}
