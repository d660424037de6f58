/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/aside.h"
#include "base/budget.h"
#include "base/clock.h"
#include "symbolize/maps.h"
#include "symbolize/others.h"

#include "looks.h"

enum {
	MOST_BYTES = 48 << 20, /* 300,000 mappings, of all users but root */
	CHEAP_NS = 300 * 1000, /* three times what most take: nobody is asked whose they are */
};

void record_looks_init(struct record_looks *l)
{
	*l = (struct record_looks){
		.memory = RECORD_SHARE(rp_memory_part(16, MOST_BYTES),
				       "memory for what processes have mapped"),
		.late = RECORD_SHARE(0, "time for looking at processes"),
	};
}

void record_looks_free(struct record_looks *l)
{
	record_share_free(&l->memory);
	record_share_free(&l->late);
}

static _Thread_local uint64_t elsewhere_ns;

static uint64_t spent_ns(void)
{
	return rp_thread_cpu_ns() + rp_aside_ns() - elsewhere_ns;
}

void record_look_without(uint64_t ns)
{
	elsewhere_ns += ns;
}

/* 0: nobody's who has to pay. */
static uid_t whose(struct record_looks *l)
{
	if (l->is_free)
		return 0;
	if (!l->is_asked)
		l->uid = record_share_user(l->pid);
	if (sym_is_ours(l->uid))
		l->uid = 0;
	l->is_asked = true;
	return l->uid;
}

static bool has_time(struct record_looks *l, uint64_t now)
{
	if (!whose(l) || record_generated_has_time(&l->owed, l->uid, now))
		return true;
	record_share_say(&l->late, l->uid);
	return false;
}

static void pay(struct record_looks *l, uint64_t now)
{
	const uint64_t cpu = spent_ns();

	if (whose(l))
		record_generated_spent(&l->owed, l->uid, now, cpu - l->began_ns);
	l->began_ns = cpu;
}

bool record_look_begin(struct record_looks *l, uint32_t pid)
{
	const uint64_t now = rp_monotonic_ns();

	l->pid = pid;
	l->is_asked = l->is_large = false;
	l->began_ns = spent_ns();
	if (l->owed.all_paid_ns > now && !has_time(l, now))
		return false;
	sym_maps_watch(record_look_goes_on, l);
	return true;
}

bool record_look_goes_on(void *looks, size_t bytes)
{
	struct record_looks *l = looks;
	const uint64_t now = rp_monotonic_ns();

	if (!whose(l))
		return true;
	l->is_large = true;
	pay(l, now);
	return record_share_take(&l->memory, l->uid, bytes) && has_time(l, now);
}

void record_look_end(struct record_looks *l)
{
	sym_maps_watch(NULL, NULL);
	if (l->is_large || spent_ns() - l->began_ns > CHEAP_NS)
		pay(l, rp_monotonic_ns());
}

void record_looks_settle(struct record_looks *l)
{
	record_share_empty(&l->memory);
}
