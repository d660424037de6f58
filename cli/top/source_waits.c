/* SPDX-License-Identifier: BSD-2-Clause */
/* How long threads wait for a CPU, and for everything else: as `offcpu --runq` and `offcpu -K`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/threads/offcpu.h"
#include "cli/threads/wait_kind.h"
#include "programs/threads/runq.h"
#include "sources.h"

static const struct offcpu_options no_options;

/* ---- the run queue */

static int open_queue(struct top_source *s)
{
	struct runq *r = s->state_of_kind;

	r->options = &no_options;
	s->profiler = runq_profiler;
	s->profiler.no_names = true;
	s->ctx = r;
	return runq_open(r);
}

static int read_queue(struct top_source *s, struct top_window *w)
{
	struct runq *r = s->state_of_kind;
	struct report_hist_summary sum;
	struct report_hist *hist;
	int err = runq_take(&s->rec);

	if (!err)
		err = report_hists_get(r->set, NULL, &hist);
	if (err)
		return err;
	report_hist_summary(hist, &sum);
	report_hists_clear(r->set);
	w->figure[TOP_QUEUED] = sum.count;
	w->figure[TOP_QUEUE_P50] = sum.p50;
	w->figure[TOP_QUEUE_P90] = sum.p90;
	w->figure[TOP_QUEUE_P99] = sum.p99;
	w->figure[TOP_QUEUE_MAX] = sum.greatest;
	return 0;
}

static int forget_queue(struct top_source *s)
{
	return record_stacks_clear(s->rec.stacks, RUNQ_MAP_THREADS);
}

static void close_queue(struct top_source *s)
{
	runq_close(s->state_of_kind);
}

/* ---- waits */

static int open_waits(struct top_source *s)
{
	struct offcpu *o = s->state_of_kind;

	o->options = &no_options;
	s->options.kernel_only = true; /* the kernel's frames tell what a wait is for */
	s->options.user_only = false;
	s->profiler = offcpu_profiler;
	s->profiler.no_names = true; /* of processes */
	s->ctx = o;
	return 0;
}

static int name_wait(struct top_source *s, const struct stack *stack, struct top_known_stack *out)
{
	const struct stack_record *r = stack->record;
	const size_t n = r->kernel_bytes / 8;

	if (n) {
		sym_kernel_prepare(s->rec.kernel, r->frames, 1, false);
		sym_kernel_prepare(s->rec.kernel, r->frames + 1, n - 1, true);
	}
	out->text = wait_kind(&s->rec, r->frames, n);
	return 0;
}

struct going_on {
	const struct top_source *source;
	struct stack_total *total;
	size_t n;
	uint64_t now;
};

static int add_thread(void *ctx, const void *key, const void *value)
{
	const struct going_on *g = ctx;
	const struct sched_thread *t = value;
	const size_t at = t->hash ? record_stacks_number(g->source->rec.stacks, t->hash) : SIZE_MAX;

	(void)key;
	if (at < g->n && t->since < g->now)
		g->total[at].value[OFFCPU_WEIGHT_NS] += g->now - t->since;
	return 0;
}

/* A wait that goes on has lasted until now: so each window has the waits of its own time. */
static int add_going_on(struct top_source *s, struct stack_total *total, size_t n)
{
	struct going_on g = { s, total, n, rp_monotonic_ns() };

	return record_stacks_each(s->rec.stacks, SCHED_MAP_THREADS, add_thread, &g);
}

static int add_wait(struct top_source *s, struct top_window *w, const struct stack *stack,
		    const struct top_known_stack *known, const uint64_t *value)
{
	const struct stack_record *r = stack->record;
	const union top_value keys[4] = { { .number = r->pid_tgid >> 32 },
					  { .number = (uint32_t)r->pid_tgid },
					  { .text = top_comm(w, r->comm) },
					  { .text = top_text(w, known->text) } };
	struct top_row *row;

	if (!keys[2].text || !keys[3].text)
		return -ENOMEM;
	if (!record_comm_wanted(&s->rec, r->comm))
		return 0;
	row = top_row(w, TOP_WAITS, keys);
	if (row) {
		row->cell[4].number += value[OFFCPU_WEIGHT_COUNT];
		row->cell[5].number += value[OFFCPU_WEIGHT_NS];
	}
	return 0;
}

static int read_waits(struct top_source *s, struct top_window *w)
{
	static const struct top_stacks how = { name_wait, add_going_on, add_wait };

	return top_stacks_read(s, w, &how);
}

static int forget_waits(struct top_source *s)
{
	return record_stacks_clear(s->rec.stacks, SCHED_MAP_THREADS);
}

const struct top_source_kind top_source_queue = {
	.name = "run queue",
	.panel = TOP_PANELS, /* it fills figures, no panel */
	.at_once = true,
	.size = sizeof(struct runq),
	.open = open_queue,
	.read = read_queue,
	.forget = forget_queue,
	.close = close_queue,
};

const struct top_source_kind top_source_waits = {
	.name = "waits",
	.panel = TOP_WAITS,
	.at_once = true,
	.size = sizeof(struct offcpu),
	.open = open_waits,
	.read = read_waits,
	.forget = forget_waits,
};
