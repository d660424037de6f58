/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rawprof mem --faults and --growth: which code makes a process grow? The programs:
 * programs/mem/faults.c, programs/mem/faults_growth.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "programs/mem/faults.h"

#include "mem.h"
#include "user.h"
#include "cli/run.h"

static uint32_t page_bytes(void)
{
	return (uint32_t)sysconf(_SC_PAGESIZE);
}

/* The kernel's frames say nothing: it was faulting, or mapping. */
static int user_stacks_only(struct recording *rec)
{
	rec->config.kernel_bytes = 0;
	return 0;
}

/* ---- faults */

enum { BEGINS, MINOR, MAJOR, EVENTS };
struct faults {
	struct rp_perf *perf[EVENTS];
	struct mem_faults_config config;
};

static int open_event(struct recording *rec, int which, const char *name,
		      const struct rp_program *program)
{
	struct faults *f = rec->ctx;
	struct rp_perf_options options = { .period = 1, .disabled = true };
	int err, fd;

	f->config.major = which == MAJOR;
	fd = record_load(rec, program, &f->config);
	err = fd < 0 ? fd : rp_event_parse(name, &options.event);
	if (!err)
		err = rp_perf_open(&options, &f->perf[which]);
	return err < 0 ? err : rp_perf_attach(f->perf[which], fd);
}

/* By an event of perf where there are no tracepoints. */
static int attach_begin(struct recording *rec)
{
	struct faults *f = rec->ctx;
	const struct rp_program *begin;
	int err = record_choose(rp_mem_faults_programs, MEM_FAULT_BEGIN, &begin);

	if (err)
		return err;
	if (begin->hook.kind != RP_HOOK_PERF)
		return record_attach(rec, rp_mem_faults_programs,
				     MEM_FAULT_BEGIN | MEM_FAULT_BEGIN_KERNEL, &f->config);
	rp_log(RP_INFO, "%s", begin->instead);
	return open_event(rec, BEGINS, "page-faults", begin);
}

static int attach_faults(struct recording *rec)
{
	const struct rp_program *end = rp_program_of(rp_mem_faults_programs, MEM_FAULT_END);
	struct faults *f = rec->ctx;
	int err;

	f->config = (struct mem_faults_config){ .common = rec->config, .page_bytes = page_bytes() };
	err = open_event(rec, MINOR, "minor-faults", end);
	if (!err)
		err = open_event(rec, MAJOR, "major-faults", end);
	if (!err)
		err = record_attach(rec, rp_mem_faults_programs, MEM_FAULT_PAGE, &f->config);
	return err ? err : attach_begin(rec);
}

static int start_faults(struct recording *rec)
{
	struct faults *f = rec->ctx;
	int err = 0;

	for (int i = 0; !err && i < EVENTS; i++)
		if (f->perf[i])
			err = rp_perf_enable(f->perf[i]);
	return err;
}

static int stop_faults(struct recording *rec)
{
	struct faults *f = rec->ctx;
	int err = 0;

	for (int i = 0; !err && i < EVENTS; i++)
		if (f->perf[i])
			err = rp_perf_disable(f->perf[i]);
	return err;
}

/* Who is in the middle of a fault ends it in the next window. */
static int restart_faults(struct recording *rec)
{
	(void)rec;
	return 0;
}

static int tick_faults(struct recording *rec)
{
	struct faults *f = rec->ctx;
	int joined = 0;

	for (int i = 0; joined >= 0 && i < EVENTS; i++)
		if (f->perf[i])
			joined = rp_perf_hotplug(f->perf[i]);
	return joined < 0 ? joined : 0;
}

static const struct report_value_type *types_of_faults(const struct recording *rec, size_t *n)
{
	static const struct report_value_type types[] = { { "faults", "count" },
							  { "resident", "bytes" },
							  { "major_faults", "count" } };

	(void)rec;
	*n = sizeof(types) / sizeof(types[0]);
	return types;
}

static void close_faults(struct recording *rec)
{
	struct faults *f = rec->ctx;

	for (int i = 0; i < EVENTS; i++)
		rp_perf_close(f->perf[i]);
}

