/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof mem -k: which code allocates memory in the kernel? See programs/mem/kernel.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "kernel.h"

/* Room for so many stacks: every process has its own. */
#define STACKS 65536
/* Blocks followed at a time: as many as fit in this part of memory. */
#define BLOCKS_SHARE 64
#define BLOCK_COST 96 /* with the hash table's own 48 bytes, as hashtab.c in kernel/bpf has them */

/* ---- programs */

static int attach(struct recording *rec)
{
	struct mem_kernel *mk = rec->ctx;
	uint32_t roles = MEM_KFREE | MEM_CACHE_FREE | MEM_PAGE_FREE | MEM_KMALLOC |
			 MEM_CACHE_ALLOC | MEM_PAGE_ALLOC;
	const struct rp_program *pages;
	uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);
	struct mem_kernel_config config = { .common = rec->config,
					    .page_bytes = page,
					    .page_stride = 1,
					    .large = 2 * page,
					    .cpus = (uint32_t)rp_cpus_possible(),
					    .timed = mk->mem->older_ns || mk->mem->ages,
					    .sizes = mk->mem->sizes,
					    .most_blocks =
						    mk->maps[MEM_KERNEL_MAP_BLOCKS].max_entries };
	const struct rp_btf *btf;
	int err = record_choose(rp_mem_kernel_programs, MEM_PAGE_ALLOC, &pages);

	if (err)
		return err;
	if (pages->hook.kind == RP_HOOK_RAW_TP && !rp_btf_kernel(&btf))
		config.page_stride = (uint32_t)rp_btf_size(btf, "page");
	else
		roles |= MEM_KMALLOC_NODE | MEM_CACHE_ALLOC_NODE;
	if (mk->mem->percpu)
		roles |= MEM_PERCPU_FREE | MEM_PERCPU_ALLOC;
	return record_load_list(rec, rp_mem_kernel_programs, roles, &config);
}

/* Not before all are loaded: what the kernel allocates to check a program does not count. */
static int start(struct recording *rec)
{
	return record_attach_list(rec, rp_mem_kernel_programs);
}

static int configure(struct recording *rec)
{
	const struct mem_kernel *mk = rec->ctx;

	if (mk->mem->sizes && rec->comm_glob)
		return rp_fail(
			-EINVAL,
			"--sizes are counted in the kernel, which cannot tell '%s': try a name, or "
			"its beginning and *",
			rec->comm_glob);
	/* The kernel's frames decide the kind of an allocation, also where they are not shown. */
	if (rec->opt->user_only)
		rec->config.kernel_bytes = rec->config.fp_bytes;
	return 0;
}

/* How long between looks at what is still freed; looks without any that end it; looks at most. */
#define SETTLE_US 20000
#define SETTLE_QUIET 2
#define SETTLE_MOST 50

/*
 * What ends with a process is freed a little later: files by RCU, thousands in small portions.
 * So wait for a grace period, and for more while blocks that are followed go on being freed.
 */
static int stop(struct recording *rec)
{
	struct mem_kernel_stats stats = { 0 };
	uint64_t before;
	int err = 0, quiet = 0;

	for (int i = 0; !err && rec->opt->program && i < SETTLE_MOST && quiet < SETTLE_QUIET; i++) {
		before = stats.frees;
		rp_quiesce();
		usleep(SETTLE_US);
		err = record_stacks_stats(rec->stacks, &stats);
		quiet = stats.frees == before ? quiet + 1 : 0;
	}
	return err;
}

/* ---- what it found */

static int by_tag(const void *a, const void *b)
{
	const struct mem_kernel_cache *x = a, *y = b;

	return x->tag < y->tag ? -1 : x->tag > y->tag;
}

static int take_cache(void *ctx, const void *key, const void *value)
{
	struct mem_kernel *mk = ctx;
	struct mem_kernel_cache *cache;

	if (RP_GROW(mk->caches, mk->ncaches, mk->caches_capacity))
		return -ENOMEM;
	cache = &mk->caches[mk->ncaches++];
	memcpy(&cache->tag, key, sizeof(cache->tag));
	snprintf(cache->name, sizeof(cache->name), "%.*s", MEM_KERNEL_NAME - 1,
		 (const char *)value);
	return 0;
}

