/* SPDX-License-Identifier: BSD-2-Clause */
/* The stacks of threads that sleep since before, for a recording of waits. */
#ifndef CLI_ASLEEP_H
#define CLI_ASLEEP_H

#include "programs/shared/sched.h"

#include "recording.h"

/*
 * Loads the iterator with the maps of the profile; config is the profiler's own. *program: its
 * descriptor, the profile's, or -1 where the kernel has none, which is said. 0 or a negative errno
 * after a message.
 */
int record_asleep_load(struct recording *rec, const struct sched_config *config, int *program);
/* Visits all threads for the first time, and again. Nothing to do for program -1. */
int record_asleep_begin(struct recording *rec, int program);
int record_asleep_visit(struct recording *rec, int program);

#endif
