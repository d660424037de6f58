/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits for locks as stacks. The releaser's stack is on top of the waiter's, in reverse, so that
 * the two places meet at the mark "[released by]", or "[held by]"; the releaser's name is the leaf.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lock.h"
#include "record/own_frames.h"

/* Leaf first; a wait for a futex begins with a system call. */
static int intern(struct recording *rec, struct names *names, const struct stack_record *r,
		  struct name_ids *out)
{
	const struct lock *l = rec->ctx;
	const size_t nkernel = r->kernel_bytes / 8;
	const size_t own = record_own_frames(rec, r->frames, nkernel);
	int err = record_managed_alone(rec, r)
			  ? 0
			  : record_names_intern(names, NULL, r->frames + own, nkernel - own,
						NAMES_RETURN, out);

	return err ? err
		   : record_names_intern_user(
			     names, r,
			     l->options->hold ? NAMES_RETURN
			     : nkernel	      ? record_names_entered(rec, r->frames, nkernel)
					      : NAMES_SYSCALL,
			     out);
}

/* frames: the releaser from the root, the mark, the waiter from the leaf. */
static int add_releaser(struct recording *rec, struct names *names, struct report *report,
			const struct lock_item *item, struct name_ids *frames)
{
	const struct stack_record *r = item->releaser->record;
	struct name_ids theirs = { 0 };
	int err = intern(rec, names, r, &theirs);

	if (!err)
		err = record_names_mark(report, r->comm, frames);
	while (!err && theirs.n)
		err = record_names_push(frames, theirs.id[--theirs.n]);
	if (!err)
		err = record_names_mark(
			report, item->how & LOCK_GIL ? "[held by]" : "[released by]", frames);
	free(theirs.id);
	return err;
}

static int add_item(struct recording *rec, struct names *names, struct report *report,
		    const struct lock_item *item)
{
	const struct stack_record *r = item->waiter->record;
	const struct lock *l = rec->ctx;
	const struct report_label labels[] = {
		{ .key = "lock", .str = item->word[LOCK_WORD_LOCK] },
		{ .key = "outcome", .str = item->word[LOCK_WORD_OUTCOME] },
		{ .key = "type", .str = item->word[LOCK_WORD_TYPE] },
	};
	const uint64_t values[] = { item->count, item->ns };
	const struct lock_pair pair = { .releaser =
						item->releaser ? item->releaser->record->hash : 0,
					.how = item->how,
					.outcome = item->outcome };
	struct name_ids frames = { 0 };
	uint32_t id;
	struct report_sample sample = { .comm = r->comm,
					.pid = (int32_t)(r->pid_tgid >> 32),
					.tid = (int32_t)r->pid_tgid,
					.labels = labels,
					.nlabels = sizeof(labels) / sizeof(labels[0]),
					.values = values };
	int err = 0;

	if (item->releaser)
		err = add_releaser(rec, names, report, item, &frames);
	if (!err)
		err = intern(rec, names, r, &frames);
	sample.frames = frames.id;
	sample.nframes = frames.n;
	if (!err)
		err = record_label(rec, r, &sample);
	if (!err)
		err = report_add_id(report, &sample, &id);
	if (!err && item->outcome == LOCK_WAITING)
		err = record_stream_until(rec, r->hash, lock_moment_with(&pair), l->end_ns,
					  item->ns, 1);
	if (!err)
		record_stream_sample(rec, r->hash, lock_moment_with(&pair), id);
	free(frames.id);
	return err;
}

int lock_samples(struct recording *rec, struct report *report, struct names *names)
{
	struct lock *l = rec->ctx;
	struct lock_list list = l->list; /* of a window, whose maps are empty by now */
	int err = 0;

	l->list = (struct lock_list){ 0 };
	if (!options_of(rec)->windows)
		err = lock_waits(rec, false, &list);
	for (size_t i = 0; !err && i < list.n; i++)
		err = add_item(rec, names, report, &list.item[i]);
	lock_list_free(&list);
	return err;
}
