/* SPDX-License-Identifier: BSD-2-Clause */
/* The stubs by which a file calls functions of others: lld and mold describe them by no FDE. */
#ifndef UNWIND_PLT_H
#define UNWIND_PLT_H

#include <rawprof/unwind.h>

#include "image.h"

/* Sections of a file that have them: .iplt, and .plt, .plt.sec and what else begins so. */
enum { UNWIND_PLTS = 4 };

/* All stubs of a section; one rule holds for them. */
struct unwind_plt {
	uint64_t start, end;
	struct unwind_rule rule;
};

/* Finds those of @m by their names and by what their first stub is made of; ascending. How many. */
size_t unwind_plts_find(struct unwind_plt out[UNWIND_PLTS], const struct unwind_image *m);

#endif
