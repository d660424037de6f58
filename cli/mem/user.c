/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof mem: allocations in user space, and what is not freed. See programs/mem/user.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranges.h"

#include "cli/views.h"
#include "record/system.h"
#include "user.h"

/* ---- probes */

/* A probe is in user code: the kernel's side says nothing. */
static int configure(struct recording *rec)
{
	const struct mem_user *m = rec->ctx;
	struct program_config *c = &rec->config;

	c->kernel_bytes = 0;
	c->probe = rp_has(RP_HAS_BPF_LOOP); /* which its walk needs */
	if (!m->config.follow || m->mem->processes || m->mem->ages || m->mem->lifetimes)
		c->user_bytes = c->user_frames = c->fp_bytes = c->eh = 0;
	return 0;
}

static bool kernel_knows_owner(void)
{
	char why[256];
	struct asm_access access;

	return !rp_bind_field(NULL, "task_struct", "mm.owner", &access, why);
}

static int attach(struct recording *rec)
{
	struct mem_user *m = rec->ctx;
	int err = 0;

	m->config.common = rec->config;
	m->config.by_owner = rec->config.identity && kernel_knows_owner();
	m->config.mapped_ends = m->config.peak_sites && m->mmap_too;
	if (rec->opt->pids.n && !rec->opt->tids.n) {
		/* No filter: the probes are on these processes alone. */
		m->config.common.by_pid = 0;
		m->config.common.filtering =
			rec->config.ns_inode || rec->config.cgroup_id || rec->config.comm.mask[0];
	}
	if (m->config.sample)
		err = mem_sample_fill(rec->stacks, m->mean);
	if (!err && m->mmap_too)
		err = mem_mmap_open(rec, &m->config, &m->mmap);
	if (!err)
		err = mem_probes_open(rec, &m->config, &m->probes);
	if (!err && m->mem->max_overhead)
		err = mem_overhead_open(rec, &m->overhead);
	if (!err && m->config.peak_sites)
		err = mem_peak_open(rec, &m->config, &m->peak);
	if (!err && m->mem->pinned)
		err = mem_pinned_open(rec, &m->pinned);
	if (!err && m->config.trace) {
		err = mem_trace_open(rec, &m->trace);
		if (!err)
			err = output_empty(output_of(rec));
	}
	/* Threads that end leave nothing in the map. */
	return err ? err
		   : record_attach(rec, rp_mem_user_programs, MEM_THREAD_ENDS | MEM_THREAD_FREED,
				   NULL);
}

static int probe_running(struct recording *rec)
{
	const struct record_ids *pids = &rec->opt->pids, *tids = &rec->opt->tids;
	struct mem_user *m = rec->ctx;
	int err = 0;

	for (uint32_t i = 0; !err && i < pids->n; i++)
		err = mem_probes_process(m->probes, pids->id[i]);
	for (uint32_t i = 0; !err && i < tids->n; i++)
		err = mem_probes_process(m->probes, record_target_process_of(tids->id[i]));
	if (!err && !mem_probes_count(m->probes))
		err = rp_fail(-ENOENT,
			      "no malloc in what %s executes from: is there a --symbols-prefix? "
			      "--growth needs none",
			      pids->n + tids->n > 1 ? "these processes" : "this process");
	return err;
}

/* The allocator first: what it maps outside of a call that is seen would count as the program's. */
static int start(struct recording *rec)
{
	struct mem_user *m = rec->ctx;
	int err = 0;

	if (m->mem->obj)
		err = mem_probes_object(m->probes, m->mem->obj);
	else if (!rec->opt->program)
		err = probe_running(rec);
	return !err && m->mmap ? mem_mmap_start(m->mmap) : err;
}

static int loaded(struct recording *rec, pid_t pid)
{
	struct mem_user *m = rec->ctx;

	return mem_probes_process(m->probes, (uint32_t)pid);
}

