/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof offcpu --runq: how long threads wait for a CPU, as histograms. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/hist.h>
#include <rawprof/loader.h>

#include "base/budget.h"
#include "base/hash.h"
#include "offcpu.h"
#include "programs/shared/share.h"
#include "programs/threads/runq.h"
#include "cli/views.h"
#include "sched.h"

/* A histogram as it was at the last report: what the map holds only grows. */
struct seen {
	struct runq_key key;
	uint32_t payer;
	uint64_t sum, slots[RUNQ_HIST_SLOTS];
};

/* ---- recording */

static int configure(struct recording *rec)
{
	struct runq *r = rec->ctx;

	rec->config.eh = rec->config.user_bytes = rec->config.fp_bytes = rec->config.kernel_bytes =
		0;
	r->config.by_cpu = r->options->by && !strcmp(r->options->by, "cpu");
	r->config.by_process = r->options->by && !strcmp(r->options->by, "process");
	r->config.classic = !rp_has(RP_HAS_TP_BTF);
	if (!r->config.classic)
		sched_find_state(&r->config);
	return 0;
}

static int attach(struct recording *rec)
{
	struct runq *r = rec->ctx;
	int err;

	r->config.common = rec->config;
	r->config.most_hists = record_stacks_maps(rec->stacks)[RUNQ_MAP_HISTS].max_entries;
	err = record_attach(rec, rp_offcpu_freed_programs, RECORD_ALL_ROLES, &r->config);
	return err ? err : record_attach(rec, rp_runq_programs, RECORD_ALL_ROLES, &r->config);
}

static int start(struct recording *rec)
{
	return record_stacks_gate(rec->stacks, RUNQ_MAP_GATE, 1);
}

/* ---- what was counted since the last report */

static int find_hist(struct runq *r, const struct runq_key *key, const struct runq_hist *h,
		     struct report_hist **out)
{
	char number[16], comm[17] = "";
	const char *labels[2] = { number, comm };

	memcpy(comm, h->comm, sizeof(h->comm));
	snprintf(number, sizeof(number), "%u", r->config.by_cpu ? key->cpu : key->process);
	return report_hists_get(r->set, labels, out);
}

static int take_new(struct runq *r, struct seen *seen, const struct runq_hist *h)
{
	struct report_hist *hist;
	int err = find_hist(r, &seen->key, h, &hist);

	for (unsigned int i = 0; !err && i < RUNQ_HIST_SLOTS; i++) {
		uint64_t n = h->slots[i] - seen->slots[i];

		if (n)
			err = report_hist_add_slot(hist, i, n);
		seen->slots[i] = h->slots[i];
		r->kept += n;
	}
	if (!err && h->sum != seen->sum)
		/* The extremes are those since the beginning: of an interval they are unknown. */
		report_hist_add_sum(hist, h->sum - seen->sum,
				    seen->sum ? UINT64_MAX : ~h->not_least,
				    seen->sum ? 0 : h->greatest);
	seen->sum = h->sum;
	seen->payer = h->payer;
	return err;
}

static int take_hist(void *ctx, const void *key, const void *value)
{
	struct runq *r = ctx;
	struct seen *seen = rp_hash_add(&r->seen, key);

	return seen ? take_new(r, seen, value) : -ENOMEM;
}

int runq_take(struct recording *rec)
{
	return record_stacks_each(rec->stacks, RUNQ_MAP_HISTS, take_hist, rec->ctx);
}

static int fill(struct recording *rec)
{
	struct runq *r = rec->ctx;
	struct record_info info;
	int err = runq_take(rec);

	if (!err)
		err = rec->opt->interval ? record_info_since(rec, &r->last_ns, &info)
					 : record_info(rec, NULL, &info);
	if (err)
		return err;
	err = report_hists_set_info(r->set, &info.info);
	record_info_free(&info);
	return err;
}

/* ---- a series by process: those that end make room for others */

static int take_thread(void *ctx, const void *key, const void *value)
{
	const uint32_t process = (uint32_t)(((const struct runq_thread *)value)->pid_tgid >> 32);

	(void)key;
	return rp_hash_add(ctx, &process) ? 0 : -ENOMEM;
}

struct rows {
	struct runq *r;
	struct hash_map alive; /* of uint32_t: processes that have threads */
	struct share share;    /* as of the rows that stay */
	struct runq_hist last;
	int fd; /* of the map */
	int err;
};

static bool stays(void *ctx, void *entry)
{
	struct rows *rows = ctx;
	struct seen *seen = entry;

	if (!rows->err && !rp_hash_find(&rows->alive, &seen->key.process)) {
		rows->err = rp_map_lookup(rows->fd, &seen->key, &rows->last);
		if (!rows->err)
			rows->err = take_new(rows->r, seen, &rows->last);
		if (!rows->err)
			rows->err = rp_map_delete(rows->fd, &seen->key);
		return false;
	}
	rows->share.all++;
	if (seen->payer)
		++*share_places(&rows->share, seen->payer);
	return true;
}

