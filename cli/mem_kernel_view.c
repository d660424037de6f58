/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel allocations otherwise than as stacks: by process, by size, by age. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/grid.h>
#include <rawprof/hist.h>

#include "machine.h"
#include "mem_kernel.h"

/* ---- by process ------------------------------------------------------------------------------------------- */

struct row {
	uint32_t pid;
	const char *comm;
	uint64_t value[STACK_VALUES];
};
struct rows {
	struct row *row;
	size_t n;
};

static int by_process(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return strcmp(x->comm, y->comm);
}

static int add_row(struct profile *p, const struct stack *stack, struct rows *rows)
{
	struct mem_kernel *mk = p->ctx;
	const struct stack_record *r = stack->record;
	struct stack_place place;
	struct row *row = &rows->row[rows->n];
	int err = places_of(&mk->places, r, &place);

	if (err || mem_kernel_fate(p, stack, &place) != KERNEL_KEPT)
		return err;
	if (!profile_comm_wanted(p, r->comm)) {
		p->not_wanted += stack->value[MEM_KERNEL_OBJECTS];
		return 0;
	}
	*row = (struct row){ .pid = (uint32_t)(r->pid_tgid >> 32), .comm = r->comm };
	if (place.interrupt) {
		row->pid = 0;
		row->comm = "[interrupt]";
	}
	memcpy(row->value, stack->value, sizeof(row->value));
	rows->n++;
	return 0;
}

/* One for each process and name of it: a thread may have a name of its own, an exec changes it. */
static void merge_rows(struct rows *rows)
{
	size_t n = 0;

	if (rows->n)
		qsort(rows->row, rows->n, sizeof(*rows->row), by_process);
	for (size_t i = 0; i < rows->n; i++) {
		if (n && !by_process(&rows->row[n - 1], &rows->row[i]))
			for (int v = 0; v < STACK_VALUES; v++)
				rows->row[n - 1].value[v] += rows->row[i].value[v];
		else
			rows->row[n++] = rows->row[i];
	}
	rows->n = n;
}

static int collect_rows(struct profile *p, struct rows *rows)
{
	const struct stack *stack = NULL;
	int err = 0;

	*rows = (struct rows){ .row = calloc(stacks_count(p->stacks) + 1, sizeof(*rows->row)) };
	if (!rows->row)
		return -ENOMEM;
	while (!err && (stack = stacks_next(p->stacks, stack)))
		err = add_row(p, stack, rows);
	merge_rows(rows);
	return err;
}

enum { PID, COMM, ALLOCS, BYTES, RATE, LIVE, LIVE_BYTES, COLUMNS };
static const struct report_column columns[COLUMNS] = {
	[PID] = { "PID", "pid", REPORT_UNIT_ID, .adds = false },
	[COMM] = { "COMMAND", "comm", REPORT_UNIT_TEXT },
	[ALLOCS] = { "ALLOCATIONS", "allocations", REPORT_UNIT_COUNT, .adds = true },
	[BYTES] = { "BYTES", "bytes", REPORT_UNIT_BYTES, .adds = true },
	[RATE] = { "RATE", "rate", REPORT_UNIT_BYTES, .per_second = true, .adds = true },
	[LIVE] = { "OUTSTANDING", "outstanding", REPORT_UNIT_COUNT, .adds = true },
	[LIVE_BYTES] = { "BYTES OUT", "outstanding_bytes", REPORT_UNIT_BYTES, .adds = true },
};

static int add_cells(struct report_grid *g, const struct row *row, double seconds)
{
	const struct report_cell cells[COLUMNS] = {
		[PID] = { .number = row->pid },
		[COMM] = { .text = row->comm },
		[ALLOCS] = { .number = row->value[MEM_KERNEL_OBJECTS] },
		[BYTES] = { .number = row->value[MEM_KERNEL_BYTES] },
		[RATE] = { .real = seconds > 0 ? (double)row->value[MEM_KERNEL_BYTES] / seconds
					       : 0 },
		[LIVE] = { .number = row->value[MEM_KERNEL_LIVE_OBJECTS] },
		[LIVE_BYTES] = { .number = row->value[MEM_KERNEL_LIVE_BYTES] },
	};

	return report_grid_add(g, cells);
}

static int sort_grid(const struct profile *p, struct report_grid *g)
{
	const struct mem_kernel *mk = p->ctx;
	int column = mk->mem->leaks || mk->mem->older_ns ? LIVE_BYTES : BYTES;

	if (p->opt->sort)
		column = report_grid_column(g, p->opt->sort);
	if (column < 0)
		return rp_fail(-EINVAL,
			       "no column '%s': there are pid, comm, allocations, bytes, rate, "
			       "outstanding, outstanding_bytes",
			       p->opt->sort);
	return report_grid_sort(g, (unsigned int)column, false, p->opt->show.top_functions);
}

