/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a profiler shows in place of stacks, histograms or a grid: with what was recorded and the ledger, and out. The
 * caller has filled it, and frees it. All return 0 or a negative errno.
 */
#ifndef CLI_PROFILE_VIEWS_H
#define CLI_PROFILE_VIEWS_H

#include <rawprof/grid.h>
#include <rawprof/hist.h>

#include "record/profile.h"

/* All of it, for a recording that has one report: whose it is, and the end. */
int profile_hists_report(struct recording *rec, struct report_hists *set);
int profile_grid_report(struct recording *rec, struct report_grid *grid);

/* One of a series (--interval), which is empty afterwards. */
int profile_hists_part(struct recording *rec, struct report_hists *set);
int profile_grid_part(struct recording *rec, struct report_grid *grid);

/* The end, of a series too: the ledger, in which kept were kept, the last of the output, what it cost. */
int profile_hists_end(struct recording *rec, uint64_t kept, struct report_hists *set);
int profile_grid_end(struct recording *rec, uint64_t kept, struct report_grid *grid);
/* The ledger alone. */
int profile_grid_ledger(struct recording *rec, uint64_t kept, struct report_grid *grid,
			struct record_ledger *ledger);

/* Adds a value of a per-CPU map, of which each CPU's begins with a struct asm_hist of so many slots. */
int profile_hist_merge(struct report_hist *hist, const struct asm_map *map, const void *value,
		       unsigned int nslots);

#endif
