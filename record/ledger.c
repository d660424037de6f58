/* SPDX-License-Identifier: BSD-2-Clause */
/* The ledger: every event is kept, filtered or lost, by cause. And what the recording has cost. */
#include <string.h>
#include <unistd.h>

#include "recording.h"
#include "system.h"

/* The profiler's own struct of counters begins with these. */
union counters {
	struct program_stats common;
	uint64_t capacity[64];
};

/* ---- what the programs cost */

/*
 * The kernel's statistics are two readings of the clock for each run, 50 ns and more. Of programs
 * that run oftener than so, by a look, that would be a good part of what they cost.
 */
#define MOST_RUNS 5000

int record_watch_runs(struct recording *rec)
{
	union counters stats = { 0 };
	struct record_runs runs;
	int err;

	if (rec->stats < 0)
		return 0;
	runs = record_runs(rec, NULL, RECORD_ALL_ROLES);
	if (runs.runs - rec->measured.runs.runs < MOST_RUNS) {
		rec->measured.runs = runs;
		return 0;
	}
	rec->measured.runs = runs;
	err = record_stacks_stats(rec->stacks, &stats);
	/* What fires is what the rest is estimated by: it has to be what they run for. */
	if (err || stats.common.fired < runs.runs / 8)
		return err;
	rec->measured.fired = stats.common.fired;
	close(rec->stats);
	rec->stats = -1;
	return 0;
}

static uint64_t in_proportion(uint64_t measured, const struct recording *rec, uint64_t fired)
{
	return (uint64_t)((double)measured * (double)fired / (double)rec->measured.fired);
}

static void bpf_cost(struct recording *rec, uint64_t fired, struct report_cost *cost)
{
	struct record_runs runs = rec->measured.runs;

	if (rec->measured.fired) {
		cost->bpf_ns += in_proportion(runs.ns, rec, fired);
		cost->bpf_runs += in_proportion(runs.runs, rec, fired);
		cost->bpf_estimated = true;
	} else if (rec->stats >= 0) {
		runs = record_runs(rec, NULL, RECORD_ALL_ROLES);
		cost->bpf_ns += runs.ns;
		cost->bpf_runs += runs.runs;
	}
}

/* Of a window, what it has cost alone. */
static void take_paid(const struct recording *rec, struct report_cost *cost)
{
	cost->bpf_ns -= rec->paid.bpf_ns;
	cost->bpf_runs -= rec->paid.bpf_runs;
	cost->user_cpu_ns -= rec->paid.user_cpu_ns;
	cost->system_cpu_ns -= rec->paid.system_cpu_ns;
}

void record_ledger_add(struct record_ledger *b, const char *name, uint64_t count,
		       enum report_fate fate)
{
	b->lines[b->report.nlines++] = (struct report_ledger_line){ name, count, fate };
}

int record_ledger(struct recording *rec, uint64_t kept, struct record_ledger *b)
{
	union counters stats = { 0 };
	int err = record_stacks_stats(rec->stacks, &stats);

	if (err)
		return rp_fail(err, "reading the program's counters: %s", strerror(-err));
	*b = (struct record_ledger){ 0 };
	b->report = (struct report_ledger){ .fired = stats.common.fired,
					    .kept = kept,
					    .lines = b->lines };
	record_ledger_add(b, "idle", stats.common.idle, REPORT_FILTERED);
	record_ledger_add(b, "not asked for", stats.common.filtered + rec->not_wanted,
			  REPORT_FILTERED);
	record_ledger_add(b, "ring full", stats.common.ring_full, REPORT_LOST);
	record_ledger_add(b, "busy", stats.common.busy, REPORT_LOST);
	if (stats.common.uncounted)
		rp_log(RP_INFO,
		       "%llu stacks found no room in the map and came through the ring each time",
		       (unsigned long long)stats.common.uncounted);
	if (stats.common.ring_full * 100 > stats.common.fired) /* few: the ledger says it */
		rp_log(RP_WARN,
		       "%llu of %llu are lost: new stacks came faster than they could be read",
		       (unsigned long long)stats.common.ring_full,
		       (unsigned long long)stats.common.fired);
	if (stats.common.unfollowed)
		rp_log(RP_WARN, "%llu children were not followed: more than %d processes at once",
		       (unsigned long long)stats.common.unfollowed, RECORD_FOLLOWED);
	if (rec->during)
		record_during_ledger(rec, stats.common.outside, b);
	if (rec->profiler->ledger)
		err = rec->profiler->ledger(rec, kept, b);
	record_own_cost(&b->cost);
	bpf_cost(rec, stats.common.fired, &b->cost);
	take_paid(rec, &b->cost);
	return err;
}