const struct record_profiler mem_faults_profiler = {
	.command = "mem",
	.ctx_size = sizeof(struct faults),
	.maps = rp_mem_faults_maps,
	.nmaps = MEM_FAULTS_MAPS,
	.weight = MEM_FAULTS_BYTES,
	.configure = user_stacks_only,
	.attach = attach_faults,
	.start = start_faults,
	.stop_at_loads = true,
	.stop = stop_faults,
	.restart = restart_faults,
	.tick = tick_faults,
	.close = close_faults,
	.types = types_of_faults,
};

/* ---- growth */

static uint32_t page_shift(void)
{
	uint32_t shift = 0;

	while (page_bytes() >> shift > 1)
		shift++;
	return shift;
}

static int attach_growth(struct recording *rec)
{
	const struct mem_growth_config config = { .common = rec->config,
						  .page_bytes = page_bytes(),
						  .page_shift = page_shift() };
	const char *missing = mem_mmap_missing();

	if (missing)
		return rp_fail(-EOPNOTSUPP,
			       "--growth needs mmap, munmap, mremap and brk: %s; try --faults",
			       missing);
	return record_load_list(rec, rp_mem_growth_programs, RECORD_ALL_ROLES, &config);
}

static int start_growth(struct recording *rec)
{
	return record_attach_list(rec, rp_mem_growth_programs);
}

static const struct report_value_type *types_of_growth(const struct recording *rec, size_t *n)
{
	static const struct report_value_type types[] = { { "calls", "count" },
							  { "grown", "bytes" },
							  { "returned", "bytes" } };

	(void)rec;
	*n = sizeof(types) / sizeof(types[0]);
	return types;
}

static int count_call(void *ctx, const void *key, const void *value)
{
	uint64_t *unfinished = ctx;

	(void)key;
	(void)value;
	++*unfinished;
	return 0;
}

static int growth_ledger(struct recording *rec, uint64_t kept, struct record_ledger *b)
{
	struct mem_growth_stats stats;
	uint64_t unfinished = 0;
	int err = record_stacks_stats(rec->stacks, &stats);

	(void)kept;
	if (!err)
		err = record_stacks_each(rec->stacks, MEM_GROWTH_MAP_CALLS, count_call,
					 &unfinished);
	if (err)
		return rp_fail(err, "reading the program's counters: %s", strerror(-err));
	record_ledger_add(b, "changed nothing", stats.nothing, REPORT_FILTERED);
	record_ledger_add(b, "failed", stats.failed, REPORT_FILTERED);
	record_ledger_add(b, "not finished", stats.unfinished + unfinished, REPORT_FILTERED);
	record_ledger_add(b, "too many threads", stats.map_full, REPORT_LOST);
	if (stats.clamped)
		rp_log(RP_INFO,
		       "in %" PRIu64 " calls other threads changed the process too: of those no "
		       "more counts than what was asked for",
		       stats.clamped);
	return 0;
}

static const struct record_profiler growth_profiler = {
	.command = "mem",
	.maps = rp_mem_growth_maps,
	.nmaps = MEM_GROWTH_MAPS,
	.weight = MEM_GROWTH_BYTES,
	.configure = user_stacks_only,
	.attach = attach_growth,
	.start = start_growth,
	.stop_at_loads = true,
	.types = types_of_growth,
	.ledger = growth_ledger,
};

/* ---- the command */

/* What is about single blocks, or another way to show them. */
static const char *not_with_faults(const struct mem_options *mem)
{
	return mem->sizes	   ? "--sizes"
	       : mem->ages	   ? "--ages"
	       : mem->processes	   ? "--processes"
	       : mem->trace	   ? "--trace"
	       : mem->obj	   ? "--obj"
	       : mem->prefix	   ? "--symbols-prefix"
	       : mem->max_overhead ? "--max-overhead"
				   : NULL;
}

int mem_faults(const struct options *opt)
{
	const struct mem_options *mem = opt->own;
	const char *wrong = not_with_faults(mem), *own = mem->faults ? "--faults" : "--growth";

	if (!wrong && opt->record.kernel_only)
		wrong = "--kernel";
	if (wrong) {
		rp_log(RP_ERROR, "%s does not go with %s, which shows user stacks", wrong, own);
		return EXIT_USAGE;
	}
	return run_profiler(mem->faults ? &mem_faults_profiler : &growth_profiler, opt, NULL);
}
