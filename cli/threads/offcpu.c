/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof offcpu: what are threads waiting for? The programs: programs/threads/offcpu.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/asleep.h"
#include "base/clock.h"
#include "offcpu.h"
#include "sched.h"

/* ---- recording */

static int configure(struct recording *rec)
{
	struct offcpu *o = rec->ctx;

	o->config.states = THREAD_WAITING;
	if (o->options->state)
		sched_states_parse(o->options->state, &o->config.states);
	o->config.min_ns = o->options->min_ns;
	o->config.max_ns = o->options->max_ns;
	o->config.wakers = o->options->wakers;
	o->config.sample_ns = o->options->sample_ns;
	rec->config.some_kernel_only = o->options->wakers;
	o->config.classic = !rp_has(RP_HAS_TP_BTF);
	if (o->options->wakers && !o->config.classic && !rp_has(RP_HAS_TASK_REGS))
		return rp_fail(-EOPNOTSUPP, "--wakers needs Linux 5.15, where there is BTF");
	if (o->options->wakers && o->config.classic && !rec->config.kernel_bytes)
		return rp_fail(-EOPNOTSUPP,
			       "--wakers with -U needs BTF: else only kernel stacks show "
			       "which task was interrupted");
	if (o->options->wakers && rec->config.ns_inode)
		return rp_fail(-EOPNOTSUPP,
			       "--wakers: inside a pid namespace most wakers have no names");
	return 0;
}

static int attach(struct recording *rec)
{
	struct offcpu *o = rec->ctx;
	int err = 0;

	o->config.common = rec->config;
	o->visitor = -1;
	if (!o->config.classic) {
		sched_find_state(&o->config);
		err = record_asleep_load(rec, &o->config, &o->visitor);
	}
	if (!err && o->options->wakers)
		err = record_attach(rec, rp_offcpu_waking_programs, OFFCPU_WAKING, &o->config);
	if (!err)
		err = record_attach(rec, rp_offcpu_freed_programs, RECORD_ALL_ROLES, &o->config);
	return err ? err : record_attach(rec, rp_offcpu_programs, OFFCPU_SWITCH, &o->config);
}

static int start(struct recording *rec)
{
	return sched_gate(rec, rp_monotonic_ns());
}

static int begin(struct recording *rec)
{
	struct offcpu *o = rec->ctx;

	/* A program that rawprof starts has waited for nothing but rawprof so far. */
	return rec->opt->program || rec->during ? 0 : record_asleep_begin(rec, o->visitor);
}

static int walk_again(struct recording *rec)
{
	struct offcpu *o = rec->ctx;

	return record_asleep_visit(rec, o->visitor);
}

static int stop(struct recording *rec)
{
	struct offcpu *o = rec->ctx;

	o->end_ns = rp_monotonic_ns();
	o->shorter = o->longer = o->drawn_for = 0;
	return sched_gate(rec, 0);
}

static int add_waiting(struct recording *rec, const struct sched_thread *t, uint64_t ns)
{
	struct offcpu *o = rec->ctx;
	/* With sample_ns it stands for so many, see programs/threads/odds.h. */
	const uint64_t count = o->config.sample_ns ? 1ull << (t->phase & 63) : 1;
	int err = record_stream_until(rec, t->hash, o->options->wakers ? OFFCPU_STILL_WAITING : 0,
				      o->end_ns, ns, 1);

	if (err)
		return err;
	if (o->options->wakers)
		return offcpu_add_waiting(rec, t->hash, ns);
	o->drawn_for += count - 1;
	return record_stacks_add(
		rec->stacks, t->hash,
		(uint64_t[STACK_VALUES]){
			[OFFCPU_WEIGHT_COUNT] = count, [OFFCPU_WEIGHT_NS] = ns * count });
}

/* A thread that has not come back by the end has waited until then. */
static int add_asleep(void *ctx, const void *key, const void *value)
{
	struct recording *rec = ctx;
	struct offcpu *o = rec->ctx;
	const struct sched_thread *t = value;
	uint64_t ns = t->since < o->end_ns ? o->end_ns - t->since : 0;
	int err = 0;

	(void)key;
	if (!t->hash)
		return 0;
	if (ns < o->config.min_ns)
		o->shorter++;
	else if (o->config.max_ns && ns > o->config.max_ns)
		o->longer++;
	else
		err = add_waiting(rec, t, ns);
	return err == -ENOENT ? rp_fail(-EBADMSG, "a thread waits where no stack is known") : err;
}

