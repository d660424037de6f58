/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The start of a recording comes before other work: what happens until then is not seen. On a busy
 * machine it would take twice as long, as it gets half of a CPU; so the thread has the lowest of
 * the real-time priorities until all is attached, some 20 ms, and the usual one from then on.
 */
#ifndef RECORD_HURRY_H
#define RECORD_HURRY_H

/*
 * Does nothing without the right to, or where the person has given rawprof another priority or
 * policy. Threads and processes that are made meanwhile have the usual ones.
 */
void record_hurry(void);
/* In long work: after a tenth of a second that priority ends. */
void record_hurry_tires(void);
/* 0, or a negative errno after a message: with that priority no recording may go on. */
int record_hurry_end(void);

#endif