static int mapped(struct recording *rec, const struct rp_side_event *e)
{
	struct mem_user *m = rec->ctx;

	return mem_probes_mapped(m->probes, e);
}

static int drain(struct recording *rec)
{
	struct mem_user *m = rec->ctx;
	int err = m->mmap ? mem_mmap_drain(m->mmap) : 0;

	return !err && m->trace ? mem_trace_drain(m->trace) : err;
}

static int tick(struct recording *rec)
{
	struct mem_user *m = rec->ctx;
	int err = m->overhead ? mem_overhead_tick(m->overhead) : 0;

	return !err && m->pinned ? mem_pinned_tick(m->pinned) : err;
}

static int stop(struct recording *rec)
{
	struct mem_user *m = rec->ctx;
	int err = m->pinned ? mem_pinned_last(m->pinned) : 0;

	/* In reverse order of start(). */
	if (m->mmap)
		mem_mmap_detach(m->mmap);
	mem_probes_detach(m->probes);
	return err;
}

/* ---- what is left at the end */

static int count_in_flight(void *ctx, const void *key, const void *value)
{
	const struct mem_thread *thread = value;
	uint64_t *n = ctx;

	(void)key;
	*n += thread->sp != 0;
	return 0;
}

static int take_old_block(void *ctx, const struct mem_block *block)
{
	struct recording *rec = ctx;
	struct mem_user *m = rec->ctx;
	struct mem_old *old;

	if (block->time + m->mem->older_ns > rec->end_ns)
		return 0;
	if (!record_stacks_find(rec->stacks, block->hash))
		return 0; /* its stack was lost */
	old = rp_hash_add(&m->old, &block->hash);
	if (!old)
		return -ENOMEM;
	old->objects++;
	old->bytes += block->size;
	return 0;
}

static int take_old(void *ctx, const void *key, const void *value)
{
	(void)key;
	return take_old_block(ctx, value);
}

static int collect(struct recording *rec)
{
	struct mem_user *m = rec->ctx;
	int err = record_stacks_each(rec->stacks, MEM_MAP_THREADS, count_in_flight, &m->in_flight);

	if (!err && m->mmap)
		err = mem_mmap_finish(m->mmap);
	m->collected = true;
	if (!err && m->peak)
		err = mem_peak_collect(m->peak);
	if (!err && m->mem->older_ns) {
		m->old = HASH_MAP(struct mem_old, hash);
		err = record_stacks_each(rec->stacks, MEM_MAP_BLOCKS, take_old, rec);
		if (!err && m->mmap)
			err = mem_ranges_blocks(mem_mmap_ranges(m->mmap), take_old_block, rec);
	}
	return !err && m->trace ? mem_trace_finish(m->trace) : err;
}

/* ---- what a call is worth */

static const struct report_value_type *types(const struct recording *rec, size_t *n)
{
	static const struct report_value_type usual[MEM_WEIGHTS] = {
		[MEM_ALLOC_OBJECTS] = { "alloc_objects", "count" },
		[MEM_ALLOC_SPACE] = { "alloc_space", "bytes" },
		[MEM_INUSE_OBJECTS] = { "inuse_objects", "count" },
		[MEM_INUSE_SPACE] = { "inuse_space", "bytes" },
	};
	static const struct report_value_type temporary[MEM_WEIGHTS] = {
		[MEM_ALLOC_OBJECTS] = { "alloc_objects", "count" },
		[MEM_ALLOC_SPACE] = { "alloc_space", "bytes" },
		[MEM_INUSE_OBJECTS] = { "temporary_objects", "count" },
		[MEM_INUSE_SPACE] = { "temporary_space", "bytes" },
	};
	static const struct report_value_type pinned[MEM_WEIGHTS] = {
		[MEM_PINNED_PAGES] = { "pinned_pages", "count" },
		[MEM_PINNED_BLOCKS] = { "pinned_blocks", "count" },
		[MEM_PINNED_LIVE] = { "live_space", "bytes" },
		[MEM_PINNED_WASTED] = { "wasted_space", "bytes" },
	};
	const struct mem_user *m = rec->ctx;

	*n = MEM_WEIGHTS;
	return m->mem->pinned ? pinned : m->mem->temporary ? temporary : usual;
}

