/* SPDX-License-Identifier: BSD-2-Clause */
/* From the sums and stacks of `rawprof wall` to samples: the state of each, and its time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/during.h"
#include "record/own_frames.h"
#include "wait_kind.h"
#include "wall.h"

#define ON_CPU "on CPU"
#define RUNNABLE "runnable"
#define GIL "gil"

const char *const wall_states[] = { ON_CPU, RUNNABLE, "disk",  "network", "pipe",   "futex", GIL,
				    "lock", "poll",   "sleep", "child",	  "signal", "other", NULL };

/* ---- threads */

struct wall_thread *wall_thread(struct hash_map *threads, uint64_t pid_tgid)
{
	threads->key_size = sizeof(pid_tgid);
	threads->size = sizeof(struct wall_thread);
	return rp_hash_add(threads, &pid_tgid);
}

/* ---- samples */

/* What all that is added has in common. */
struct adding {
	struct recording *rec;
	struct report *report;
	struct names *names;
};

/* *id: the sample's; as it was if there is none. r: what else is known of it; NULL: nothing. */
static int add(const struct adding *a, const char *comm, uint64_t pid_tgid, const char *state,
	       const struct stack_record *r, const struct name_ids *ids, uint64_t count,
	       uint64_t ns, uint32_t *id)
{
	const struct report_label label = { .key = "state", .str = state };
	const uint64_t values[] = { count, ns };
	struct report_sample sample = { .comm = comm,
					.pid = (int32_t)(pid_tgid >> 32),
					.tid = (int32_t)pid_tgid,
					.labels = &label,
					.nlabels = 1,
					.frames = ids->id,
					.nframes = ids->n,
					.values = values };
	struct wall *w = a->rec->ctx;
	int err;

	if (!count && !ns)
		return 0;
	w->shown_ns += ns;
	if (!record_comm_wanted(a->rec, comm)) {
		a->rec->not_wanted += count;
		return 0;
	}
	if (!strcmp(state, ON_CPU))
		w->samples += count;
	err = r ? record_label(a->rec, r, &sample) : 0;
	return err ? err : report_add_id(a->report, &sample, id);
}

/* Time of a stack of that hash, and when it was: with as in struct stack_moment. */
static int add_of(const struct adding *a, const struct stack_record *r, uint64_t hash,
		  const char *state, const struct name_ids *ids, uint64_t count, uint64_t ns,
		  uint64_t with)
{
	uint32_t id = HASH_NONE;
	int err = add(a, r->comm, r->pid_tgid, state, r, ids, count, ns, &id);

	if (!err && id != HASH_NONE)
		record_stream_sample(a->rec, hash, with, id);
	return err;
}

/*
 * Samples of a thread share its time on the CPU: the first k of n have k / n of it, so that
 * rounding leaves their sum exact.
 */
static uint64_t share(struct wall_thread *thread, uint64_t samples)
{
	uint64_t before = thread->given;

	thread->shared += samples;
	thread->given =
		(uint64_t)((unsigned __int128)thread->on_cpu * thread->shared / thread->samples);
	return thread->given - before;
}

/* The record of the thread whose time the stack has; NULL: it is lost. */
static const struct stack_record *record_of(struct recording *rec, const struct stack *stack)
{
	const struct stack_record *r = stack->record;

	if ((r->fresh & STACK_KIND) != WALL_HOLDER)
		return r;
	stack = record_stacks_find(rec->stacks, r->tag);
	return stack ? stack->record : NULL;
}

/* The holder's frames lie on top of the waiter's, in reverse, as `lock` shows them. */
static int add_holder(const struct adding *a, const struct stack_record *holder,
		      struct name_ids *ids)
{
	const uint32_t tid = (uint32_t)holder->pid_tgid;
	struct name_ids theirs = { 0 };
	char name[24] = "[another thread]";
	int err = record_names_intern_user(a->names, holder, NAMES_RETURN, &theirs);

	if (tid)
		snprintf(name, sizeof(name), "thread %u", tid);
	if (!err)
		err = record_names_mark(a->report, name, ids);
	while (!err && theirs.n)
		err = record_names_push(ids, theirs.id[--theirs.n]);
	free(theirs.id);
	return err ? err : record_names_mark(a->report, "[held by]", ids);
}

