/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocations otherwise than as stacks: by process, by size, by age. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/hist.h>
#include "ranges.h"

#include "processes.h"
#include "user.h"
#include "cli/views.h"

/* ---- by process */

/* While recording, the rest of a stack's weights is in the kernel and the ledger of mappings. */
static void add_what_is_elsewhere(struct recording *rec, struct stack *stack)
{
	const struct mem_user *m = rec->ctx;
	uint64_t more[MEM_WEIGHTS];

	if (!rp_map_lookup(record_stacks_map(rec->stacks, STACK_MAP_COUNTS), &stack->record->hash,
			   more))
		for (int i = 0; i < MEM_WEIGHTS; i++)
			stack->value[i] += more[i];
	/* Blocks may come and go between the first of these numbers and the last. */
	for (int i = MEM_GONE_OBJECTS; i <= MEM_GONE_SPACE; i++)
		if (stack->value[i] > stack->value[i - MEM_GONE_OBJECTS])
			stack->value[i] = stack->value[i - MEM_GONE_OBJECTS];
	if (m->mmap && mem_ranges_site(mem_mmap_ranges(m->mmap), stack->record->hash, more))
		for (int i = 0; i < MEM_WEIGHTS; i++)
			stack->value[i] += more[i];
}

static int take_row(struct recording *rec, const struct stack *stack, struct mem_row *row)
{
	const struct mem_user *m = rec->ctx;
	struct stack whole = *stack;

	if (!record_comm_wanted(rec, stack->record->comm)) {
		if (m->collected)
			rec->not_wanted += stack->value[MEM_ALLOC_OBJECTS];
		return 0;
	}
	if (!m->collected)
		add_what_is_elsewhere(rec, &whole);
	mem_user_values(m, &whole, row->value);
	return 1;
}

static struct mem_processes processes_view(const struct mem_user *m)
{
	return (struct mem_processes){
		.title = "allocations by process",
		.metric = "mem",
		.live = { "IN USE", "inuse", REPORT_UNIT_COUNT, .adds = true },
		.live_bytes = { "BYTES IN USE", "inuse_bytes", REPORT_UNIT_BYTES, .adds = true },
		.by_live = m->mem->leaks,
		.take = take_row,
	};
}

int mem_user_empty_grid(struct recording *rec, struct report_grid **out)
{
	const struct mem_processes view = processes_view(rec->ctx);

	return mem_processes_empty(rec, &view, out);
}

int mem_user_interval(struct recording *rec)
{
	struct mem_user *m = rec->ctx;
	const struct mem_processes view = processes_view(m);

	return mem_processes_part(rec, &view, &m->series);
}

int mem_user_processes(struct recording *rec)
{
	struct mem_user *m = rec->ctx;
	const struct mem_processes view = processes_view(m);

	return rec->opt->interval ? mem_processes_end(rec, &view, &m->series)
				  : mem_processes_report(rec, &view);
}

/* ---- histograms */

/* By number of the histogram in the map sizes. */
static const char *const call_names[MEM_CALLS] = {
	[MEM_MALLOC] = "malloc",    [MEM_CALLOC] = "calloc",
	[MEM_REALLOC] = "realloc",  [MEM_REALLOCARRAY] = "reallocarray",
	[MEM_ALIGNED] = "aligned",  [MEM_POSIX_MEMALIGN] = "posix_memalign",
	[MEM_NEW] = "operator new",
};
/* In the order of their texts too, in which they are shown. */
static const char *const class_names[MEM_CALLS] = { "up to 1 KiB", "up to 16 KiB", "up to 256 KiB",
						    "up to 4 MiB", "up to any size" };

struct sizes {
	struct report_hists *set;
	const struct asm_map *map;
	const char *const *names;
	uint64_t counted;
};

static int take_sizes(void *ctx, const void *key, const void *value)
{
	struct sizes *sizes = ctx;
	size_t stride = rp_map_cpu_stride(sizes->map);
	struct report_hist *hist;
	uint32_t call;
	int err;

	memcpy(&call, key, sizeof(call));
	if (call >= MEM_CALLS || !sizes->names[call])
		return 0;
	err = report_hists_get(sizes->set, &sizes->names[call], &hist);
	if (!err)
		err = hist_merge(hist, sizes->map, value, MEM_HIST_SLOTS);
	for (int cpu = 0; !err && cpu < rp_cpus_possible(); cpu++) {
		const struct mem_sizes *s =
			(const void *)((const char *)value + (size_t)cpu * stride);

		for (int i = 0; i < MEM_HIST_SLOTS; i++)
			sizes->counted += s->slots[i];
	}
	return err;
}

static int report_sizes(struct recording *rec, const struct report_hists_spec *spec,
			const char *const names[MEM_CALLS], uint64_t *counted)
{
	struct sizes sizes = { .map = &record_stacks_maps(rec->stacks)[MEM_MAP_SIZES],
			       .names = names };
	int err = report_hists_new(spec, &sizes.set);

	if (!err)
		err = record_stacks_each(rec->stacks, MEM_MAP_SIZES, take_sizes, &sizes);
	*counted = sizes.counted;
	if (!err)
		err = hists_report(rec, sizes.set);
	report_hists_free(sizes.set);
	return err;
}

int mem_user_sizes(struct recording *rec)
{
	static const char *const key = "call";
	const struct report_hists_spec spec = { .title = "size of allocations",
						.metric = "mem_size",
						.events = "allocations",
						.unit = REPORT_UNIT_BYTES,
						.bits = MEM_HIST_BITS,
						.keys = &key,
						.nkeys = 1 };
	struct mem_user *m = rec->ctx;

	return report_sizes(rec, &spec, call_names, &m->sizes_kept);
}

int mem_user_lifetimes(struct recording *rec)
{
	static const char *const key = "size";
	const struct report_hists_spec spec = { .title = "how long blocks lived that were freed",
						.metric = "mem_lifetime",
						.events = "blocks",
						.unit = REPORT_UNIT_NS,
						.bits = MEM_HIST_BITS,
						.keys = &key,
						.nkeys = 1 };
	uint64_t blocks;

	return report_sizes(rec, &spec, class_names, &blocks);
}

struct ages {
	struct report_hist *hist;
	uint64_t now;
};

static int take_age_of(void *ctx, const struct mem_block *block)
{
	struct ages *ages = ctx;

	report_hist_add(ages->hist, ages->now > block->time ? ages->now - block->time : 0, 1);
	return 0;
}

static int take_age(void *ctx, const void *key, const void *value)
{
	(void)key;
	return take_age_of(ctx, value);
}

int mem_user_ages(struct recording *rec)
{
	const struct report_hists_spec spec = { .title = "age of what has not been freed",
						.metric = "mem_age",
						.events = "blocks",
						.unit = REPORT_UNIT_NS,
						.bits = MEM_HIST_BITS };
	const struct mem_user *m = rec->ctx;
	struct ages ages = { .now = rec->end_ns };
	struct report_hists *set = NULL;
	int err = report_hists_new(&spec, &set);

	if (!err)
		err = report_hists_get(set, NULL, &ages.hist);
	if (!err)
		err = record_stacks_each(rec->stacks, MEM_MAP_BLOCKS, take_age, &ages);
	if (!err && m->mmap)
		err = mem_ranges_blocks(mem_mmap_ranges(m->mmap), take_age_of, &ages);
	if (!err)
		err = hists_report(rec, set);
	report_hists_free(set);
	return err;
}
