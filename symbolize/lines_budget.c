/* SPDX-License-Identifier: BSD-2-Clause */
#include <time.h>

#include "base/clock.h"
#include "lines_budget.h"

/* Of CPU time. */
#define FILE_NS (5 * NS_PER_SECOND)
#define ALL_NS (20 * NS_PER_SECOND)

struct asker {
	uint32_t uid, unused;
	uint64_t ns, work;
};

static uint64_t taken; /* of all files */
static struct hash_map askers = HASH_MAP(struct asker, uid);
static uint32_t asks;

void sym_lines_asked_by(uint32_t uid)
{
	asks = uid;
}

void sym_lines_begin_anew(void)
{
	asks = 0;
	taken = 0;
}

/* Half of it is what is left now. */
static bool has_share(const struct hash_map *of, uint64_t ns, uint64_t work)
{
	const struct asker *a = asks && of->count ? rp_hash_find(of, &asks) : NULL;

	return !a || (a->ns <= ns && a->work <= work);
}

static void add(struct hash_map *to, uint64_t ns, uint64_t work)
{
	struct asker *a;

	if (!asks)
		return;
	if (!to->size)
		*to = HASH_MAP(struct asker, uid);
	a = rp_hash_add(to, &asks);
	if (!a)
		return;
	a->ns += ns;
	a->work += work;
}

bool sym_lines_may_open(void)
{
	return taken < ALL_NS && has_share(&askers, ALL_NS - taken, UINT64_MAX);
}

bool sym_lines_may_go_on(const struct sym_lines_budget *b)
{
	return b->ns < FILE_NS && taken < ALL_NS && b->work.left;
}

bool sym_lines_may_ask(const struct sym_lines_budget *b)
{
	return sym_lines_may_go_on(b) && sym_lines_may_open() &&
	       has_share(&b->askers, FILE_NS - b->ns, b->work.left);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

struct sym_lines_mark sym_lines_mark(const struct sym_lines_budget *b)
{
	return (struct sym_lines_mark){ cpu_ns(), b->work.left };
}

void sym_lines_charge(struct sym_lines_budget *b, struct sym_lines_mark since)
{
	const uint64_t ns = cpu_ns() - since.ns,
		       work = since.work > b->work.left ? since.work - b->work.left : 0;

	b->ns += ns;
	taken += ns;
	add(&b->askers, ns, work);
	add(&askers, ns, work);
}