const char *mem_kernel_name(struct mem_kernel *mk, uint64_t tag)
{
	const struct mem_kernel_cache wanted = { .tag = tag }, *cache;
	uint64_t detail = tag & ((1ull << MEM_KERNEL_TAG_SHIFT) - 1);

	cache = mk->ncaches ? bsearch(&wanted, mk->caches, mk->ncaches, sizeof(wanted), by_tag)
			    : NULL;
	if (cache)
		return cache->name;
	switch (tag >> MEM_KERNEL_TAG_SHIFT) {
	case MEM_KERNEL_SLAB:
		snprintf(mk->label, sizeof(mk->label), "slab-%" PRIu64, detail);
		return mk->label;
	case MEM_KERNEL_KMALLOC:
		snprintf(mk->label, sizeof(mk->label), "kmalloc-%" PRIu64 "%s",
			 detail < 1024 ? detail : detail / 1024, detail < 1024 ? "" : "k");
		return mk->label;
	case MEM_KERNEL_PAGES:
		return detail ? "movable pages" : "pages";
	case MEM_KERNEL_PERCPU:
		return "per-CPU";
	default:
		return "unnamed cache";
	}
}

struct walk {
	struct recording *rec;
	uint64_t newest; /* blocks that were allocated later do not count */
};

static int take_block(void *ctx, const void *key, const void *value)
{
	const struct mem_kernel_block *block = value;
	const struct walk *walk = ctx;
	uint64_t weights[STACK_VALUES] = { 0 };

	(void)key;
	if (block->time > walk->newest)
		return 0;
	weights[MEM_KERNEL_LIVE_OBJECTS] = 1;
	weights[MEM_KERNEL_LIVE_BYTES] = block->size;
	/* A stack that was lost on its way has been counted as lost. */
	record_stacks_add(walk->rec->stacks, block->hash, weights);
	return 0;
}

enum mem_kernel_fate mem_kernel_fate(const struct recording *rec, const struct stack *stack,
				     const struct stack_place *place)
{
	if (place->slab && stack->record->tag >> MEM_KERNEL_TAG_SHIFT == MEM_KERNEL_PAGES)
		return KERNEL_SLAB_PAGES;
	return place->interrupt && rec->config.filtering ? KERNEL_IN_INTERRUPT : KERNEL_KEPT;
}

static int count_fates(struct recording *rec)
{
	struct mem_kernel *mk = rec->ctx;
	const struct stack *stack = NULL;
	int err = 0;

	while (!err && (stack = record_stacks_next(rec->stacks, stack))) {
		struct stack_place place;

		err = places_of(&mk->places, stack->record, &place);
		if (!err)
			mk->fate[mem_kernel_fate(rec, stack, &place)] +=
				stack->value[MEM_KERNEL_OBJECTS];
	}
	return err;
}

static int collect(struct recording *rec)
{
	struct mem_kernel *mk = rec->ctx;
	struct walk walk = { .rec = rec, .newest = UINT64_MAX };
	int err;

	if (mk->mem->older_ns)
		walk.newest = rec->end_ns > mk->mem->older_ns ? rec->end_ns - mk->mem->older_ns : 0;
	mk->missed = record_runs(rec, rp_mem_kernel_programs, RECORD_ALL_ROLES).missed;
	err = record_stacks_stats(rec->stacks, &mk->stats);
	if (!err)
		err = record_stacks_each(rec->stacks, MEM_KERNEL_MAP_CACHES, take_cache, mk);
	if (!err)
		err = record_stacks_each(rec->stacks, MEM_KERNEL_MAP_BLOCKS, take_block, &walk);
	if (mk->ncaches)
		qsort(mk->caches, mk->ncaches, sizeof(*mk->caches), by_tag);
	mk->places.rec = rec;
	if (!err)
		err = record_prepare_kernel(rec);
	return err ? err : count_fates(rec);
}

/* ---- what it weighs */

static const struct report_value_type *types(const struct recording *rec, size_t *n)
{
	static const struct report_value_type all[] = { { "alloc_objects", "count" },
							{ "alloc_space", "bytes" },
							{ "inuse_objects", "count" },
							{ "inuse_space", "bytes" } };

	(void)rec;
	*n = sizeof(all) / sizeof(all[0]);
	return all;
}

static bool leaks_only(const struct mem_kernel *mk)
{
	return mk->mem->leaks || mk->mem->older_ns;
}

static bool values(const struct recording *rec, const struct stack *stack, uint64_t *value)
{
	struct mem_kernel *mk = rec->ctx;
	struct stack_place place;

	if (places_of(&mk->places, stack->record, &place))
		return false;
	return mem_kernel_fate(rec, stack, &place) == KERNEL_KEPT &&
	       (!leaks_only(mk) || value[MEM_KERNEL_LIVE_OBJECTS]);
}

