/* SPDX-License-Identifier: BSD-2-Clause */
/* Thread states and the gate, for the commands that watch the scheduler. */
#ifndef CLI_SCHED_H
#define CLI_SCHED_H

#include "programs/shared/sched.h"

#include "cli/run.h"

/* States as options give them: "SD", "S,D", "sleeping,disk", or the kernel's bits as a number. */
bool sched_states_parse(const char *text, uint32_t *out);

/* Where this kernel keeps the state of a thread that leaves its CPU. */
void sched_find_state(struct sched_config *c);

/* Opens the gate (CLOCK_MONOTONIC, ns), or closes it (0). 0 or a negative errno. */
int sched_gate(struct recording *rec, uint64_t time);
/* Logs what was counted though it was odd. */
void sched_tell(const struct sched_stats *stats);

#endif
