/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows: a recording that goes on for months, in parts that are each as good as one of their own.
 *
 *	stop	nothing fires any more
 *	take	the kernel's counts, and what waits in its maps
 *	restart	all of it is 0 again
 *	start	the next window has begun
 *	report	the last one is named, and forgotten
 *
 * Programs stay loaded and attached, and what is known of processes, files and unwind tables stays,
 * so that a window costs what it shows. Nothing else is carried over: stacks take no more memory
 * with time, and the ledger of each window closes by itself. A wait that goes on at the turn is in
 * both, with its time in each.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "recording.h"
#include "system.h"

static int stop(struct recording *rec)
{
	int err;

	if (!rec->profiler->restart || !rec->profiler->stop)
		return rp_fail(-EOPNOTSUPP, "%s cannot be recorded in windows",
			       rec->profiler->command);
	err = rec->profiler->stop(rec);
	if (!err)
		rp_quiesce();
	return err;
}

static int take(struct recording *rec)
{
	int err = record_stacks_finish(rec->stacks);

	return !err && rec->profiler->collect ? rec->profiler->collect(rec) : err;
}

static int restart(struct recording *rec)
{
	int err = record_stacks_restart(rec->stacks);

	if (!err)
		err = rec->profiler->restart(rec);
	if (err)
		return rp_fail(err, "cannot begin another window: %s", strerror(-err));
	return rec->profiler->start ? rec->profiler->start(rec) : 0;
}

static void add_paid(struct report_cost *paid, const struct report_cost *cost)
{
	paid->bpf_ns += cost->bpf_ns;
	paid->bpf_runs += cost->bpf_runs;
	paid->user_cpu_ns += cost->user_cpu_ns;
	paid->system_cpu_ns += cost->system_cpu_ns;
}

/* Named, as if the recording were over; what is left of it is forgotten. */
static int report(struct recording *rec, struct report **out)
{
	int err = record_report_stacks(rec, out);

	if (err)
		return err;
	add_paid(&rec->paid, &rec->ledger.cost);
	free(rec->note);
	rec->note = NULL;
	rec->not_wanted = 0;
	rp_id_set_free(&rec->in_vain);
	rec->used = 0;
	sym_user_unuse(rec->user);
	sym_demangler_rest(rec->demangler);
	if (!rec->stream)
		return 0;
	record_stream_free(rec->stream);
	rec->stream = NULL;
	return record_stream_open(&rec->stream);
}

int record_window(struct recording *rec, struct report **out, uint64_t *blind_ns)
{
	const uint64_t end = rp_monotonic_ns(), busy = record_busy_ns();
	struct report *made = NULL;
	uint64_t next;
	int err = stop(rec);

	if (!err)
		err = take(rec);
	if (!err)
		err = restart(rec);
	next = rp_monotonic_ns();
	if (!err)
		err = record_meet(rec);
	if (!err)
		err = record_rewalk(rec);
	if (err)
		return err;
	rec->end_ns = end;
	rec->busy_ns = busy - rec->busy_ns;
	err = report(rec, &made);
	rec->begin_ns = next;
	rec->end_ns = 0;
	rec->busy_ns = busy;
	rec->windows++;
	if (!err && rec->profiler->begin)
		err = rec->profiler->begin(rec);
	if (err) {
		report_free(made);
		return err;
	}
	*blind_ns = next - end;
	*out = made;
	return 0;
}