static int fill_grid(struct profile *p, struct report_grid *g, struct books *books)
{
	double seconds = (double)(p->session.end_ns - p->session.begin_ns) / NS_PER_SECOND;
	struct profile_info info;
	struct rows rows;
	int err = collect_rows(p, &rows);

	for (size_t i = 0; !err && i < rows.n; i++)
		err = add_cells(g, &rows.row[i], seconds);
	free(rows.row);
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

int mem_kernel_processes(struct profile *p)
{
	const struct report_grid_spec spec = { .title = "kernel allocations by process",
					       .metric = "mem_kernel",
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

/* ---- histograms by kind ----------------------------------------------------------------------------------- */

static const char *const kinds[MEM_KERNEL_KINDS] = { [MEM_KERNEL_SLAB] = "slab",
						     [MEM_KERNEL_KMALLOC] = "kmalloc",
						     [MEM_KERNEL_PAGES] = "pages",
						     [MEM_KERNEL_PERCPU] = "per-CPU" };

struct kind_hists {
	struct profile *p;
	struct report_hists *set;
};

static int read_map(const struct kind_hists *h, int map, rp_map_fn fn)
{
	int n = rp_map_each(stacks_map(h->p->stacks, map), &stacks_maps(h->p->stacks)[map], fn,
			    (void *)h);

	return n < 0 ? n : 0;
}

/* Sizes were counted before anybody knew of what: the slab allocator's own pages are among them. */
static int take_sizes(void *ctx, const void *key, const void *value)
{
	const struct kind_hists *h = ctx;
	size_t stride = rp_map_cpu_stride(&stacks_maps(h->p->stacks)[MEM_KERNEL_MAP_SIZES]);
	struct report_hist *hist;
	uint32_t kind;
	int err;

	memcpy(&kind, key, sizeof(kind));
	if (kind >= MEM_KERNEL_KINDS)
		return -EBADMSG;
	err = report_hists_get(h->set, &kinds[kind], &hist);
	for (int cpu = 0; !err && cpu < rp_cpus_possible(); cpu++) {
		const struct asm_hist *of_cpu =
			(const void *)((const char *)value + (size_t)cpu * stride);
		const struct report_hist_counts counts = { .sum = of_cpu->sum,
							   .not_least = of_cpu->not_least,
							   .greatest = of_cpu->greatest,
							   .slots = of_cpu->slots,
							   .nslots = MEM_KERNEL_HIST_SLOTS };

		err = report_hist_merge(hist, &counts);
	}
	return err;
}

static int fill_sizes(const struct kind_hists *h)
{
	struct mem_kernel *mk = h->p->ctx;

	for (int fate = 0; fate < KERNEL_FATES; fate++)
		if (fate != KERNEL_KEPT) {
			mk->fate[KERNEL_KEPT] += mk->fate[fate];
			mk->fate[fate] = 0;
		}
	return read_map(h, MEM_KERNEL_MAP_SIZES, take_sizes);
}

static int take_age(void *ctx, const void *key, const void *value)
{
	const struct mem_kernel_block *block = value;
	const struct kind_hists *h = ctx;
	const struct stack *stack = stacks_find(h->p->stacks, block->hash);
	struct mem_kernel *mk = h->p->ctx;
	uint64_t end = h->p->session.end_ns, age = end > block->time ? end - block->time : 0;
	struct report_hist *hist;
	struct stack_place place;
	uint64_t tag;
	int err;

	(void)key;
	if (!stack || age < mk->mem->older_ns)
		return 0;
	err = places_of(&mk->places, stack->record, &place);
	if (err || mem_kernel_fate(h->p, stack, &place) != KERNEL_KEPT ||
	    !profile_comm_wanted(h->p, stack->record->comm))
		return err;
	tag = stack->record->tag >> MEM_KERNEL_TAG_SHIFT;
	err = report_hists_get(h->set, &kinds[tag < MEM_KERNEL_KINDS ? tag : MEM_KERNEL_SLAB],
			       &hist);
	if (!err)
		report_hist_add(hist, age, 1);
	return err;
}

static int fill_ages(const struct kind_hists *h)
{
	return read_map(h, MEM_KERNEL_MAP_BLOCKS, take_age);
}

static int close_hists(struct profile *p, struct report_hists *set, struct books *books)
{
	struct profile_info info;
	int err = profile_info(p, NULL, &info);

	if (err)
		return err;
	err = report_hists_set_info(set, &info.info);
	profile_info_free(&info);
	if (!err)
		err = profile_books(p, 0, books);
	if (!err)
		err = report_hists_set_ledger(set, &books->ledger);
	if (!err)
		report_hists_set_cost(set, &books->cost);
	return err;
}

static int show_hists(struct profile *p, const struct report_hists_spec *spec,
		      int (*fill)(const struct kind_hists *h))
{
	struct kind_hists h = { .p = p };
	struct books books;
	int err = report_hists_new(spec, &h.set);

	if (!err)
		err = fill(&h);
	if (!err)
		err = close_hists(p, h.set, &books);
	if (!err)
		err = output_hists(&p->output, p->opt, h.set);
	if (!err)
		err = output_tell(&p->output, p->opt, NULL, &books.ledger, &books.cost);
	report_hists_free(h.set);
	return err;
}

static const char *const kind_key = "kind";

int mem_kernel_sizes(struct profile *p)
{
	const struct report_hists_spec spec = { .title = "size of kernel allocations",
						.metric = "mem_kernel_size",
						.events = "allocations",
						.unit = REPORT_UNIT_BYTES,
						.bits = MEM_KERNEL_HIST_BITS,
						.keys = &kind_key,
						.nkeys = 1 };

	return show_hists(p, &spec, fill_sizes);
}

int mem_kernel_ages(struct profile *p)
{
	const struct report_hists_spec spec = { .title = "age of what has not been freed",
						.metric = "mem_kernel_age",
						.events = "blocks",
						.unit = REPORT_UNIT_NS,
						.bits = REPORT_HIST_BITS,
						.keys = &kind_key,
						.nkeys = 1 };

	return show_hists(p, &spec, fill_ages);
}
