/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that may yet publish a context: when to look whether they have. Mapping one tells
 * nobody, so it is looked for, and seldom: 0.1 s after a process was met, then 0.5, 2.5, 12.5 and
 * 62.5 s after.
 */
#ifndef RECORD_CONTEXT_WAIT_H
#define RECORD_CONTEXT_WAIT_H

#include <stdint.h>

#include "base/id_set.h"

#include "looks.h"

/* All zeroes is none. */
struct context_wait {
	struct context_waiting {
		uint32_t pid;
		uint32_t looks; /* so far */
		uint64_t at_ns; /* the next; UINT64_MAX: none */
	} * one;
	uint32_t n;
	size_t capacity;
	uint64_t first_ns; /* no look is before this */
};

void record_context_wait_free(struct context_wait *w);
/* Looks of a process begin, unless they have. */
void record_context_wait_begin(struct context_wait *w, uint32_t pid);
void record_context_wait_end(struct context_wait *w, uint32_t pid);
/* Adds those that have a context by now to @changed. @looks, of their users, pay; NULL: nobody. */
void record_context_wait_due(struct context_wait *w, struct record_looks *looks,
			     struct id_set *changed);
/* In how many ns the next is due; UINT64_MAX: none is. */
uint64_t record_context_wait_urgent(const struct context_wait *w);

#endif
