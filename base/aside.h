/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads that may never return. What a process has mapped, and its memory, is read under a lock of
 * that process (mmap_lock, and exec_update_lock), which a user who serves a file system in user
 * space (FUSE) can hold for ever: taking away a page of a file that was written waits, with the
 * lock held, for who serves it. Whoever reads waits as well, and no signal but SIGKILL ends that.
 *
 * As long as a user serves one, a thread reads what belongs to users, and is left behind when it
 * takes too long. Then nothing is read of that user's processes until it has come back, and for a
 * while.
 */
#ifndef BASE_ASIDE_H
#define BASE_ASIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Before a process gives up its rights (record/confine.c) it has no such thread, which would keep
 * them: then the caller reads itself, of what a person has named.
 */
void rp_aside_allow(bool may);

/* All that the reader needs is with it: whoever asks may be gone. */
struct rp_aside {
	void (*read)(struct rp_aside *job);
	void (*drop)(struct rp_aside *job); /* frees all of it */
};

/*
 * Reads something of @uid's processes, called @what in a message. 0: it was read. -EBUSY: it takes
 * too long, or they are left alone for now, and the job is no longer the caller's; or another
 * negative errno, the same.
 */
int rp_read_aside(struct rp_aside *job, uid_t uid, const char *what);

/*
 * Without a FUSE file system a lock is kept for seconds at most, by changing what is mapped in very
 * many pages. Whose it is pays for the wait: what is read where that can be is between these two.
 */
struct rp_wait {
	uint64_t began_ns;
	uint64_t cpu_ns; /* what this thread had taken */
	long blocked;	 /* how often it had been */
};
void rp_wait_begin(struct rp_wait *w);
/*
 * So many ns have to be paid for: 0 mostly. Before Linux 5.11, and on a real-time kernel, it takes
 * CPU time to wait for who has the lock and runs.
 */
uint64_t rp_wait_end(const struct rp_wait *w);

/* That this thread waited so, and that others spent on reading for it, ns. */
uint64_t rp_aside_ns(void);

#endif