/* Who still waits is visited again, and its wait counts from there: so far it has been counted. */
static int restart(struct recording *rec)
{
	return record_stacks_clear(rec->stacks, SCHED_MAP_THREADS);
}

static int collect(struct recording *rec)
{
	struct offcpu *o = rec->ctx;
	int err = record_stacks_each(rec->stacks, SCHED_MAP_THREADS, add_asleep, rec);

	return !err && o->options->wakers ? offcpu_take_pairs(rec) : err;
}

/* ---- report */

static const struct report_value_type *types(const struct recording *rec, size_t *n)
{
	static const struct report_value_type values[OFFCPU_WEIGHTS] = {
		[OFFCPU_WEIGHT_COUNT] = { "contentions", "count" },
		[OFFCPU_WEIGHT_NS] = { "delay", "nanoseconds" },
	};

	(void)rec;
	*n = OFFCPU_WEIGHTS;
	return values;
}

/* A stack is published when its thread leaves, which may come back too soon or after the end. */
static bool values(const struct recording *rec, const struct stack *stack, uint64_t *value)
{
	(void)rec;
	(void)value;
	return stack->value[OFFCPU_WEIGHT_COUNT] != 0;
}

static const char *event(const struct recording *rec)
{
	(void)rec;
	return "sched_switch";
}

static void describe(struct recording *rec, struct report_info *info)
{
	info->event = event(rec);
}

static int ledger(struct recording *rec, uint64_t kept, struct record_ledger *b)
{
	const struct offcpu *o = rec->ctx;
	struct sched_stats stats;
	int err = record_stacks_stats(rec->stacks, &stats);

	if (err)
		return rp_fail(err, "reading the program's counters: %s", strerror(-err));
	b->report.kept = kept - stats.drawn_for - o->drawn_for;
	b->report.events = "switches";
	sched_tell(&stats);
	if (stats.pairs_full)
		rp_log(RP_WARN, "%llu waits are without their waker: too many different ones",
		       (unsigned long long)stats.pairs_full);
	record_ledger_add(b, "runnable", stats.runnable, REPORT_FILTERED);
	record_ledger_add(b, "other states", stats.state, REPORT_FILTERED);
	record_ledger_add(b, "ended", stats.exited, REPORT_FILTERED);
	record_ledger_add(b, "shorter", stats.shorter + o->shorter, REPORT_FILTERED);
	record_ledger_add(b, "longer", stats.longer + o->longer, REPORT_FILTERED);
	record_ledger_add(b, "not drawn", stats.not_drawn, REPORT_FILTERED);
	record_ledger_add(b, "too many threads", stats.threads_full, REPORT_LOST);
	return 0;
}

static void add_moment(const struct stack_moment *m, uint64_t *value)
{
	value[OFFCPU_WEIGHT_COUNT] += m->count;
	value[OFFCPU_WEIGHT_NS] += m->weight;
}

const struct record_profiler offcpu_profiler = {
	.command = "offcpu",
	.maps = rp_offcpu_maps,
	.nmaps = SCHED_MAPS, /* OFFCPU_MAPS with --wakers */
	.thread_map = SCHED_MAP_THREADS,
	.weight = OFFCPU_WEIGHT_NS,
	.micros = true,
	.configure = configure,
	.attach = attach,
	.start = start,
	.begin = begin,
	.stop = stop,
	.restart = restart,
	.collect = collect,
	.walk_again = walk_again,
	.types = types,
	.values = values,
	.add_moment = add_moment,
	.event = event,
	.describe = describe,
	.ledger = ledger,
};

int offcpu_run(const struct options *opt)
{
	struct offcpu o = { .options = opt->own };
	struct record_profiler profiler = offcpu_profiler;
	int status;

	if (o.options->runq)
		return runq_run(opt);
	if (o.options->wakers) {
		profiler.nmaps = OFFCPU_MAPS;
		profiler.samples = offcpu_add_pairs;
	}
	status = run_profiler(&profiler, opt, &o);
	free(o.ended);
	return status;
}
