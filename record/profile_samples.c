/* SPDX-License-Identifier: BSD-2-Clause */
/* --samples: every record as it comes, named and printed at once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profile.h"

int record_samples_keep(struct recording *rec, const struct stack_record *record)
{
	struct record_queue *q = &rec->queue;
	size_t bytes = sizeof(*record) + record->user_bytes + record->kernel_bytes;

	if (RP_GROW(q->records, q->n, q->capacity))
		return -ENOMEM;
	q->records[q->n] = malloc(bytes);
	if (!q->records[q->n])
		return -ENOMEM;
	memcpy(q->records[q->n++], record, bytes);
	return 0;
}

static int print_one(struct recording *rec, const struct stack_record *r)
{
	size_t nuser = r->user_bytes / 8, nkernel = r->kernel_bytes / 8;
	struct name_frames frames = { 0 };
	struct name_owner owner = record_owner(r);
	struct report_event event = { .wall_ns = r->time + rec->session.wall_offset,
				      .mono_ns = r->time,
				      .comm = r->comm,
				      .event = rec->profiler->event ? rec->profiler->event(rec)
								    : NULL,
				      .pid = (int32_t)(r->pid_tgid >> 32),
				      .tid = (int32_t)r->pid_tgid,
				      .cpu = (int32_t)r->cpu,
				      .value = r->value[0] };
	int err;

	err = record_names_stack(&rec->session, NULL, r->frames, nkernel, NAMES_AT, &frames);
	if (!err)
		err = record_names_stack(&rec->session, &owner, r->frames + nkernel, nuser,
					 record_names_entered(&rec->session, r->frames, nkernel),
					 &frames);
	if (err)
		goto out;
	event.frames = frames.frame;
	event.nframes = frames.n;
	err = rec->opt->folded_samples
		      ? report_write_event_folded(rec->output.stream, &event, &rec->output.show)
		      : report_write_event(rec->output.stream, &event, &rec->output.show);
	rec->printed++;
out:
	free(frames.frame);
	return err;
}

int record_samples_print(struct recording *rec)
{
	struct record_queue *q = &rec->queue;
	int err = 0;

	for (size_t i = 0; i < q->n; i++) {
		if (!record_comm_wanted(rec, q->records[i]->comm))
			rec->not_wanted++;
		else if (!err)
			err = print_one(rec, q->records[i]);
		free(q->records[i]);
	}
	if (!err && q->n)
		err = output_flush(&rec->output);
	q->n = 0;
	return output_failed(&rec->output, err);
}

int record_samples_end(struct recording *rec)
{
	struct record_ledger ledger;
	int err = record_samples_print(rec);

	free(rec->queue.records);
	rec->queue = (struct record_queue){ 0 };
	if (!err)
		err = record_ledger(rec, rec->printed, &ledger);
	return err ? err : output_tell(&rec->output, rec->opt, NULL, &ledger.report, &ledger.cost);
}
