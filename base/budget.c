/* SPDX-License-Identifier: BSD-2-Clause */
/* Budgets: of work, which a file has, and of memory, which the process has. */
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "budget.h"

#define MB (1024ULL * 1024)

/* ---- work */

#define LEAST_WORK (4 * MB)
#define WATCH_EVERY (256 * 1024) /* bytes: some tenths of a millisecond */

static _Thread_local bool (*watch_stop)(void *ctx);
static _Thread_local void *watch_ctx;

void rp_work_watch(bool (*stop)(void *ctx), void *ctx)
{
	watch_stop = stop;
	watch_ctx = ctx;
}

bool rp_work_is_stopped(void)
{
	return watch_stop && watch_stop(watch_ctx);
}

struct rp_work rp_work_for(uint64_t size, unsigned int times)
{
	uint64_t left;

	if (__builtin_mul_overflow(size, times, &left))
		left = UINT64_MAX;
	if (left < LEAST_WORK)
		left = LEAST_WORK;
	return (struct rp_work){ .left = left == UINT64_MAX ? left : left + 1 };
}

bool rp_work_spend(struct rp_work *work, uint64_t bytes)
{
	if (bytes >= work->left) { /* the last one stands for "used up" */
		work->left = 0;
		return false;
	}
	work->left -= bytes;
	work->unwatched += bytes;
	if (work->unwatched < WATCH_EVERY)
		return true;
	work->unwatched = 0;
	work->is_stopped = rp_work_is_stopped();
	if (work->is_stopped)
		work->left = 0;
	return work->left > 0;
}

/* ---- memory */

static _Atomic uint64_t memory_taken;
static _Atomic uint64_t memory_limit; /* 0: nobody has asked for it yet */

uint64_t rp_memory_part(uint64_t part, uint64_t most)
{
	const uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	return all / part < most ? all / part : most;
}

void rp_memory_limit(uint64_t bytes)
{
	memory_limit = bytes;
}

uint64_t rp_memory_most(void)
{
	if (!memory_limit)
		memory_limit = rp_memory_part(2, 512 * MB);
	return memory_limit;
}

bool rp_memory_take(uint64_t bytes)
{
	const uint64_t limit = rp_memory_most();
	uint64_t taken = atomic_load(&memory_taken);

	do {
		if (bytes > limit || taken > limit - bytes)
			return false;
	} while (!atomic_compare_exchange_weak(&memory_taken, &taken, taken + bytes));
	return true;
}

void rp_memory_give(uint64_t bytes)
{
	atomic_fetch_sub(&memory_taken, bytes);
}

uint64_t rp_memory_taken(void)
{
	return atomic_load(&memory_taken);
}
