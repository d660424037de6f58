/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --during: of a recording only what happens inside of long calls of a function is kept.
 *
 * The kernel's programs take stacks of threads inside of a call alone (programs/shared/during.h),
 * and all that they count comes with its time. Here it is kept if it lies in a call that was longer
 * than the limit, cut where the call begins and ends; and stacks weigh what was kept.
 */
#ifndef RECORD_DURING_H
#define RECORD_DURING_H

#include <stdbool.h>
#include <stddef.h>

#include "programs/shared/during.h"

struct recording;
struct record_during;
struct record_ledger;

/* So many long calls are known, 48 bytes each; what is inside of the rest is lost, and counted. */
#define RECORD_DURING_CALLS (1u << 20)

/* What is wrong with "F>10ms"; NULL: nothing. Good until the next call. */
const char *record_during_fault(const char *text);

/* In the order of a recording. All below: 0 or a negative errno after a message. */

/* Finds what rec->opt->during names. rec->during is set, also on failure. */
int record_during_open(struct recording *rec);
/* Are there return probes on functions of programs, which a walk of the stack can see through? */
bool record_during_return_probes(const struct recording *rec);
/* The maps are there: puts the programs on the function. */
int record_during_attach(struct recording *rec);
/* A long call has come through the ring. */
int record_during_call(struct recording *rec, const struct during_slow *call);
/* Once a second: drops what is known to be of short calls, when there is much of it. */
int record_during_tick(struct recording *rec);
/* The profiler has been stopped. */
void record_during_stop(struct recording *rec);
/* All has been collected: keeps what is inside of long calls. */
int record_during_finish(struct recording *rec);
/*
 * The long calls by thread and time, those that go on when the recording ends until then. For
 * profilers, after record_during_finish().
 */
const struct during_slow *record_during_calls(const struct recording *rec, size_t *n);
void record_during_ledger(const struct recording *rec, uint64_t outside, struct record_ledger *l);
/* How many calls there were, malloc'd; NULL: no memory. */
char *record_during_note(const struct recording *rec);
/* NULL is fine. */
void record_during_close(struct record_during *d);

#endif
