/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof wall: where does the time of threads go, on a CPU or not? See programs/threads/wall.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/asleep.h"
#include "base/clock.h"
#include "record/sampling.h"
#include "sched.h"
#include "wall.h"

#define DEFAULT_FREQ 99

/* ---- recording */

static int configure(struct recording *rec)
{
	struct wall *w = rec->ctx;

	w->config.states = THREAD_WAITING | THREAD_RUNNABLE;
	w->config.everyone = 1;
	w->config.classic = !rp_has(RP_HAS_TP_BTF);
	if (!w->config.classic)
		sched_find_state(&w->config);
	return 0;
}

/* Of an exec no stack is needed. */
static struct sched_config exec_config(const struct wall *w)
{
	struct sched_config c = w->config;

	c.common.kernel_bytes = 0;
	c.common.user_bytes = 0;
	c.common.eh = 0;
	c.common.managed_bytes = 0;
	c.common.jvm = 0;
	c.gil = 0;
	return c;
}

static int attach(struct recording *rec)
{
	struct wall *w = rec->ctx;
	struct sched_config of_exec, of_sample;
	int err, program;

	w->config.common = rec->config;
	w->config.gil = rec->config.managed_bytes != 0;
	of_sample = w->config;
	w->config.common.times_mask = 0; /* it is for programs of perf events */
	of_exec = exec_config(w);
	err = record_asleep_load(rec, &w->config, &w->visitor);
	if (!err)
		err = record_attach(rec, rp_wall_exec_programs, WALL_EXEC, &of_exec);
	if (!err)
		err = record_attach(rec, rp_offcpu_freed_programs, RECORD_ALL_ROLES, &of_exec);
	if (!err)
		err = record_attach(rec, rp_wall_programs, RECORD_ALL_ROLES, &w->config);
	if (err)
		return err;
	program = record_load(rec, rp_program_of(rp_wall_programs, WALL_SAMPLES), &of_sample);
	return program < 0 ? program
			   : record_sampling_open(rec->opt, w->freq, w->period, program, &w->perf);
}

static int start(struct recording *rec)
{
	struct wall *w = rec->ctx;
	int err = rp_perf_enable(w->perf);

	if (!err)
		err = sched_gate(rec, rp_monotonic_ns());
	/* A program that rawprof starts is met before it runs: its time is counted from there. */
	return err || !rec->opt->program || rec->during ? err
							: record_asleep_begin(rec, w->visitor);
}

static int begin(struct recording *rec)
{
	struct wall *w = rec->ctx;

	/* Who sleeps since before is in no call that was seen to begin. */
	return rec->opt->program || rec->during ? 0 : record_asleep_begin(rec, w->visitor);
}

static int stop(struct recording *rec)
{
	struct wall *w = rec->ctx;
	int err;

	w->end_ns = rp_monotonic_ns();
	err = sched_gate(rec, 0);
	return err ? err : rp_perf_disable(w->perf);
}

static int walk_again(struct recording *rec)
{
	struct wall *w = rec->ctx;

	return record_asleep_visit(rec, w->visitor);
}

static int tick(struct recording *rec)
{
	struct wall *w = rec->ctx;
	int joined = rp_perf_hotplug(w->perf);

	return joined < 0 ? joined : 0;
}

/* ---- what the maps hold in the end */

