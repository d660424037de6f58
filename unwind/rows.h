/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows on their way into a table: merged, counted by page, cut into parts. */
#ifndef UNWIND_ROWS_H
#define UNWIND_ROWS_H

#include <rawprof/unwind.h>

#include "base/hash.h"

struct unwind_open_part {
	uint64_t start;
	uint32_t npages, nrows;
	size_t first_index, first_row; /* in the arrays of all parts */
};

/*
 * The last of @parts is open: its index covers the pages up to that of its last row, and each page
 * has fewer than 1 << UNWIND_SEARCH_STEPS rows. Neighbours have different rules.
 */
struct unwind_rows {
	struct unwind_open_part *parts;
	struct unwind_row *rows;
	uint32_t *index, *fdes;
	const uint32_t *gaps; /* of the table; the builder's, as is */
	struct unwind_rule jumped_to;
	struct hash_map rules; /* the set of struct unwind_rule */
	size_t nparts, nrows, nindex, nfdes, ngaps;
	size_t part_capacity, row_capacity, index_capacity, fde_capacity;
	uint64_t last;	    /* address of the last row */
	uint32_t part_rows; /* most rows of a part: UNWIND_PART_ROWS, less in tests */
	struct unwind_stats stats;
};

int unwind_rows_init(struct unwind_rows *r);
void unwind_rows_free(struct unwind_rows *r);

/*
 * From @addr on, which is above that of the row before, @rule holds. -ENOMEM, or -EFBIG if that is
 * 4 GB or more above the first.
 */
int unwind_rows_add(struct unwind_rows *r, uint64_t addr, const struct unwind_rule *rule);

/* An FDE begins at @addr; its first row was added already. */
int unwind_rows_add_fde(struct unwind_rows *r, uint64_t addr);

/* Makes the table. The rows are to be freed yet. -ENODATA if there are none, -ENOMEM. */
int unwind_rows_finish(struct unwind_rows *r, uint16_t machine, struct unwind_table **out);

#endif