/*
 * Only of threads in the map waits are counted: a process that had waited and has none there is
 * done, once the programs that are at work are. A place that is taken meanwhile counts as its
 * user's from the next time on.
 */
static int forget_ended(struct recording *rec)
{
	struct rows *rows = calloc(1, sizeof(*rows));
	struct runq *r = rec->ctx;
	int err;

	if (!rows)
		return -ENOMEM;
	rows->r = r;
	rows->alive = HASH_SET(uint32_t);
	rows->fd = record_stacks_map(rec->stacks, RUNQ_MAP_HISTS);
	err = record_stacks_each(rec->stacks, RUNQ_MAP_THREADS, take_thread, &rows->alive);
	rp_quiesce();
	if (!err) {
		rp_hash_keep(&r->seen, stays, rows);
		err = rows->err;
	}
	if (!err)
		err = rp_map_update(record_stacks_map(rec->stacks, RUNQ_MAP_SHARES),
				    &(uint32_t){ 0 }, &rows->share, BPF_ANY);
	rp_hash_free(&rows->alive);
	free(rows);
	return err;
}

/* ---- report */

static int interval(struct recording *rec)
{
	struct runq *r = rec->ctx;
	int err = fill(rec);

	if (!err && r->config.by_process)
		err = forget_ended(rec);
	return err ? err : hists_part(rec, r->set);
}

static int report(struct recording *rec)
{
	struct runq *r = rec->ctx;
	int err = fill(rec);

	return err ? err : hists_end(rec, r->kept, r->set);
}

static const struct report_value_type *types(const struct recording *rec, size_t *n)
{
	static const struct report_value_type value = { "queued", "count" };

	(void)rec;
	*n = 1;
	return &value;
}

static void describe(struct recording *rec, struct report_info *info)
{
	(void)rec;
	info->event = "sched_switch";
}

static int add_ledger(struct recording *rec, uint64_t kept, struct record_ledger *b)
{
	struct runq_stats stats;
	int err = record_stacks_stats(rec->stacks, &stats);
	uint64_t full;

	(void)kept;
	if (err)
		return rp_fail(err, "reading the program's counters: %s", strerror(-err));
	b->report.events = "times on a CPU";
	/* Of each that had no room it is not known since when it was queued. */
	full = stats.threads_full < stats.unknown ? stats.threads_full : stats.unknown;
	record_ledger_add(b, "queued before", stats.unknown - full, REPORT_FILTERED);
	record_ledger_add(b, "too many threads", full, REPORT_LOST);
	record_ledger_add(b, "too many processes", stats.hists_full, REPORT_LOST);
	return 0;
}

const struct record_profiler runq_profiler = {
	.command = "offcpu --runq",
	.maps = rp_runq_maps,
	.nmaps = RUNQ_MAPS,
	.thread_map = RUNQ_MAP_THREADS,
	.output = RECORD_HISTS,
	.configure = configure,
	.attach = attach,
	.start = start,
	.interval = interval,
	.report = report,
	.types = types,
	.describe = describe,
	.ledger = add_ledger,
};

int runq_open(struct runq *r)
{
	static const char *const by_cpu[] = { "cpu" }, *const by_process[] = { "pid", "comm" };
	const char *by = r->options->by;
	const struct report_hists_spec spec = {
		.title = "waits for a CPU",
		.metric = "runq_latency",
		.events = "waits",
		.unit = REPORT_UNIT_NS,
		.bits = RUNQ_HIST_BITS,
		.keys = by && *by == 'c' ? by_cpu : by_process,
		.nkeys = !by	      ? 0
			 : *by == 'c' ? 1
				      : 2,
	};

	r->seen = HASH_MAP(struct seen, key);
	return report_hists_new(&spec, &r->set);
}

void runq_close(struct runq *r)
{
	report_hists_free(r->set);
	rp_hash_free(&r->seen);
}

/* By process: so many, in this part of the memory. All of it is taken beforehand. */
#define LEAST_PROCESSES 1024
#define MOST_PROCESSES 8192
#define PROCESSES_SHARE 32

static uint32_t processes_wanted(void)
{
	const size_t each = sizeof(struct runq_hist);
	const uint64_t n = rp_memory_part(PROCESSES_SHARE, MOST_PROCESSES * each) / each;

	return n < LEAST_PROCESSES ? LEAST_PROCESSES : (uint32_t)n;
}

int runq_run(const struct options *opt)
{
	struct runq r = { .options = opt->own };
	struct record_profiler profiler = runq_profiler;
	struct asm_map maps[RUNQ_MAPS];
	const unsigned long errors = rp_log_errors();
	const int err = runq_open(&r);
	int status;

	memcpy(maps, rp_runq_maps, sizeof(maps));
	if (r.options->by && *r.options->by == 'p')
		maps[RUNQ_MAP_HISTS].max_entries = processes_wanted();
	profiler.maps = maps;
	status = err ? command_failed(opt->command, err, errors) : run_profiler(&profiler, opt, &r);
	runq_close(&r);
	return status;
}
