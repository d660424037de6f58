/* SPDX-License-Identifier: BSD-2-Clause */
/* Code between FDEs, and behind them: rules for it are computed from what it does. */
#ifndef UNWIND_GAPS_H
#define UNWIND_GAPS_H

#include "cfi.h"
#include "elf.h"
#include "keyed.h"
#include "starts.h"

/*
 * Bytes of it in a file: the processor is busy with them for half a second. Programs that are built
 * without any tables, as Chromium is with 200 MB, have frame pointers.
 */
#define UNWIND_GAPS_MAX (12U << 20)

/* Of these machines there are computed rules, for those who want them. */
bool unwind_gaps_are_filled(const struct unwind_source *s);

/* What was looked at: pairs of start and end, from the start of the file's code. */
struct unwind_gaps {
	uint32_t *at;
	size_t count, capacity; /* of numbers */
	size_t next;		/* of the range that is filled next */
	uint32_t bytes;
	bool is_searched;
	struct unwind_starts starts; /* once it is */
	struct unwind_sip sip;	     /* of what was read of it, if somebody wants it */
	bool is_lost;		     /* some of it was not read */
	bool is_jumped_to;	     /* struct unwind_table has the rule of all of it */
};

/* Before any is filled in, and after the last one: s->made. */
void unwind_gaps_begin(struct unwind_gaps *g, const struct unwind_source *s);
void unwind_gaps_end(struct unwind_gaps *g, const struct unwind_source *s);

/*
 * All ranges that will be filled, one after the other, are told of here before the first is: what
 * points to them is looked for at once. 0 or -ENOMEM.
 */
int unwind_gaps_list(struct unwind_gaps *g, const struct unwind_source *s, uint64_t start,
		     uint64_t end);
/*
 * Tells @row of the rules for code of @s from @start to @end, as unwind_cfi_run() does, and between
 * them, and at the end, of one that says nothing. 0, -ENOMEM, or what @row said.
 */
int unwind_gaps_fill(struct unwind_gaps *g, const struct unwind_source *s, uint64_t start,
		     uint64_t end, unwind_row_fn *row, void *ctx);

void unwind_gaps_free(struct unwind_gaps *g);

/*
 * Of the code at @n of these numbers, and of what points there, as it is now: what s->made is if
 * that is what it was. False: it is not there, or more than there may be.
 */
bool unwind_gaps_key(const struct unwind_source *s, const uint32_t *at, size_t n,
		     const struct unwind_secret *secret, struct unwind_key *out);

#endif
