/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What reading the files of others may cost: an ELF file, a perf map or a table of frames says
 * itself how long it is, and any user may have written it.
 *
 * Work is counted in bytes looked at, not in time: what a file may cost is the same on a busy
 * machine. Memory is counted for the whole process.
 */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* ---- work: of one file */

struct rp_work {
	uint64_t left;	    /* bytes that may still be looked at */
	uint64_t unwatched; /* of those spent: since rp_work_watch()'s function was last asked */
	bool is_stopped;    /* the function said so: the file is not to blame */
};

/* So many times the bytes of a file that has @size, and a little for small ones. */
struct rp_work rp_work_for(uint64_t size, unsigned int times);
/*
 * @bytes are about to be looked at, again or for the first time; a step that reads nothing counts
 * as one. False: that is more than is left, or the person wants to stop; give up on the file.
 */
bool rp_work_spend(struct rp_work *work, uint64_t bytes);
/*
 * @stop is asked now and then, by rp_work_spend() in this thread, whether to give up. NULL: never.
 */
void rp_work_watch(bool (*stop)(void *ctx), void *ctx);
/* What it says now. */
bool rp_work_is_stopped(void);

/* ---- memory: of all files together */

/* Of the bytes that the machine has: one part in @part, but @most at most. */
uint64_t rp_memory_part(uint64_t part, uint64_t most);
/* Half of what the machine has, 512 MB at most, unless rp_memory_limit() says otherwise. */
bool rp_memory_take(uint64_t bytes);
void rp_memory_give(uint64_t bytes);
void rp_memory_limit(uint64_t bytes);
uint64_t rp_memory_most(void);
uint64_t rp_memory_taken(void);

#endif
