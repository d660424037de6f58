/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes whose virtual machine had not begun when they were read, or whose code was not looked
 * at for want of time: when to read them again. And those that are about to generate code: when to
 * look at what they have mapped.
 */
#ifndef RECORD_EARLY_H
#define RECORD_EARLY_H

#include "base/id_set.h"

/* All zeroes is none. */
struct record_early {
	struct id_set waiting, ever; /* those that wait, and those that were added before */
	uint64_t until;		     /* so long they are looked at often, */
	uint64_t mapped_until;	     /*   and what is mapped */
};

void record_early_free(struct record_early *e);
void record_early_add(struct record_early *e, uint32_t pid);
/* It is read again, but that is not urgent: there was no time to look at all of its code. */
void record_early_later(struct record_early *e, uint32_t pid);
/* Moves those that wait to @changed, but for what was read a moment ago. */
void record_early_take(struct record_early *e, const struct id_set *current,
		       struct id_set *changed);
/* A process has mapped this file. */
void record_early_mapped(struct record_early *e, const char *path);
/* In how many ns to look again; UINT64_MAX: whenever. */
uint64_t record_early_urgent(const struct record_early *e);

#endif
