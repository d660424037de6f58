/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocations otherwise than as stacks: by process, by size, by age. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/grid.h>
#include <rawprof/hist.h>

#include "machine.h"
#include "mem_user.h"

/* ---- by process ------------------------------------------------------------------------------------------- */

struct row {
	uint32_t pid;
	const char *comm;
	uint64_t value[STACK_VALUES];
};

static int by_process(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return strcmp(x->comm, y->comm);
}

/* One for each process and name of it: threads have names of their own, an exec changes them. */
static size_t merge_rows(struct row *row, size_t n)
{
	size_t merged = 0;

	if (n)
		qsort(row, n, sizeof(*row), by_process);
	for (size_t i = 0; i < n; i++) {
		if (merged && !by_process(&row[merged - 1], &row[i]))
			for (int v = 0; v < STACK_VALUES; v++)
				row[merged - 1].value[v] += row[i].value[v];
		else
			row[merged++] = row[i];
	}
	return merged;
}

static int collect_rows(struct profile *p, struct row **out, size_t *n)
{
	const struct stack *stack = NULL;
	struct row *row = calloc(stacks_count(p->stacks) + 1, sizeof(*row));

	if (!row)
		return -ENOMEM;
	*n = 0;
	while ((stack = stacks_next(p->stacks, stack))) {
		const struct stack_record *r = stack->record;

		if (!profile_comm_wanted(p, r->comm)) {
			p->not_wanted += stack->value[MEM_ALLOC_OBJECTS];
			continue;
		}
		row[*n] = (struct row){ .pid = (uint32_t)(r->pid_tgid >> 32), .comm = r->comm };
		mem_user_values(p->ctx, stack, row[(*n)++].value);
	}
	*n = merge_rows(row, *n);
	*out = row;
	return 0;
}

enum { PID, COMM, ALLOCS, BYTES, RATE, LIVE, LIVE_BYTES, COLUMNS };
static const struct report_column columns[COLUMNS] = {
	[PID] = { "PID", "pid", REPORT_UNIT_ID },
	[COMM] = { "COMMAND", "comm", REPORT_UNIT_TEXT },
	[ALLOCS] = { "ALLOCATIONS", "allocations", REPORT_UNIT_COUNT, .adds = true },
	[BYTES] = { "BYTES", "bytes", REPORT_UNIT_BYTES, .adds = true },
	[RATE] = { "RATE", "rate", REPORT_UNIT_BYTES, .per_second = true, .adds = true },
	[LIVE] = { "IN USE", "inuse", REPORT_UNIT_COUNT, .adds = true },
	[LIVE_BYTES] = { "BYTES IN USE", "inuse_bytes", REPORT_UNIT_BYTES, .adds = true },
};

static int add_cells(struct report_grid *g, const struct row *row, double seconds)
{
	const struct report_cell cells[COLUMNS] = {
		[PID] = { .number = row->pid },
		[COMM] = { .text = row->comm },
		[ALLOCS] = { .number = row->value[MEM_ALLOC_OBJECTS] },
		[BYTES] = { .number = row->value[MEM_ALLOC_SPACE] },
		[RATE] = { .real = seconds > 0 ? (double)row->value[MEM_ALLOC_SPACE] / seconds
					       : 0 },
		[LIVE] = { .number = row->value[MEM_INUSE_OBJECTS] },
		[LIVE_BYTES] = { .number = row->value[MEM_INUSE_SPACE] },
	};

	return report_grid_add(g, cells);
}

static int sort_grid(const struct profile *p, struct report_grid *g)
{
	const struct mem_user *m = p->ctx;
	int column = m->mem->leaks ? LIVE_BYTES : BYTES;

	if (p->opt->sort)
		column = report_grid_column(g, p->opt->sort);
	if (column < 0)
		return rp_fail(
			-EINVAL,
			"no column '%s': there are pid, comm, allocations, bytes, rate, inuse, "
			"inuse_bytes",
			p->opt->sort);
	return report_grid_sort(g, (unsigned int)column, false, p->opt->show.top_functions);
}

static int fill_grid(struct profile *p, struct report_grid *g, struct books *books)
{
	double seconds = (double)(p->session.end_ns - p->session.begin_ns) / NS_PER_SECOND;
	struct profile_info info;
	struct row *row = NULL;
	size_t n = 0;
	int err = collect_rows(p, &row, &n);

	for (size_t i = 0; !err && i < n; i++)
		err = add_cells(g, &row[i], seconds);
	free(row);
	if (!err)
		err = sort_grid(p, g);
	if (!err)
		err = profile_info(p, NULL, &info);
	if (err)
		return err;
	err = report_grid_set_info(g, &info.info);
	profile_info_free(&info);
	if (!err)
		err = profile_books(p, 0, books);
	if (!err)
		err = report_grid_set_ledger(g, &books->ledger);
	if (!err)
		report_grid_set_cost(g, &books->cost);
	return err;
}