void mem_user_values(const struct mem_user *m, const struct stack *stack,
		     uint64_t value[MEM_WEIGHTS])
{
	memcpy(value, stack->value, sizeof(stack->value));
	if (!m->config.temporary) {
		value[MEM_INUSE_OBJECTS] = value[MEM_ALLOC_OBJECTS] - value[MEM_GONE_OBJECTS];
		value[MEM_INUSE_SPACE] = value[MEM_ALLOC_SPACE] - value[MEM_GONE_SPACE];
	}
	if (m->old.size) {
		const struct mem_old *old = rp_hash_find(&m->old, &stack->record->hash);

		value[MEM_INUSE_OBJECTS] = old ? old->objects : 0;
		value[MEM_INUSE_SPACE] = old ? old->bytes : 0;
	}
	if (m->peak)
		mem_peak_of(m->peak, stack->record->hash, &value[MEM_INUSE_OBJECTS],
			    &value[MEM_INUSE_SPACE]);
	if (m->config.sample)
		mem_sample_weigh(stack->record, m->mean, value);
}

static bool values(const struct recording *rec, const struct stack *stack, uint64_t *value)
{
	const struct mem_user *m = rec->ctx;

	if (m->pinned) {
		mem_pinned_of(m->pinned, stack->record->hash, value);
		return value[MEM_PINNED_PAGES] != 0;
	}
	mem_user_values(m, stack, value);
	if (m->mem->leaks || m->mem->temporary || m->peak)
		return value[MEM_INUSE_OBJECTS] != 0;
	return value[MEM_ALLOC_OBJECTS] != 0; /* a file was mapped */
}

/* ---- ledger */

static void say_what_is_missing(const struct mem_user_stats *stats)
{
	if (stats->untracked)
		rp_log(RP_WARN,
		       "%" PRIu64 " blocks of %" PRIu64
		       " bytes found no room: they count as allocated, but frees of them are not "
		       "known (--blocks N makes room for more)",
		       stats->untracked, stats->untracked_bytes);
	if (stats->replaced)
		rp_log(RP_WARN, "%" PRIu64 " blocks were freed unseen", stats->replaced);
	if (stats->unsubtracted)
		rp_log(RP_WARN,
		       "%" PRIu64 " blocks were freed and are shown as in use: the ring was full",
		       stats->unsubtracted);
	if (stats->no_site)
		rp_log(RP_WARN,
		       "%" PRIu64
		       " changes were of stacks beyond the %u that --peak can tell apart",
		       stats->no_site, rp_mem_user_maps[MEM_MAP_SITES].max_entries);
	if (stats->restore_lost)
		rp_log(RP_WARN,
		       "%" PRIu64
		       " calls of munmap and the like failed, and their ranges are shown "
		       "as given back: the ring was full",
		       stats->restore_lost);
}

/* A call is kept if it allocated, also if the view leaves out its stack, or freed a known block. */
static uint64_t calls_kept(const struct recording *rec, const struct mem_user_stats *stats)
{
	const struct mem_user *m = rec->ctx;
	const struct stack *stack = NULL;
	uint64_t kept = stats->freed + m->sizes_kept + (m->trace ? rec->handed_over : 0);

	while ((stack = record_stacks_next(rec->stacks, stack)))
		kept += stack->value[MEM_ALLOC_OBJECTS];
	return kept - (m->trace ? 0 : rec->not_wanted);
}

