/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples: every record as it comes, named and handed over at once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "own_frames.h"
#include "recording.h"
#include "stack_blocks.h"

int record_samples_keep(struct recording *rec, const struct stack_record *record)
{
	struct record_queue *q = &rec->queue;
	const size_t bytes = record_bytes(record);

	if (RP_GROW(q->records, q->n, q->capacity))
		return -ENOMEM;
	q->records[q->n] = malloc(bytes);
	if (!q->records[q->n])
		return -ENOMEM;
	memcpy(q->records[q->n++], record, bytes);
	return 0;
}

static int hand_over(struct recording *rec, const struct stack_record *r)
{
	size_t nkernel = r->kernel_bytes / 8;
	size_t ours = record_own_frames(rec, r->frames, nkernel);
	struct name_frames frames = { 0 };
	struct report_event event = { .wall_ns = r->time + rec->wall_offset,
				      .mono_ns = r->time,
				      .comm = r->comm,
				      .event = rec->profiler->event ? rec->profiler->event(rec)
								    : NULL,
				      .pid = (int32_t)(r->pid_tgid >> 32),
				      .tid = (int32_t)r->pid_tgid,
				      .cpu = (int32_t)r->cpu,
				      .value = r->value[0] };
	int err;

	err = record_managed_alone(rec, r)
		      ? 0
		      : record_names_stack(rec, NULL, r->frames + ours, nkernel - ours,
					   ours ? NAMES_RETURN : NAMES_AT, &frames);
	if (!err)
		err = record_names_stack_user(rec, r, record_names_entered(rec, r->frames, nkernel),
					      &frames);
	event.frames = frames.frame;
	event.nframes = frames.n;
	if (!err) {
		err = rec->opt->sample(rec->opt->ctx, &event);
		rec->handed_over++;
	}
	free(frames.frame);
	return err;
}

int record_samples_hand_over(struct recording *rec)
{
	struct record_queue *q = &rec->queue;
	int err = 0;

	for (size_t i = 0; i < q->n; i++) {
		if (!record_comm_wanted(rec, q->records[i]->comm))
			rec->not_wanted++;
		else if (!err)
			err = hand_over(rec, q->records[i]);
		free(q->records[i]);
	}
	if (!err && q->n)
		err = rec->opt->sample(rec->opt->ctx, NULL);
	q->n = 0;
	return err;
}

void record_samples_free(struct recording *rec)
{
	for (size_t i = 0; i < rec->queue.n; i++)
		free(rec->queue.records[i]);
	free(rec->queue.records);
}
