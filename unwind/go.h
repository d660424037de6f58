/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules for Go's code, which no .eh_frame describes: its own table serves for walks. x86-64. */
#ifndef UNWIND_GO_H
#define UNWIND_GO_H

#include <stdint.h>

#include <rawprof/unwind.h>

#include "base/budget.h"
#include "go_table.h"

typedef int unwind_go_row_fn(void *ctx, uint64_t addr, const struct unwind_rule *rule);
/*
 * Tells @row of the rules from @start to @end, as unwind_cfi_run() does. 0, or what @row said;
 * -EFBIG: @work is used up.
 */
int unwind_go_fill(const struct unwind_go *go, uint64_t start, uint64_t end, struct rp_work *work,
		   unwind_go_row_fn *row, void *ctx);

#endif
