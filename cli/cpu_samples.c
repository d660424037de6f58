/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof cpu --samples: every sample as it comes, named and printed at once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "machine.h"
#include "names.h"

int cpu_samples_keep(struct cpu_run *run, const struct cpu_record *record)
{
	struct cpu_sample_queue *q = &run->queue;
	size_t bytes = sizeof(*record) + record->user_bytes + record->kernel_bytes;

	if (q->n == q->room) {
		size_t room = q->room ? q->room * 2 : 256;
		struct cpu_record **grown = realloc(q->records, room * sizeof(struct cpu_record *));

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

static int print_one(struct cpu_run *run, const struct cpu_record *r)
{
	size_t nuser = r->user_bytes / 8, nkernel = r->kernel_bytes / 8;
	struct name_frames frames = { 0 };
	struct name_owner owner = cpu_owner(r);
	struct report_event event = { .wall_ns = r->time + run->session.wall_offset,
				      .mono_ns = r->time,
				      .comm = r->comm,
				      .event = rp_perf_event(run->perf)->name,
				      .pid = (int32_t)(r->key.pid_tgid >> 32),
				      .tid = (int32_t)r->key.pid_tgid,
				      .cpu = (int32_t)r->cpu,
				      .value = 1 };
	int err;

	err = names_stack(&run->session, NULL, r->frames, nkernel, true, &frames);
	if (!err)
		err = names_stack(&run->session, &owner, r->frames + nkernel, nuser, true, &frames);
	if (err)
		goto out;
	event.frames = frames.frame;
	event.nframes = frames.n;
	err = run->opt->folded_samples
		      ? report_write_event_folded(run->output.stream, &event, &run->output.show)
		      : report_write_event(run->output.stream, &event, &run->output.show);
	run->printed++;
out:
	free(frames.frame);
	return err;
}

int cpu_samples_print(struct cpu_run *run)
{
	struct cpu_sample_queue *q = &run->queue;
	int err = 0;

	for (size_t i = 0; i < q->n; i++) {
		if (!cpu_comm_wanted(run, q->records[i]->comm))
			run->not_wanted++;
		else if (!err)
			err = print_one(run, q->records[i]);
		free(q->records[i]);
	}
	if (!err && q->n && fflush(run->output.stream))
		err = -errno;
	q->n = 0;
	if (err && err != -EPIPE)
		rp_log(RP_ERROR, "writing samples: %s", strerror(-err));
	return err;
}

int cpu_samples_end(struct cpu_run *run)
{
	struct report_ledger_line lines[CPU_LEDGER_LINES];
	struct report_ledger ledger;
	struct report_cost cost = { 0 };
	int err = cpu_samples_print(run);

	free(run->queue.records);
	run->queue = (struct cpu_sample_queue){ 0 };
	if (!err)
		err = cpu_books(run, run->printed, lines, &ledger, &cost);
	return err ? err : output_tell(&run->output, run->opt, NULL, &ledger, &cost);
}
