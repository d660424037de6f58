/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a kernel stack is not the doing of the task that it was taken in. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include "recording.h"

/* Is this the outermost function of an interrupt? */
bool record_interrupt_begins(const char *name);
/* How many of the innermost frames belong to interrupts; 0: none. */
size_t record_interrupt_frames(struct recording *rec, const uint64_t *addrs, size_t n);

#endif
