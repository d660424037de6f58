/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel allocations otherwise than as stacks: by process, by size, by age. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/hist.h>

#include "kernel.h"
#include "processes.h"
#include "cli/views.h"

/* ---- by process */

static int take_row(struct recording *rec, const struct stack *stack, struct mem_row *row)
{
	struct mem_kernel *mk = rec->ctx;
	const struct stack_record *r = stack->record;
	struct stack_place place;
	int err = places_of(&mk->places, r, &place);

	if (err || mem_kernel_fate(rec, stack, &place) != KERNEL_KEPT)
		return err;
	if (!record_comm_wanted(rec, r->comm)) {
		rec->not_wanted += stack->value[MEM_KERNEL_OBJECTS];
		return 0;
	}
	if (place.interrupt) {
		row->pid = 0;
		row->comm = "[interrupt]";
	}
	memcpy(row->value, stack->value, sizeof(row->value));
	return 1;
}

static struct mem_processes processes_view(const struct mem_kernel *mk)
{
	return (struct mem_processes){
		.title = "kernel allocations by process",
		.metric = "mem_kernel",
		.live = { "OUTSTANDING", "outstanding", REPORT_UNIT_COUNT, .adds = true },
		.live_bytes = { "BYTES OUT", "outstanding_bytes", REPORT_UNIT_BYTES, .adds = true },
		.by_live = mk->mem->leaks || mk->mem->older_ns,
		.take = take_row,
	};
}

int mem_kernel_empty_grid(struct recording *rec, struct report_grid **out)
{
	const struct mem_processes view = processes_view(rec->ctx);

	return mem_processes_empty(rec, &view, out);
}

int mem_kernel_processes(struct recording *rec)
{
	const struct mem_processes view = processes_view(rec->ctx);

	return mem_processes_report(rec, &view);
}

/* ---- histograms by kind */

static const char *const kinds[MEM_KERNEL_KINDS] = { [MEM_KERNEL_SLAB] = "slab",
						     [MEM_KERNEL_KMALLOC] = "kmalloc",
						     [MEM_KERNEL_PAGES] = "pages",
						     [MEM_KERNEL_PERCPU] = "per-CPU" };

struct kind_hists {
	struct recording *rec;
	struct report_hists *set;
};

/* Sizes were counted without stacks: the slab allocator's own pages are among them. */
static int take_sizes(void *ctx, const void *key, const void *value)
{
	const struct kind_hists *h = ctx;
	struct report_hist *hist;
	uint32_t kind;
	int err;

	memcpy(&kind, key, sizeof(kind));
	if (kind >= MEM_KERNEL_KINDS)
		return -EBADMSG;
	err = report_hists_get(h->set, &kinds[kind], &hist);
	return err ? err
		   : hist_merge(hist, &record_stacks_maps(h->rec->stacks)[MEM_KERNEL_MAP_SIZES],
				value, MEM_KERNEL_HIST_SLOTS);
}

static int take_age(void *ctx, const void *key, const void *value)
{
	const struct mem_kernel_block *block = value;
	const struct kind_hists *h = ctx;
	const struct stack *stack = record_stacks_find(h->rec->stacks, block->hash);
	struct mem_kernel *mk = h->rec->ctx;
	uint64_t end = h->rec->end_ns, age = end > block->time ? end - block->time : 0;
	struct report_hist *hist;
	struct stack_place place;
	uint64_t tag;
	int err;

	(void)key;
	if (!stack || age < mk->mem->older_ns)
		return 0;
	err = places_of(&mk->places, stack->record, &place);
	if (err || mem_kernel_fate(h->rec, stack, &place) != KERNEL_KEPT ||
	    !record_comm_wanted(h->rec, stack->record->comm))
		return err;
	tag = stack->record->tag >> MEM_KERNEL_TAG_SHIFT;
	err = report_hists_get(h->set, &kinds[tag < MEM_KERNEL_KINDS ? tag : MEM_KERNEL_SLAB],
			       &hist);
	if (!err)
		report_hist_add(hist, age, 1);
	return err;
}

static int show_hists(struct recording *rec, const struct report_hists_spec *spec, int map,
		      rp_map_fn take)
{
	struct kind_hists h = { .rec = rec };
	int err = report_hists_new(spec, &h.set);

	if (!err)
		err = record_stacks_each(rec->stacks, map, take, &h);
	if (!err)
		err = hists_report(rec, h.set);
	report_hists_free(h.set);
	return err;
}

static const char *const kind_key = "kind";

int mem_kernel_sizes(struct recording *rec)
{
	const struct report_hists_spec spec = { .title = "size of kernel allocations",
						.metric = "mem_kernel_size",
						.events = "allocations",
						.unit = REPORT_UNIT_BYTES,
						.bits = MEM_KERNEL_HIST_BITS,
						.keys = &kind_key,
						.nkeys = 1 };
	struct mem_kernel *mk = rec->ctx;

	for (int fate = 0; fate < KERNEL_FATES; fate++)
		if (fate != KERNEL_KEPT) {
			mk->fate[KERNEL_KEPT] += mk->fate[fate];
			mk->fate[fate] = 0;
		}
	return show_hists(rec, &spec, MEM_KERNEL_MAP_SIZES, take_sizes);
}

int mem_kernel_ages(struct recording *rec)
{
	const struct report_hists_spec spec = { .title = "age of what has not been freed",
						.metric = "mem_kernel_age",
						.events = "blocks",
						.unit = REPORT_UNIT_NS,
						.bits = REPORT_HIST_BITS,
						.keys = &kind_key,
						.nkeys = 1 };

	return show_hists(rec, &spec, MEM_KERNEL_MAP_BLOCKS, take_age);
}