static int ledger(struct recording *rec, uint64_t kept, struct record_ledger *b)
{
	struct mem_user *m = rec->ctx;
	struct mem_ranges_counts mapped = { 0 };
	struct mem_user_stats stats;
	int err = record_stacks_stats(rec->stacks, &stats);

	(void)kept;
	if (m->mmap)
		mem_ranges_count(mem_mmap_ranges(m->mmap), &mapped);
	if (err)
		return rp_fail(err, "reading the program's counters: %s", strerror(-err));
	b->report.events = "calls";
	b->report.kept = calls_kept(rec, &stats) + mapped.freed;
	record_ledger_add(b, "inside other calls", stats.inside, REPORT_FILTERED);
	record_ledger_add(b, "free(NULL)", stats.nothing, REPORT_FILTERED);
	record_ledger_add(b, "failed", stats.failed + mapped.failed, REPORT_FILTERED);
	record_ledger_add(b, "may throw, let alone", stats.throwing, REPORT_FILTERED);
	record_ledger_add(b, "changed nothing", stats.unchanged, REPORT_FILTERED);
	record_ledger_add(b, "mappings of files", mapped.files, REPORT_FILTERED);
	record_ledger_add(b, "unmapped what is not known", mapped.unknown, REPORT_FILTERED);
	record_ledger_add(b, "no samples", stats.passed, REPORT_FILTERED);
	record_ledger_add(b, "frees of unknown blocks", stats.unknown, REPORT_FILTERED);
	record_ledger_add(b, "under way at the end", m->in_flight + mapped.under_way,
			  REPORT_FILTERED);
	record_ledger_add(b, "too many threads", stats.threads_full, REPORT_LOST);
	record_ledger_add(b, "left without a return", stats.left, REPORT_LOST);
	say_what_is_missing(&stats);
	return 0;
}

/* ---- the command */

static const struct record_profiler mem_user_profiler = {
	.command = "mem",
	.nmaps = MEM_USER_MAPS,
	.at_return = true,
	.ring_factor = 16, /* a program that starts allocates in thousands of places at once */
	.weight = MEM_ALLOC_SPACE,
	.configure = configure,
	.attach = attach,
	.start = start,
	.stop_at_loads = true,
	.loaded = loaded,
	.mapped = mapped,
	.often = true,
	.drain = drain,
	.tick = tick,
	.stop = stop,
	.collect = collect,
	.types = types,
	.values = values,
	.describe = mem_user_describe,
	.ledger = ledger,
};

static int end_trace(struct recording *rec)
{
	return ledger_print(rec, 0, "calls");
}

static void choose_view(struct mem_user *m)
{
	const struct mem_options *mem = m->mem;
	struct record_profiler *view = &m->profiler;

	if (mem->leaks || mem->older_ns || mem->temporary || mem->peak)
		view->weight = MEM_INUSE_SPACE;
	if (mem->pinned)
		view->weight = MEM_PINNED_WASTED;
	if (mem->processes) {
		view->report = mem_user_processes;
		view->empty_grid = mem_user_empty_grid;
		view->interval = mem_user_interval;
		view->output = RECORD_GRID;
	} else if (mem->sizes) {
		view->report = mem_user_sizes;
		view->output = RECORD_HISTS;
	} else if (mem->lifetimes) {
		view->report = mem_user_lifetimes;
		view->output = RECORD_HISTS;
	} else if (mem->ages) {
		view->report = mem_user_ages;
		view->output = RECORD_HISTS;
	} else if (mem->trace) {
		view->report = end_trace;
		view->often = true;
	}
}

/* As many blocks as fit into this part of memory, if all of them are in use. */
#define BLOCKS_SHARE 16
#define BLOCK_COST 128 /* with what the kernel keeps beside, and the slots of the hash table */