static int decorate(struct recording *rec, const struct stack *stack, struct report_sample *sample)
{
	struct mem_kernel *mk = rec->ctx;
	static struct report_label label;
	struct stack_place place;
	int err = places_of(&mk->places, stack->record, &place);

	if (err)
		return err;
	label = (struct report_label){ .key = "cache",
				       .str = mem_kernel_name(mk, stack->record->tag) };
	sample->labels = &label;
	sample->nlabels = 1;
	if (place.interrupt) {
		sample->comm = "[interrupt]";
		sample->pid = sample->tid = 0;
		if (sample->nframes > place.interrupt)
			sample->nframes = place.interrupt;
	} else if (rec->opt->user_only && sample->nframes >= place.frames) {
		sample->frames += place.frames;
		sample->nframes -= place.frames;
	}
	return 0;
}

/* ---- the ledger */

static int ledger(struct recording *rec, uint64_t kept, struct record_ledger *b)
{
	const struct mem_kernel *mk = rec->ctx;
	const struct mem_kernel_stats *s = &mk->stats;

	(void)kept; /* of which --leaks shows but a part */
	b->report.events = "allocations and frees";
	b->report.fired += mk->missed;
	b->report.kept = mk->fate[KERNEL_KEPT] - rec->not_wanted + s->frees;
	record_ledger_add(b, "frees of blocks not known", s->unknown, REPORT_FILTERED);
	record_ledger_add(b, "frees of nothing", s->nothing, REPORT_FILTERED);
	record_ledger_add(b, "pages for slabs", mk->fate[KERNEL_SLAB_PAGES], REPORT_FILTERED);
	record_ledger_add(b, "seen twice", s->seen_twice, REPORT_FILTERED);
	record_ledger_add(b, "failed", s->failed, REPORT_FILTERED);
	record_ledger_add(b, "in interrupts", mk->fate[KERNEL_IN_INTERRUPT], REPORT_FILTERED);
	record_ledger_add(b, "no room for blocks", s->map_full, REPORT_LOST);
	record_ledger_add(b, "map busy", s->map_busy, REPORT_LOST);
	record_ledger_add(b, "nested", mk->missed, REPORT_LOST);
	if (s->reused)
		rp_log(leaks_only(mk) ? RP_WARN : RP_INFO,
		       "%" PRIu64 " blocks were given out again though no free of them was seen "
		       "(in bulk, by RCU): some of what is outstanding may be free",
		       s->reused);
	if (s->torn)
		rp_log(RP_WARN,
		       "%" PRIu64 " parts of pages that were freed in parts are missing "
		       "in what is outstanding",
		       s->torn);
	return 0;
}

/* ---- the command */

static const struct record_profiler mem_kernel_profiler = {
	.command = "mem",
	.nmaps = MEM_KERNEL_MAPS,
	.weight = MEM_KERNEL_BYTES,
	.color_by_label = "cache",
	.ring_factor = 8, /* many stacks are new at the same time, each of them a kilobyte */
	.configure = configure,
	.attach = attach,
	.start = start,
	.stop = stop,
	.collect = collect,
	.types = types,
	.values = values,
	.decorate = decorate,
	.ledger = ledger,
};

/* What only makes sense of a process's own allocator. */
static const char *not_for_us(const struct mem_options *mem)
{
	return mem->temporary	   ? "--temporary"
	       : mem->trace	   ? "--trace"
	       : mem->obj	   ? "--obj"
	       : mem->prefix	   ? "--symbols-prefix"
	       : mem->sample_bytes ? "--sample-bytes"
	       : mem->max_overhead ? "--max-overhead"
				   : NULL;
}

int mem_kernel(const struct options *opt)
{
	struct mem_kernel mk = { .mem = opt->own, .profiler = mem_kernel_profiler };
	const char *wrong = not_for_us(mk.mem);
	int status;

	if (wrong) {
		rp_log(RP_ERROR, "%s is about the allocator of programs: not with --kernel", wrong);
		return EXIT_USAGE;
	}
	memcpy(mk.maps, rp_mem_kernel_maps, sizeof(mk.maps));
	mk.maps[STACK_MAP_COUNTS].max_entries = STACKS;
	mk.maps[MEM_KERNEL_MAP_BLOCKS].max_entries = mem_blocks_wanted(BLOCKS_SHARE, BLOCK_COST);
	mk.profiler.maps = mk.maps;
	if (leaks_only(&mk))
		mk.profiler.weight = MEM_KERNEL_LIVE_BYTES;
	if (mk.mem->processes) {
		mk.profiler.report = mem_kernel_processes;
		mk.profiler.empty_grid = mem_kernel_empty_grid;
		mk.profiler.output = RECORD_GRID;
	} else if (mk.mem->sizes || mk.mem->ages) {
		mk.profiler.report = mk.mem->sizes ? mem_kernel_sizes : mem_kernel_ages;
		mk.profiler.output = RECORD_HISTS;
	}
	status = run_profiler(&mk.profiler, opt, &mk);
	places_free(&mk.places);
	free(mk.caches);
	return status;
}
