/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof lock: waits for locks, by waiter and releaser. The programs: programs/lock/. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lock.h"
#include "base/clock.h"
#include "record/system.h"

/* Room for the histograms of so many types. */
#define HIST_TYPES 64

/* ---- recording */

static int configure(struct recording *rec)
{
	struct lock *l = rec->ctx;

	if (rec->config.eh && rec->config.bounded && !l->options->hold) {
		/* Unrolled, as before Linux 5.17, the walk is more than the verifier takes here. */
		rp_log(RP_WARN,
		       "no unwinding by tables before Linux 5.17: user stacks by frame pointers");
		rec->config.eh = 0;
	}
	l->config.min_ns = l->options->min_ns;
	l->config.hist = l->options->hist != NULL;
	l->config.hist_lock = l->options->hist && !strcmp(l->options->hist, "lock");
	return 0;
}

/* 0: the kernel has events of waits for its locks; -ENOENT: none; or why tracefs cannot be read. */
static int lacks_contention(void)
{
	const struct rp_program *begins;

	return record_choose(rp_lock_kernel_programs, LOCK_BEGINS, &begins);
}

static int attach_hold(struct recording *rec, const struct lock_config *config)
{
	struct lock *l = rec->ctx;
	struct lock_config hold = *config;
	int err;

	hold.hold = 1;
	err = record_attach(rec, rp_lock_kernel_programs, LOCK_THREAD_ENDS | LOCK_THREAD_FREED,
			    &hold);
	return err ? err : lock_probes_open(rec, &hold, &l->probes);
}

static int attach(struct recording *rec)
{
	struct lock *l = rec->ctx;
	struct lock_config user;
	bool kernel_locks = l->of_kernel;
	int err;

	l->config.common = rec->config;
	l->config.spinning = 1;
	/* How a thread came to its system call is of no interest. */
	user = l->config;
	user.spinning = 0;
	user.gil = rec->config.managed_bytes != 0;
	user.common.kernel_bytes = 0;

	if (l->options->hold)
		return attach_hold(rec, &user);
	/* Where the events were carried back to an older kernel, it would not take the programs. */
	err = kernel_locks ? lacks_contention() : 0;
	if (err && err != -ENOENT)
		return rp_fail(err, "the kernel's events are not known: tracefs cannot be read: %s",
			       strerror(-err));
	if (kernel_locks && (err || !rp_has(RP_HAS_BPF_LOOP))) {
		if (!l->of_users)
			return rp_fail(
				-EOPNOTSUPP,
				"waits for kernel locks need Linux 5.19 (lock:contention_begin); "
				"--user shows those of programs");
		rp_log(RP_WARN, "only locks of programs: those of the kernel need Linux 5.19 "
				"(lock:contention_begin)");
		kernel_locks = false;
	}
	err = record_attach(rec, rp_lock_kernel_programs,
			    LOCK_THREAD_ENDS | LOCK_THREAD_FREED | LOCK_WAKES |
				    (kernel_locks ? LOCK_ENDS | LOCK_BEGINS : 0),
			    &l->config);
	if (!err && l->of_users)
		err = record_attach(rec, rp_lock_user_programs, RECORD_ALL_ROLES, &user);
	return err;
}

static int start(struct recording *rec)
{
	return record_stacks_gate(rec->stacks, LOCK_MAP_GATE, 1);
}

static int stop(struct recording *rec)
{
	struct lock *l = rec->ctx;

	int err;

	l->end_ns = rp_monotonic_ns();
	err = record_stacks_gate(rec->stacks, LOCK_MAP_GATE, 0);
	lock_probes_detach(l->probes);
	return err;
}

/* The mappings of a started program are read before it runs: its first walk has tables. */
static int loaded(struct recording *rec, pid_t pid)
{
	struct lock *l = rec->ctx;

	return l->probes ? lock_probes_process(l->probes, (uint32_t)pid) : 0;
}

static int mapped(struct recording *rec, const struct rp_side_event *e)
{
	struct lock *l = rec->ctx;

	return lock_probes_mapped(l->probes, e);
}

/* Waits that began while a BPF program ran on that CPU: the kernel has left them out. */
static int collect(struct recording *rec)
{
	struct lock *l = rec->ctx;
	int err;

	l->missed = record_runs(rec, rp_lock_kernel_programs, LOCK_BEGINS).missed +
		    record_runs(rec, rp_lock_user_programs, LOCK_USER_BEGINS).missed -
		    l->missed_before;
	err = lock_weigh(rec);
	if (!err)
		err = record_prepare_kernel(rec);
	return !err && options_of(rec)->windows ? lock_find(rec) : err;
}

static int restart(struct recording *rec)
{
	struct lock *l = rec->ctx;
	int err;

	l->missed_before += l->missed;
	err = record_stacks_clear(rec->stacks, LOCK_MAP_RESULTS);
	if (!err)
		err = record_stacks_clear(rec->stacks, LOCK_MAP_SHARES);
	return err ? err : lock_carry_over(rec);
}

/* ---- report */

static const struct report_value_type *types(const struct recording *rec, size_t *n)
{
	static const struct report_value_type values[] = { { "contentions", "count" },
							   { "delay", "nanoseconds" } };

	(void)rec;
	*n = 2;
	return values;
}

