/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The id of a task that is freed: what a map still has under it is of no thread any more.
 *
 * Most have been taken off before, when the thread ended. Not what it did after that; nor what a
 * thread had that was not the first of its process and executed a program, or tried to: it has the
 * first one's id from then on, and the first one is freed under its old id. By then another thread
 * may have the id, if all others were given out before the kernel came to that: what it was at is
 * lost.
 */
#ifndef PROGRAMS_SHARED_FREED_H
#define PROGRAMS_SHARED_FREED_H

/* sched_process_free(struct task_struct *p), at the beginning of a program; to: a frame offset. */
#define READ_FREED(to)                                                                             \
	LDX(DW, R1, R1, 0), LD_FIELD(R1, R1, "task_struct", "pid"), STX(W, R10, to, R1)
#define READ_FREED_TP(to) LD_TP(R1, R1, "sched", "sched_process_free", "pid"), STX(W, R10, to, R1)
/* To be hung up there. */
#define ON_FREED RP_ON_TP_BTF("sched_process_free")
#define ON_FREED_TP RP_ON_TP("sched", "sched_process_free")

#endif
