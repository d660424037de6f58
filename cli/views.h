/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a profiler shows in place of stacks, histograms or a grid: with what was recorded and the
 * ledger, and out. The caller has filled it, and frees it. All return 0 or a negative errno.
 */
#ifndef CLI_VIEWS_H
#define CLI_VIEWS_H

#include <rawprof/grid.h>
#include <rawprof/hist.h>

#include "run.h"

/* All of it, for a recording that has one report: whose it is, and the end. */
int hists_report(struct recording *rec, struct report_hists *set);
int grid_report(struct recording *rec, struct report_grid *grid);

/* A grid sorted by --sort or this column, with --top or so many rows. The caller frees it. */
int grid_new(const struct options *opt, const struct report_grid_spec *spec, const char *sort,
	     unsigned int top, struct report_grid **out);

/* One of a series (--interval), which is empty afterwards. */
int hists_part(struct recording *rec, struct report_hists *set);
int grid_part(struct recording *rec, struct report_grid *grid);

/* The end, of a series too: the ledger (kept: events kept), the last output, the cost. */
int hists_end(struct recording *rec, uint64_t kept, struct report_hists *set);
int grid_end(struct recording *rec, uint64_t kept, struct report_grid *grid);
/* The ledger and the cost alone, on stderr: events were shown as they came. */
int ledger_print(struct recording *rec, uint64_t kept, const char *events);
/* The ledger of a grid alone. */
int grid_ledger(struct recording *rec, uint64_t kept, struct report_grid *grid,
		struct record_ledger *ledger);

/* Adds a value of a per-CPU map: each CPU's begins with a struct asm_hist of nslots slots. */
int hist_merge(struct report_hist *hist, const struct asm_map *map, const void *value,
	       unsigned int nslots);

#endif
