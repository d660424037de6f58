/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile_views.h"

static int tell(struct profile *p, const struct books *books)
{
	return output_tell(&p->output, p->opt, NULL, &books->ledger, &books->cost);
}

/* ---- histograms ------------------------------------------------------------------------------------------- */

int profile_hists_part(struct profile *p, struct report_hists *set)
{
	int err = output_begin(&p->output);

	p->output.show.part = true;
	if (!err)
		err = output_failed(&p->output, p->opt->format->write_hists(set, p->output.stream,
									    &p->output.show));
	p->output.show.part = false;
	report_hists_clear(set);
	return err;
}

int profile_hists_end(struct profile *p, uint64_t kept, struct report_hists *set)
{
	struct books books;
	int err = record_ledger(p, kept, &books);

	if (!err)
		err = report_hists_set_ledger(set, &books.ledger);
	if (!err && p->opt->interval) /* the parts of a series are in the file already */
		err = output_begin(&p->output);
	if (err)
		return err;
	report_hists_set_cost(set, &books.cost);
	err = p->opt->interval
		      ? output_failed(&p->output, p->opt->format->write_hists(set, p->output.stream,
									      &p->output.show))
		      : output_hists(&p->output, p->opt, set);
	return err ? err : tell(p, &books);
}

int profile_hists_report(struct profile *p, struct report_hists *set)
{
	struct profile_info info;
	int err = record_info(p, NULL, &info);

	if (err)
		return err;
	err = report_hists_set_info(set, &info.info);
	record_info_free(&info);
	return err ? err : profile_hists_end(p, 0, set);
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

int profile_grid_part(struct profile *p, struct report_grid *grid)
{
	int err = output_begin(&p->output);

	p->output.show.part = true;
	if (!err)
		err = output_failed(&p->output, p->opt->format->write_grid(grid, p->output.stream,
									   &p->output.show));
	p->output.show.part = false;
	report_grid_clear(grid);
	return err;
}

int profile_grid_books(struct profile *p, uint64_t kept, struct report_grid *grid,
		       struct books *books)
{
	int err = record_ledger(p, kept, books);

	if (!err)
		err = report_grid_set_ledger(grid, &books->ledger);
	if (!err)
		report_grid_set_cost(grid, &books->cost);
	return err;
}

int profile_grid_end(struct profile *p, uint64_t kept, struct report_grid *grid)
{
	struct books books;
	int err = profile_grid_books(p, kept, grid, &books);

	if (!err && p->opt->interval)
		err = output_begin(&p->output);
	if (err)
		return err;
	err = p->opt->interval
		      ? output_failed(&p->output, p->opt->format->write_grid(grid, p->output.stream,
									     &p->output.show))
		      : output_grid(&p->output, p->opt, grid);
	return err ? err : tell(p, &books);
}

int profile_grid_report(struct profile *p, struct report_grid *grid)
{
	struct profile_info info;
	int err = record_info(p, NULL, &info);

	if (err)
		return err;
	err = report_grid_set_info(grid, &info.info);
	record_info_free(&info);
	return err ? err : profile_grid_end(p, 0, grid);
}