static const struct report_value_type *hold_types(const struct recording *rec, size_t *n)
{
	static const struct report_value_type values[] = { { "holds", "count" },
							   { "time", "nanoseconds" } };

	(void)rec;
	*n = 2;
	return values;
}

static void describe(struct recording *rec, struct report_info *info)
{
	const struct lock *l = rec->ctx;

	info->event = l->options->hold ? "pthread_mutex_lock"
		      : !l->of_kernel  ? "futex"
		      : !l->of_users   ? "contention_begin"
				       : "contention_begin, futex";
}

static int ledger(struct recording *rec, uint64_t kept, struct record_ledger *b)
{
	const struct lock *l = rec->ctx;
	struct lock_stats s;
	int err = record_stacks_stats(rec->stacks, &s);

	(void)kept;
	if (err)
		return rp_fail(err, "reading the program's counters: %s", strerror(-err));
	if (s.no_begin)
		rp_log(RP_INFO,
		       "%" PRIu64 " waits had begun before, or were lost: their ends are left out",
		       s.no_begin);
	if (s.waker_lost)
		rp_log(RP_WARN, "%" PRIu64 " times the releaser of a lock is not known: no room",
		       s.waker_lost);
	if (s.hists_full)
		rp_log(RP_WARN, "%" PRIu64 " waits are in no histogram: for more than %d locks",
		       s.hists_full, LOCK_HIST_LOCKS);
	b->report.events = l->options->hold ? "holds" : "waits";
	b->report.fired += l->missed + l->carried_in;
	b->report.kept = l->kept;
	record_ledger_add(b, "shorter", s.shorter + l->shorter, REPORT_FILTERED);
	record_ledger_add(b, "other types", l->other_types, REPORT_FILTERED);
	record_ledger_add(b, "nested", s.nested + l->missed, REPORT_LOST);
	record_ledger_add(b, "too many threads", s.threads_full, REPORT_LOST);
	record_ledger_add(b, "inside too many others", s.too_deep, REPORT_LOST);
	record_ledger_add(b, "too many stacks", s.results_full, REPORT_LOST);
	record_ledger_add(b, "no end seen", s.unended, REPORT_LOST);
	return 0;
}

const struct record_profiler lock_profiler = {
	.command = "lock",
	.nmaps = LOCK_MAPS,
	.weight = 1,
	.micros = true,
	.ring_factor = 2, /* for each waiter a releaser too */
	.configure = configure,
	.attach = attach,
	.start = start,
	.stop = stop,
	.stop_at_loads = true,
	.loaded = loaded,
	.collect = collect,
	.restart = restart,
	.types = types,
	.samples = lock_samples,
	.describe = describe,
	.ledger = ledger,
};

/*
 * Rows where the format has them, unless stacks were asked for. A saved one has the stacks, from
 * which all else is made, unless rows were asked for.
 */
static void choose_view(const struct options *opt, struct record_profiler *profiler)
{
	const struct lock_options *own = opt->own;

	if (own->hist) {
		profiler->report = lock_report_hists;
		profiler->output = RECORD_HISTS;
		if (opt->record.interval > 0)
			profiler->interval = lock_report_hists_interval;
	} else if (!own->stacks && opt->format->write_grid && (own->by || !opt->format->saved)) {
		profiler->report = lock_report_grid;
		profiler->empty_grid = lock_empty_grid;
		profiler->output = RECORD_GRID;
		if (opt->record.interval > 0)
			profiler->interval = lock_report_interval;
	}
}

void lock_maps(struct asm_map maps[LOCK_MAPS])
{
	memcpy(maps, rp_lock_maps, sizeof(rp_lock_maps));
	record_stacks_thread_map(&maps[LOCK_MAP_THREADS], record_threads());
}

int lock_run(const struct options *opt)
{
	struct lock l = { .options = opt->own,
			  .of_users = !opt->record.kernel_only,
			  .of_kernel = !opt->record.user_only,
			  .earlier = HASH_MAP(struct lock_earlier, pair),
			  .hists_seen = HASH_MAP(struct lock_hist_seen, key) };
	struct record_profiler profiler = lock_profiler;
	struct asm_map maps[LOCK_MAPS];
	struct options both_sides = *opt;
	int status;

	/* In this command -U and -K choose locks, not the side of the stacks. */
	both_sides.record.user_only = both_sides.record.kernel_only = false;
	lock_maps(maps);
	if (l.options->hist)
		maps[LOCK_MAP_HISTS].max_entries =
			strcmp(l.options->hist, "lock") ? HIST_TYPES : LOCK_HIST_LOCKS;
	profiler.maps = maps;
	choose_view(opt, &profiler);
	if (l.options->hold) {
		profiler.mapped = mapped;
		profiler.often = true;
		profiler.at_return = true;
		profiler.types = hold_types;
	}
	status = run_profiler(&profiler, &both_sides, &l);
	lock_probes_close(l.probes);
	lock_list_free(&l.list);
	rp_hash_free(&l.earlier);
	rp_hash_free(&l.hists_seen);
	return status;
}
