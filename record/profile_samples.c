/* SPDX-License-Identifier: BSD-2-Clause */
/* --samples: every record as it comes, named and printed at once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"

int record_samples_keep(struct profile *p, const struct stack_record *record)
{
	struct profile_queue *q = &p->queue;
	size_t bytes = sizeof(*record) + record->user_bytes + record->kernel_bytes;

	if (q->n == q->room) {
		size_t room = q->room ? q->room * 2 : 256;
		struct stack_record **grown =
			realloc(q->records, room * sizeof(struct stack_record *));

		if (!grown)
			return -ENOMEM;
		q->records = grown;
		q->room = room;
	}
	q->records[q->n] = malloc(bytes);
	if (!q->records[q->n])
		return -ENOMEM;
	memcpy(q->records[q->n++], record, bytes);
	return 0;
}

static int print_one(struct profile *p, const struct stack_record *r)
{
	size_t nuser = r->user_bytes / 8, nkernel = r->kernel_bytes / 8;
	struct name_frames frames = { 0 };
	struct name_owner owner = record_owner(r);
	struct report_event event = { .wall_ns = r->time + p->session.wall_offset,
				      .mono_ns = r->time,
				      .comm = r->comm,
				      .event = p->profiler->event ? p->profiler->event(p) : NULL,
				      .pid = (int32_t)(r->pid_tgid >> 32),
				      .tid = (int32_t)r->pid_tgid,
				      .cpu = (int32_t)r->cpu,
				      .value = r->value[0] };
	int err;

	err = record_names_stack(&p->session, NULL, r->frames, nkernel, NAMES_AT, &frames);
	if (!err)
		err = record_names_stack(&p->session, &owner, r->frames + nkernel, nuser,
					 record_names_entered(&p->session, r->frames, nkernel),
					 &frames);
	if (err)
		goto out;
	event.frames = frames.frame;
	event.nframes = frames.n;
	err = p->opt->folded_samples
		      ? report_write_event_folded(p->output.stream, &event, &p->output.show)
		      : report_write_event(p->output.stream, &event, &p->output.show);
	p->printed++;
out:
	free(frames.frame);
	return err;
}

int record_samples_print(struct profile *p)
{
	struct profile_queue *q = &p->queue;
	int err = 0;

	for (size_t i = 0; i < q->n; i++) {
		if (!record_comm_wanted(p, q->records[i]->comm))
			p->not_wanted++;
		else if (!err)
			err = print_one(p, q->records[i]);
		free(q->records[i]);
	}
	if (!err && q->n)
		err = output_flush(&p->output);
	q->n = 0;
	return output_failed(&p->output, err);
}

int record_samples_end(struct profile *p)
{
	struct books books;
	int err = record_samples_print(p);

	free(p->queue.records);
	p->queue = (struct profile_queue){ 0 };
	if (!err)
		err = record_ledger(p, p->printed, &books);
	return err ? err : output_tell(&p->output, p->opt, NULL, &books.ledger, &books.cost);
}
