/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What programs/shared/managed.h writes behind the native frames of a record: runs of frames of one
 * language, each with the native frame that executed it.
 */
#ifndef RECORD_MANAGED_RUNS_H
#define RECORD_MANAGED_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/shared/managed.h"

struct stack_record;

/* A run of managed frames: their words, and the number of the native frame that executed them. */
struct managed_run {
	const uint64_t *words;
	size_t n, place;
	enum managed_language language;
};

/* The words of a record, a cursor for each language: its runs are in the order of their places. */
struct managed_runs {
	struct {
		const uint64_t *at, *end;
	} of[MANAGED_LANGUAGES];
	size_t nnative;
};

void record_find_runs(const struct stack_record *r, struct managed_runs *runs);
/* The one with the lowest place; false: there are no more. */
bool record_next_run(struct managed_runs *runs, struct managed_run *out);

#endif
