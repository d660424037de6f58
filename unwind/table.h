/* SPDX-License-Identifier: BSD-2-Clause */
/* How a table lies in memory, for those that make one. */
#ifndef UNWIND_TABLE_H
#define UNWIND_TABLE_H

#include <rawprof/unwind.h>

struct unwind_counts {
	uint16_t machine;
	uint32_t nparts, nrules, nindex, nrows, nfdes, ngaps;
	struct unwind_rule jumped_to; /* files have no byte behind it that does not count */
};

/*
 * The arrays of a table. All but the parts, which point into them, follow one another without a
 * gap in this order, so that a file can hold them as they are.
 */
struct unwind_arrays {
	struct unwind_part *parts;
	struct unwind_rule *rules;
	uint32_t *index;
	struct unwind_row *rows;
	uint32_t *fdes;
	uint32_t *gaps;
};

/* Bytes of the arrays without the parts. */
size_t unwind_counts_size(const struct unwind_counts *c);

/* A table whose arrays are to be filled in yet. NULL without memory. */
struct unwind_table *unwind_table_new(const struct unwind_counts *c, struct unwind_arrays *a);

/* What may have come from elsewhere keeps the promises that unwind.h makes to its readers. */
bool unwind_table_is_sound(const struct unwind_table *t);

/*
 * The table of what was read. @part_rows: UNWIND_PART_ROWS, or less in tests. Errors as of
 * unwind_table_build().
 */
struct unwind_source;
int unwind_table_make(const struct unwind_source *s, uint32_t part_rows, struct unwind_table **out);

#endif
