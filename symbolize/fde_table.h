/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * .eh_frame_hdr (LSB Core 5.0, 10.6.2): where functions begin, in order, and where the FDE of each
 * is. A function is found by it with one look at .eh_frame, which is a tenth of a large program.
 */
#ifndef SYMBOLIZE_FDE_TABLE_H
#define SYMBOLIZE_FDE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object.h"

struct sym_fde_table {
	const struct sym_object *object;
	uint64_t addr; /* of the section, which the entries count from */
	struct sym_fde_entry {
		int32_t start, fde;
	} * entries; /* taken from the memory that files may have */
	size_t count;
};

/*
 * -ENODATA: there is none, or not of the kind that linkers make; -ENOMEM. @object is read later
 * too.
 */
int sym_fde_table_read(struct sym_fde_table *t, const struct sym_object *object);
void sym_fde_table_free(struct sym_fde_table *t);

/* Where the function that contains @vaddr starts, and which entry it is; false: none does. */
bool sym_fde_table_find(const struct sym_fde_table *t, uint64_t vaddr, uint64_t *start,
			size_t *index);

#endif