static int add_stack(const struct adding *a, const struct stack *stack)
{
	const struct stack_record *r = record_of(a->rec, stack);
	const bool gil = r != stack->record;
	const uint64_t *value = stack->value;
	struct wall *w = a->rec->ctx;
	struct name_ids ids = { 0 };
	size_t theirs; /* frames of the holder */
	int err;

	if (!r)
		return rp_fail(-EBADMSG, "a thread waits for one whose stack is not known");
	err = gil ? add_holder(a, stack->record, &ids) : 0;
	theirs = ids.n;
	if (!err)
		err = record_frames(a->rec, a->names, r, &ids);

	if (!err && r->tag == WALL_SAMPLE) {
		struct wall_thread *thread = wall_thread(&w->threads, r->pid_tgid);

		const uint64_t ns = share(thread, value[WALL_WEIGHT_COUNT]);

		err = add_of(a, r, r->hash, ON_CPU, &ids, value[WALL_WEIGHT_COUNT], ns, 0);
		record_stream_share(a->rec, r->hash, 0, value[WALL_WEIGHT_COUNT], ns);
	} else if (!err) {
		const struct stack_record *kernel = record_kernel_record(a->rec, r);
		size_t n = kernel->kernel_bytes / 8;
		size_t own = record_own_frames(a->rec, kernel->frames, n);

		err = add_of(a, r, stack->record->hash,
			     gil ? GIL : wait_kind(a->rec, kernel->frames + own, n - own), &ids,
			     value[WALL_WEIGHT_COUNT], value[WALL_WEIGHT_WAITING],
			     WALL_MOMENT_WAITING);
		/* Then it waited for a CPU, which is not the holder's doing. */
		const struct name_ids rest = { .id = ids.id + theirs, .n = ids.n - theirs };

		if (!err)
			err = add_of(a, r, stack->record->hash, RUNNABLE, &rest,
				     value[WALL_WEIGHT_PREEMPTED], value[WALL_WEIGHT_QUEUED],
				     WALL_MOMENT_QUEUED);
	}
	free(ids.id);
	return err;
}

/* Time without a stack, under a mark that says why. */
static int add_mark(const struct adding *a, const struct wall_thread *thread, const char *state,
		    const char *mark, uint64_t ns)
{
	struct name_ids ids = { 0 };
	int err = ns ? record_names_mark(a->report, mark, &ids) : 0;
	uint32_t id;

	if (!err && ns)
		err = add(a, thread->comm, thread->pid_tgid, state, NULL, &ids, 0, ns, &id);
	free(ids.id);
	return err;
}

static int add_thread(const struct adding *a, const struct wall_thread *thread)
{
	struct wall *w = a->rec->ctx;
	int err;

	w->lost_ns += thread->lost;
	err = add_mark(a, thread, ON_CPU, "[on CPU, no sample]",
		       thread->samples ? 0 : thread->on_cpu);
	if (!err)
		err = add_mark(a, thread, RUNNABLE, "[not run yet]", thread->queued);
	return err ? err : add_mark(a, thread, "other", "[stack lost]", thread->lost);
}

/*
 * With --during a thread's time is that of the calls that are kept, and what its stacks do not
 * weigh of it was on the CPU.
 */
static int take_calls(struct recording *rec)
{
	const struct stack *stack = NULL;
	const struct during_slow *calls;
	struct wall *w = rec->ctx;
	size_t n;

	rp_hash_free(&w->threads);
	calls = record_during_calls(rec, &n);
	for (size_t i = 0; i < n; i++) {
		struct wall_thread *thread = wall_thread(&w->threads, calls[i].pid_tgid);

		if (!thread)
			return -ENOMEM;
		thread->on_cpu += calls[i].end - calls[i].begin;
		memcpy(thread->comm, calls[i].comm, sizeof(thread->comm));
	}
	while ((stack = record_stacks_next(rec->stacks, stack))) {
		const uint64_t off =
			stack->value[WALL_WEIGHT_WAITING] + stack->value[WALL_WEIGHT_QUEUED];
		const struct stack_record *r = record_of(rec, stack);
		struct wall_thread *thread =
			off && r ? wall_thread(&w->threads, r->pid_tgid) : NULL;

		if (off && !thread)
			return -ENOMEM;
		if (off)
			thread->on_cpu -= off < thread->on_cpu ? off : thread->on_cpu;
	}
	return 0;
}

/* With --during, most weigh nothing. */
static bool is_shown(const struct stack *stack)
{
	return stack->record->tag != WALL_ENDED &&
	       (stack->record->tag != WALL_SAMPLE || stack->value[WALL_WEIGHT_COUNT]);
}

int wall_samples(struct recording *rec, struct report *report, struct names *names)
{
	const struct adding a = { rec, report, names };
	const struct stack *stack = NULL;
	struct wall *w = rec->ctx;
	int err = rec->during ? take_calls(rec) : 0;

	if (err)
		return err;

	while ((stack = record_stacks_next(rec->stacks, stack))) {
		struct wall_thread *thread;

		if (stack->record->tag != WALL_SAMPLE)
			continue;
		thread = wall_thread(&w->threads, stack->record->pid_tgid);
		if (!thread)
			return -ENOMEM;
		thread->samples += stack->value[WALL_WEIGHT_COUNT];
	}
	while (!err && (stack = record_stacks_next(rec->stacks, stack)))
		if (is_shown(stack))
			err = add_stack(&a, stack);
	for (uint32_t i = 0; !err && i < w->threads.count; i++)
		err = add_thread(&a, (const struct wall_thread *)w->threads.items + i);
	return err;
}
