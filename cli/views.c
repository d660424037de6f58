/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "sort.h"
#include "views.h"

int ledger_print(struct recording *rec, uint64_t kept, const char *events)
{
	struct record_ledger ledger;
	int err = record_ledger(rec, kept, &ledger);

	if (err || options_of(rec)->verbosity < 0)
		return err;
	err = report_print_ledger(stderr, &ledger.report, events);
	return err ? err : report_print_cost(stderr, &ledger.cost);
}

/* ---- histograms */

int hists_part(struct recording *rec, struct report_hists *set)
{
	struct output *out = output_of(rec);
	int err;

	out->show.part = true;
	err = output_hists(out, options_of(rec), set);
	out->show.part = false;
	report_hists_clear(set);
	return err;
}

int hists_end(struct recording *rec, uint64_t kept, struct report_hists *set)
{
	struct record_ledger ledger;
	int err = record_ledger(rec, kept, &ledger);

	if (!err)
		err = report_hists_set_ledger(set, &ledger.report);
	if (err)
		return err;
	if (report_hists_folded(set))
		rp_log(RP_WARN,
		       "%" PRIu64 " values are in the histogram [others]: there was no room for "
		       "as many names",
		       report_hists_folded(set));
	report_hists_set_cost(set, &ledger.cost);
	err = output_hists(output_of(rec), options_of(rec), set);
	return err ? err : run_tell(rec, NULL, &ledger);
}

int hists_report(struct recording *rec, struct report_hists *set)
{
	struct record_info info;
	int err = record_info(rec, NULL, &info);

	if (err)
		return err;
	err = report_hists_set_info(set, &info.info);
	record_info_free(&info);
	return err ? err : hists_end(rec, 0, set);
}

int hist_merge(struct report_hist *hist, const struct asm_map *map, const void *value,
	       unsigned int nslots)
{
	size_t stride = rp_map_cpu_stride(map);
	int err = 0;

	for (int cpu = 0; !err && cpu < rp_cpus_possible(); cpu++) {
		const struct asm_hist *h =
			(const void *)((const char *)value + (size_t)cpu * stride);
		const struct report_hist_counts counts = { .sum = h->sum,
							   .not_least = h->not_least,
							   .greatest = h->greatest,
							   .slots = h->slots,
							   .nslots = nslots };

		err = report_hist_merge(hist, &counts);
	}
	return err;
}

/* ---- a grid */

int grid_new(const struct options *opt, const struct report_grid_spec *spec, const char *sort,
	     unsigned int top, struct report_grid **out)
{
	struct report_grid *g = NULL;
	int err = report_grid_new(spec, &g);

	if (!err)
		err = sort_grid(opt, g, sort, top);
	if (err)
		report_grid_free(g);
	else
		*out = g;
	return err;
}

int grid_part(struct recording *rec, struct report_grid *grid)
{
	struct output *out = output_of(rec);
	int err;

	out->show.part = true;
	err = output_grid(out, options_of(rec), grid);
	out->show.part = false;
	report_grid_clear(grid);
	return err;
}

int grid_ledger(struct recording *rec, uint64_t kept, struct report_grid *grid,
		struct record_ledger *ledger)
{
	int err = record_ledger(rec, kept, ledger);

	if (!err)
		err = report_grid_set_ledger(grid, &ledger->report);
	if (!err)
		report_grid_set_cost(grid, &ledger->cost);
	return err;
}

int grid_end(struct recording *rec, uint64_t kept, struct report_grid *grid)
{
	struct record_ledger ledger;
	int err = grid_ledger(rec, kept, grid, &ledger);

	if (!err)
		err = output_grid(output_of(rec), options_of(rec), grid);
	return err ? err : run_tell(rec, NULL, &ledger);
}

int grid_report(struct recording *rec, struct report_grid *grid)
{
	struct record_info info;
	int err = record_info(rec, NULL, &info);

	if (err)
		return err;
	err = report_grid_set_info(grid, &info.info);
	record_info_free(&info);
	return err ? err : grid_end(rec, 0, grid);
}
