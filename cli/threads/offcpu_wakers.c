/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * offcpu --wakers: each wait with its waker. From the root: the stack that waited, a mark "--",
 * and the stack that woke it in reverse, which ends with the waker's name:
 *
 *	main; ...; futex_wait; schedule; --; wake_up_q; futex_wake; ...; main; worker
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "record/interrupt.h"
#include "offcpu.h"
#include "record/own_frames.h"

#define NOT_SEEN "[waker not seen]"

static int keep(struct offcpu *o, const struct offcpu_ended *ended)
{
	return RP_PUSH(o->ended, o->nended, o->capacity, *ended);
}

static int take_pair(void *ctx, const void *key, const void *value)
{
	struct recording *rec = ctx;
	struct offcpu_ended ended = { 0 };

	memcpy(&ended.pair, key, sizeof(ended.pair));
	memcpy(&ended.weights, value, sizeof(ended.weights));
	return keep(rec->ctx, &ended);
}

int offcpu_take_pairs(struct recording *rec)
{
	return record_stacks_each(rec->stacks, OFFCPU_MAP_PAIRS, take_pair, rec);
}

int offcpu_add_waiting(struct recording *rec, uint64_t stack, uint64_t ns)
{
	const struct offcpu_ended waiting = { { stack, 0 }, { 1, ns }, true };

	return keep(rec->ctx, &waiting);
}

/* The waker, outermost first, and the mark; behind them comes the waiting stack, leaf first. */
static int add_waker(struct recording *rec, struct report *report, struct names *names,
		     const struct stack *waker, struct name_ids *ids)
{
	const struct stack_record *r = waker->record;
	struct name_ids frames = { 0 };
	size_t nkernel = r->kernel_bytes / 8, own, interrupt;
	int err = record_frames(rec, names, r, &frames);

	/* Kernel frames are addresses; of an interrupted task nothing is shown. */
	own = record_own_frames(rec, r->frames, nkernel);
	interrupt = record_interrupt_frames(rec, r->frames + own, nkernel - own);
	if (!err)
		err = record_names_mark(report, interrupt ? "[interrupt]" : r->comm, ids);
	if (interrupt && frames.n > interrupt)
		frames.n = interrupt;
	for (size_t i = frames.n; !err && i; i--)
		err = record_names_push(ids, frames.id[i - 1]);
	free(frames.id);
	return err;
}

/* waker NULL: a mark in its place. with: as struct stack_moment has it. */
static int add_ended(struct recording *rec, struct report *report, struct names *names,
		     const struct stack *sleeper, const struct stack *waker, const char *mark,
		     uint64_t with, const struct offcpu_pair_weights *weights)
{
	const struct stack_record *r = sleeper->record;
	const uint64_t values[] = { weights->count, weights->ns };
	struct name_ids ids = { 0 };
	struct report_sample sample = { .comm = r->comm,
					.pid = (int32_t)(r->pid_tgid >> 32),
					.tid = (int32_t)r->pid_tgid,
					.values = values };
	uint32_t id;
	int err;

	if (!record_comm_wanted(rec, r->comm)) {
		rec->not_wanted += weights->count;
		return 0;
	}
	err = waker ? add_waker(rec, report, names, waker, &ids)
		    : record_names_mark(report, mark, &ids);
	if (!err)
		err = record_names_mark(report, "--", &ids);
	if (!err)
		err = record_frames(rec, names, r, &ids);
	sample.frames = ids.id;
	sample.nframes = ids.n;
	if (!err)
		err = record_label(rec, r, &sample);
	if (!err)
		err = report_add_id(report, &sample, &id);
	if (!err)
		record_stream_sample(rec, r->hash, with, id);
	free(ids.id);
	return err;
}

int offcpu_add_pairs(struct recording *rec, struct report *report, struct names *names)
{
	const struct offcpu *o = rec->ctx;
	const struct stack *stack = NULL;
	int err = 0;

	/* What the map of pairs had no room for. */
	while (!err && (stack = record_stacks_next(rec->stacks, stack))) {
		const struct offcpu_pair_weights rest = { stack->value[OFFCPU_WEIGHT_COUNT],
							  stack->value[OFFCPU_WEIGHT_NS] };

		if (rest.count)
			err = add_ended(rec, report, names, stack, NULL, NOT_SEEN, 0, &rest);
	}
	for (size_t i = 0; !err && i < o->nended; i++) {
		const struct offcpu_ended *e = &o->ended[i];
		const struct stack *sleeper = record_stacks_find(rec->stacks, e->pair.sleeper);
		const struct stack *waker =
			e->pair.waker ? record_stacks_find(rec->stacks, e->pair.waker) : NULL;

		if (!sleeper)
			return rp_fail(-EBADMSG, "a wait ended whose stack is not known");
		err = add_ended(rec, report, names, sleeper, waker,
				e->waiting ? "[still waiting]" : NOT_SEEN,
				e->waiting ? OFFCPU_STILL_WAITING : e->pair.waker, &e->weights);
		if (!err) /* it counts whole stacks */
			err = record_stacks_add(
				rec->stacks, e->pair.sleeper,
				(uint64_t[STACK_VALUES]){ e->weights.count, e->weights.ns });
	}
	return err;
}
