/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile_views.h"

static int tell(struct recording *rec, const struct record_ledger *ledger)
{
	return output_tell(&rec->output, rec->opt, NULL, &ledger->report, &ledger->cost);
}

/* ---- histograms ------------------------------------------------------------------------------------------- */

int profile_hists_part(struct recording *rec, struct report_hists *set)
{
	int err = output_begin(&rec->output);

	rec->output.show.part = true;
	if (!err)
		err = output_failed(
			&rec->output,
			rec->opt->format->write_hists(set, rec->output.stream, &rec->output.show));
	rec->output.show.part = false;
	report_hists_clear(set);
	return err;
}

int profile_hists_end(struct recording *rec, uint64_t kept, struct report_hists *set)
{
	struct record_ledger ledger;
	int err = record_ledger(rec, kept, &ledger);

	if (!err)
		err = report_hists_set_ledger(set, &ledger.report);
	if (!err && rec->opt->interval) /* the parts of a series are in the file already */
		err = output_begin(&rec->output);
	if (err)
		return err;
	report_hists_set_cost(set, &ledger.cost);
	err = rec->opt->interval
		      ? output_failed(&rec->output,
				      rec->opt->format->write_hists(set, rec->output.stream,
								    &rec->output.show))
		      : output_hists(&rec->output, rec->opt, set);
	return err ? err : tell(rec, &ledger);
}

int profile_hists_report(struct recording *rec, struct report_hists *set)
{
	struct record_info info;
	int err = record_info(rec, NULL, &info);

	if (err)
		return err;
	err = report_hists_set_info(set, &info.info);
	record_info_free(&info);
	return err ? err : profile_hists_end(rec, 0, set);
}

int profile_hist_merge(struct report_hist *hist, const struct asm_map *map, const void *value,
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

/* ---- a grid ----------------------------------------------------------------------------------------------- */

int profile_grid_part(struct recording *rec, struct report_grid *grid)
{
	int err = output_begin(&rec->output);

	rec->output.show.part = true;
	if (!err)
		err = output_failed(
			&rec->output,
			rec->opt->format->write_grid(grid, rec->output.stream, &rec->output.show));
	rec->output.show.part = false;
	report_grid_clear(grid);
	return err;
}

int profile_grid_ledger(struct recording *rec, uint64_t kept, struct report_grid *grid,
			struct record_ledger *ledger)
{
	int err = record_ledger(rec, kept, ledger);

	if (!err)
		err = report_grid_set_ledger(grid, &ledger->report);
	if (!err)
		report_grid_set_cost(grid, &ledger->cost);
	return err;
}

int profile_grid_end(struct recording *rec, uint64_t kept, struct report_grid *grid)
{
	struct record_ledger ledger;
	int err = profile_grid_ledger(rec, kept, grid, &ledger);

	if (!err && rec->opt->interval)
		err = output_begin(&rec->output);
	if (err)
		return err;
	err = rec->opt->interval
		      ? output_failed(&rec->output,
				      rec->opt->format->write_grid(grid, rec->output.stream,
								   &rec->output.show))
		      : output_grid(&rec->output, rec->opt, grid);
	return err ? err : tell(rec, &ledger);
}

int profile_grid_report(struct recording *rec, struct report_grid *grid)
{
	struct record_info info;
	int err = record_info(rec, NULL, &info);

	if (err)
		return err;
	err = report_grid_set_info(grid, &info.info);
	record_info_free(&info);
	return err ? err : profile_grid_end(rec, 0, grid);
}