int mem_user_processes(struct profile *p)
{
	const struct report_grid_spec spec = { .title = "allocations by process",
					       .metric = "mem",
					       .events = "allocations",
					       .rows = "processes",
					       .columns = columns,
					       .ncolumns = COLUMNS };
	struct report_grid *g = NULL;
	struct books books;
	int err = report_grid_new(&spec, &g);

	if (!err)
		err = fill_grid(p, g, &books);
	if (!err)
		err = output_grid(&p->output, p->opt, g);
	if (!err)
		err = output_tell(&p->output, p->opt, NULL, &books.ledger, &books.cost);
	report_grid_free(g);
	return err;
}

/* ---- histograms ------------------------------------------------------------------------------------------- */

static int write_hists(struct profile *p, struct report_hists *set)
{
	struct profile_info info;
	struct books books;
	int err = profile_info(p, NULL, &info);

	if (err)
		return err;
	err = report_hists_set_info(set, &info.info);
	profile_info_free(&info);
	if (!err)
		err = profile_books(p, 0, &books);
	if (!err)
		err = report_hists_set_ledger(set, &books.ledger);
	if (err)
		return err;
	report_hists_set_cost(set, &books.cost);
	err = output_hists(&p->output, p->opt, set);
	return err ? err : output_tell(&p->output, p->opt, NULL, &books.ledger, &books.cost);
}

struct sizes {
	struct report_hists *set;
	const struct asm_map *map;
	uint64_t counted;
};

static int take_sizes(void *ctx, const void *key, const void *value)
{
	static const char *const names[MEM_CALLS] = {
		[MEM_MALLOC] = "malloc",    [MEM_CALLOC] = "calloc",
		[MEM_REALLOC] = "realloc",  [MEM_REALLOCARRAY] = "reallocarray",
		[MEM_ALIGNED] = "aligned",  [MEM_POSIX_MEMALIGN] = "posix_memalign",
		[MEM_NEW] = "operator new",
	};
	struct sizes *sizes = ctx;
	size_t stride = rp_map_cpu_stride(sizes->map);
	struct report_hist *hist;
	uint32_t call;
	int err;

	memcpy(&call, key, sizeof(call));
	if (call >= MEM_CALLS || !names[call])
		return 0;
	err = report_hists_get(sizes->set, &names[call], &hist);
	for (int cpu = 0; !err && cpu < rp_cpus_possible(); cpu++) {
		const struct mem_sizes *s =
			(const void *)((const char *)value + (size_t)cpu * stride);
		const struct report_hist_counts counts = { .sum = s->sum,
							   .not_least = s->not_least,
							   .greatest = s->greatest,
							   .slots = s->slots,
							   .nslots = MEM_HIST_SLOTS };

		err = report_hist_merge(hist, &counts);
		for (int i = 0; i < MEM_HIST_SLOTS; i++)
			sizes->counted += s->slots[i];
	}
	return err;
}

int mem_user_sizes(struct profile *p)
{
	static const char *const key = "call";
	const struct report_hists_spec spec = { .title = "size of allocations",
						.metric = "mem_size",
						.events = "allocations",
						.unit = REPORT_UNIT_BYTES,
						.bits = MEM_HIST_BITS,
						.keys = &key,
						.nkeys = 1 };
	struct mem_user *m = p->ctx;
	struct sizes sizes = { .map = &stacks_maps(p->stacks)[MEM_MAP_SIZES] };
	int err = report_hists_new(&spec, &sizes.set);

	if (!err)
		err = rp_map_each(stacks_map(p->stacks, MEM_MAP_SIZES), sizes.map, take_sizes,
				  &sizes);
	m->sizes_kept = sizes.counted;
	if (err >= 0)
		err = write_hists(p, sizes.set);
	report_hists_free(sizes.set);
	return err;
}

struct ages {
	struct report_hist *hist;
	uint64_t now;
};

static int take_age(void *ctx, const void *key, const void *value)
{
	const struct mem_block *block = value;
	struct ages *ages = ctx;

	(void)key;
	report_hist_add(ages->hist, ages->now > block->time ? ages->now - block->time : 0, 1);
	return 0;
}

int mem_user_ages(struct profile *p)
{
	const struct report_hists_spec spec = { .title = "age of what has not been freed",
						.metric = "mem_age",
						.events = "blocks",
						.unit = REPORT_UNIT_NS,
						.bits = MEM_HIST_BITS };
	struct ages ages = { .now = p->session.end_ns };
	struct report_hists *set = NULL;
	int err = report_hists_new(&spec, &set);

	if (!err)
		err = report_hists_get(set, NULL, &ages.hist);
	if (!err)
		err = rp_map_each(stacks_map(p->stacks, MEM_MAP_BLOCKS),
				  &stacks_maps(p->stacks)[MEM_MAP_BLOCKS], take_age, &ages);
	if (err >= 0)
		err = write_hists(p, set);
	report_hists_free(set);
	return err;
}