static uint64_t between(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

/* The interval that a thread is in when the recording ends. */
static int add_last(struct recording *rec, const struct sched_thread *t, struct wall_thread *thread)
{
	struct wall *w = rec->ctx;
	uint64_t value[STACK_VALUES] = { 0 }, until = w->end_ns, woken = until;
	int err;

	if (t->phase == PHASE_ON_CPU) {
		thread->on_cpu += between(t->since, until);
		return 0;
	}
	if (!t->hash) {
		*(t->phase == PHASE_QUEUED ? &thread->queued : &thread->lost) +=
			between(t->since, until);
		return 0;
	}
	if (t->phase == PHASE_QUEUED) {
		value[WALL_WEIGHT_PREEMPTED] = 1;
		woken = t->since;
	} else {
		value[WALL_WEIGHT_COUNT] = 1;
		if (t->woken && t->woken < until)
			woken = t->woken;
	}
	value[WALL_WEIGHT_WAITING] = between(t->since, woken);
	value[WALL_WEIGHT_QUEUED] = between(woken, until);
	err = record_stream_until(rec, t->hash, WALL_MOMENT_WAITING, woken,
				  value[WALL_WEIGHT_WAITING], 1);
	if (!err)
		err = record_stream_until(rec, t->hash, WALL_MOMENT_QUEUED, until,
					  value[WALL_WEIGHT_QUEUED],
					  value[WALL_WEIGHT_WAITING] ? 0 : 1);
	return err ? err : record_stacks_add(rec->stacks, t->hash, value);
}

/* A visit took it for asleep, and it was not: nothing is known of it (programs/shared/asleep.c). */
static bool is_unmet(const struct sched_thread *t)
{
	return t->phase == PHASE_WAITING && !t->hash && t->since == t->born;
}

static int take_thread(void *ctx, const void *key, const void *value)
{
	const struct sched_thread *t = value;
	struct recording *rec = ctx;
	struct wall *w = rec->ctx;
	struct wall_thread *thread;
	int err;

	(void)key;
	if (is_unmet(t))
		return 0;
	thread = wall_thread(&w->threads, t->pid_tgid);
	if (!thread)
		return -ENOMEM;
	memcpy(thread->comm, t->comm, sizeof(thread->comm));
	thread->on_cpu += t->on_cpu;
	thread->queued += t->queued;
	thread->lost += t->lost;
	w->lifetime_ns += between(t->born, w->end_ns);
	err = add_last(rec, t, thread);
	return err == -ENOENT ? rp_fail(-EBADMSG, "a thread waits where no stack is known") : err;
}

/* Threads that have ended, as WALL_ENDED has them. */
static int take_ended(struct recording *rec)
{
	const struct stack *stack = NULL;
	struct wall *w = rec->ctx;

	while ((stack = record_stacks_next(rec->stacks, stack))) {
		struct wall_thread *thread;

		if (stack->record->tag != WALL_ENDED)
			continue;
		thread = wall_thread(&w->threads, stack->record->pid_tgid);
		if (!thread)
			return -ENOMEM;
		memcpy(thread->comm, stack->record->comm, sizeof(thread->comm));
		thread->queued += stack->value[0];
		thread->on_cpu += stack->value[1];
		thread->lost += stack->value[2];
		w->lifetime_ns += stack->value[3];
	}
	return 0;
}

static int collect(struct recording *rec)
{
	int err = take_ended(rec);

	return err ? err : record_stacks_each(rec->stacks, SCHED_MAP_THREADS, take_thread, rec);
}

/* ---- report */

static const struct report_value_type *types(const struct recording *rec, size_t *n)
{
	static const struct report_value_type values[] = { { "samples", "count" },
							   { "wall", "nanoseconds" } };

	(void)rec;
	*n = sizeof(values) / sizeof(values[0]);
	return values;
}

/* What is shown as a stack. */
static bool values(const struct recording *rec, const struct stack *stack, uint64_t *value)
{
	(void)rec;
	value[0] += value[WALL_WEIGHT_PREEMPTED];
	return stack->record->tag != WALL_ENDED && value[0];
}

static void add_moment(const struct stack_moment *m, uint64_t *value)
{
	const bool waits = m->kind == STACK_MOMENT_AT || m->with == WALL_MOMENT_WAITING;

	value[waits ? WALL_WEIGHT_COUNT : WALL_WEIGHT_PREEMPTED] += m->count;
	if (m->kind != STACK_MOMENT_AT)
		value[waits ? WALL_WEIGHT_WAITING : WALL_WEIGHT_QUEUED] += m->weight;
}

static void describe(struct recording *rec, struct report_info *info)
{
	const struct wall *w = rec->ctx;

	info->event = rp_perf_event(w->perf)->name;
	info->period_type = (struct report_value_type){ "wall", "nanoseconds" };
	info->period = w->freq ? NS_PER_SECOND / w->freq : w->period;
	info->rate_asked = (double)w->freq;
	info->cpus = (unsigned int)rp_perf_count(w->perf);
	info->has_events = true; /* waits are counted beside them */
	info->events = w->samples;
}

static char *note(struct recording *rec)
{
	const struct wall *w = rec->ctx;
	double shown = (double)w->shown_ns / NS_PER_SECOND;
	double all = (double)w->lifetime_ns / NS_PER_SECOND;
	char *text;

	if (asprintf(&text,
		     "%u threads lived for %.3f s together, of which %.3f s are here (%.2f %%)%s",
		     w->threads.count, all, shown, all > 0 ? 100 * shown / all : 100,
		     w->lost_ns ? ", some of it without a stack" : "") < 0)
		return NULL;
	return text;
}

static int ledger(struct recording *rec, uint64_t kept, struct record_ledger *b)
{
	struct sched_stats stats;
	int err = record_stacks_stats(rec->stacks, &stats);

	(void)kept;
	if (err)
		return rp_fail(err, "reading the program's counters: %s", strerror(-err));
	b->report.events = "switches and samples";
	sched_tell(&stats);
	record_ledger_add(b, "ended", stats.exited, REPORT_FILTERED);
	record_ledger_add(b, "too many threads", stats.threads_full, REPORT_LOST);
	return 0;
}

static const struct record_profiler wall_profiler = {
	.command = "wall",
	.maps = rp_wall_maps,
	.nmaps = SCHED_MAPS,
	.thread_map = SCHED_MAP_THREADS,
	.weight = 1,
	.sample_freq = DEFAULT_FREQ,
	.micros = true,
	.color_by_label = "state",
	.label_order = wall_states,
	.configure = configure,
	.attach = attach,
	.start = start,
	.begin = begin,
	.stop = stop,
	.walk_again = walk_again,
	.tick = tick,
	.collect = collect,
	.types = types,
	.values = values,
	.add_moment = add_moment,
	.samples = wall_samples,
	.describe = describe,
	.note = note,
	.ledger = ledger,
};

int wall_run(const struct options *opt)
{
	struct record_profiler profiler = wall_profiler;
	struct wall w = { .freq = opt->record.freq || opt->record.period ? opt->record.freq
									 : DEFAULT_FREQ,
			  .period = opt->record.period };
	int status;

	if (!rp_has(RP_HAS_TP_BTF))
		profiler.nmaps = WALL_MAPS;
	status = run_profiler(&profiler, opt, &w);

	rp_perf_close(w.perf);
	rp_hash_free(&w.threads);
	return status;
}
