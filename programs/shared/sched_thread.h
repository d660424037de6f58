/* SPDX-License-Identifier: BSD-2-Clause */
/* Where things lie in an entry of the map threads, for the programs that keep it. */
#ifndef PROGRAMS_SCHED_H
#define PROGRAMS_SCHED_H

#include "sched.h"

enum {
	HASH = offsetof(struct sched_thread, hash),
	SINCE = offsetof(struct sched_thread, since),
	PID_TGID = offsetof(struct sched_thread, pid_tgid),
	USER_END = offsetof(struct sched_thread, user_end),
	PHASE = offsetof(struct sched_thread, phase),
	WAKER = offsetof(struct sched_thread, waker),
	WOKEN = offsetof(struct sched_thread, woken),
	BORN = offsetof(struct sched_thread, born),
	ON_CPU = offsetof(struct sched_thread, on_cpu),
	QUEUED = offsetof(struct sched_thread, queued),
	LOST = offsetof(struct sched_thread, lost),
	THREAD_COMM = offsetof(struct sched_thread, comm)
};

#endif