/* Maps that the view has no use for are small. */
static void size_maps(struct mem_user *m)
{
	memcpy(m->maps, rp_mem_user_maps, sizeof(m->maps));
	m->maps[MEM_MAP_BLOCKS].max_entries = !m->config.follow ? 1
					      : m->mem->blocks
						      ? (uint32_t)m->mem->blocks
						      : mem_blocks_wanted(BLOCKS_SHARE, BLOCK_COST);
	record_stacks_thread_map(&m->maps[MEM_MAP_THREADS], record_threads());
	/* Memory for a block when it comes; older kernels warn of that in programs like these. */
	if (rp_has(RP_HAS_UPROBE_MULTI))
		m->maps[MEM_MAP_BLOCKS].flags = BPF_F_NO_PREALLOC;
	if (!m->config.peak_sites)
		m->maps[MEM_MAP_SITES].max_entries = 1;
	if (!m->config.sizes && !m->config.lifetimes)
		m->maps[MEM_MAP_SIZES].max_entries = 1;
	if (!m->config.trace)
		m->maps[MEM_MAP_TRACE].max_entries = 1 << 16;
	if (!m->mmap_too)
		m->maps[MEM_MAP_RANGES].max_entries = 1 << 16;
}

/* Samples do not show what is inside the allocator; and the other views are about its functions. */
static bool wants_mappings(const struct mem_options *mem)
{
	const char *missing;

	if (mem->no_mmap || mem->sizes || mem->trace || mem->temporary || mem->sample_bytes ||
	    mem->lifetimes || mem->pinned)
		return false;
	missing = mem_mmap_missing();
	if (missing) {
		if (rp_has(RP_HAS_BPF)) /* else nothing works, as will be said */
			rp_log(RP_WARN, "mmap, mremap and brk are not seen, only the allocator: %s",
			       missing);
		return false;
	}
	return true;
}

int mem_user(const struct options *opt)
{
	struct mem_user m = { .mem = opt->own, .profiler = mem_user_profiler };
	const bool new_atomics = rp_has(RP_HAS_PERF_LINK); /* those with a result, 5.12 */
	int status;

	if (!opt->record.program && !opt->record.pids.n && !opt->record.tids.n) {
		rp_log(RP_ERROR,
		       "which process? -p PID, -t TID or -- PROGRAM; for the whole machine: "
		       "-k, --faults, --growth, since probes on every malloc would slow it down");
		return EXIT_USAGE;
	}
	m.config = (struct mem_user_config){
		.follow = !m.mem->sizes && !m.mem->trace,
		.sizes = m.mem->sizes,
		.trace = m.mem->trace,
		.times = m.mem->older_ns || m.mem->ages || m.mem->lifetimes,
		.temporary = m.mem->temporary,
		.sample = m.mem->sample_bytes != 0,
		.plain = m.mem->processes && !m.mem->sample_bytes,
		.peak = !m.mem->sizes && !m.mem->trace && !m.mem->sample_bytes &&
			!m.mem->processes && !m.mem->peak && new_atomics,
		.peak_sites = m.mem->peak,
		.lifetimes = m.mem->lifetimes,
	};
	m.mean = m.mem->sample_bytes;
	if (m.mean && !new_atomics) {
		rp_log(RP_ERROR, "--sample-bytes needs Linux 5.12");
		return EXIT_FAILED;
	}
	if (m.mem->peak && !(new_atomics && rp_has(RP_HAS_KERNEL_BTF) && rp_has(RP_HAS_TASK_BTF))) {
		rp_log(RP_ERROR, "--peak needs Linux 5.15 with BTF");
		return EXIT_FAILED;
	}
	m.can_sample = new_atomics && rp_uprobe_way(-1, false) >= RP_UPROBE_PERF_LINK;
	m.mmap_too = wants_mappings(m.mem);
	size_maps(&m);
	m.profiler.maps = m.maps;
	choose_view(&m);
	status = run_profiler(&m.profiler, opt, &m);
	mem_probes_close(m.probes);
	mem_overhead_close(m.overhead);
	mem_trace_close(m.trace);
	mem_mmap_close(m.mmap);
	mem_peak_close(m.peak);
	mem_pinned_close(m.pinned);
	rp_hash_free(&m.old);
	free(m.series.row);
	return status;
}
