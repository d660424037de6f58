/* SPDX-License-Identifier: BSD-2-Clause */
/* A set of process ids that only grows. */
#ifndef CLI_PID_SET_H
#define CLI_PID_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Open addressing, at most half full; 0, the idle task, marks an empty slot and is never in the set. */
struct pid_set {
	uint32_t *slots;
	size_t nslots, used;
};

bool pid_set_has(const struct pid_set *set, uint32_t pid);
/* True if it is new. Without memory the set stays as it is, and what is new stays new. */
bool pid_set_add(struct pid_set *set, uint32_t pid);
void pid_set_free(struct pid_set *set);

#endif
