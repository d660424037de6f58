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

/* The members of a stack frame that has a new entry, thread: as offcpu has it, and all of it. */
#define SCHED_OFFCPU_FIELDS(frame)                                                                 \
	ASM_FIELD(frame, thread.hash), ASM_FIELD(frame, thread.since),                             \
		ASM_FIELD(frame, thread.pid_tgid), ASM_FIELD(frame, thread.user_end),              \
		ASM_FIELD(frame, thread.phase), ASM_FIELD(frame, thread.waker)
#define SCHED_THREAD_FIELDS(frame)                                                                 \
	SCHED_OFFCPU_FIELDS(frame), ASM_FIELD(frame, thread.woken), ASM_FIELD(frame, thread.born), \
		ASM_FIELD(frame, thread.on_cpu), ASM_FIELD(frame, thread.queued),                  \
		ASM_FIELD(frame, thread.lost), ASM_FIELD(frame, thread.comm)

#endif
