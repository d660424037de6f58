/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What processes do while a recording goes on, from the side-band: they map code, execute programs,
 * fork and end. The symbolizer and the tables of the unwinder follow.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "recording.h"

/* A process that ran before the recording: no record of its mappings comes, so they are read. */
static int read_process(struct recording *rec, uint32_t pid)
{
	int err;

	if (!rp_id_set_add(&rec->known, pid))
		return 0;
	err = sym_user_snapshot(rec->user, pid, rp_monotonic_ns());
	return err == -ENOMEM ? err : 0; /* gone, or not ours: its frames stay addresses */
}

static int on_mmap(struct recording *rec, const struct rp_side_event *e)
{
	struct sym_mmap m = {
		.time = e->time,
		.pid = e->pid,
		.prot = e->mmap.prot,
		.start = e->mmap.start,
		.len = e->mmap.len,
		.pgoff = e->mmap.pgoff,
		.dev_major = e->mmap.maj,
		.dev_minor = e->mmap.min,
		.inode = e->mmap.ino,
		.build_id_size = e->mmap.build_id_size,
		.filename = e->mmap.path,
	};
	int err;

	if (rec->tables)
		record_tables_changed(rec->tables, e->pid);
	memcpy(m.build_id, e->mmap.build_id, sizeof(m.build_id));
	err = sym_user_mmap(rec->user, &m);
	if (err && err != -EINVAL)
		return err;
	return rec->begun && rec->profiler->mapped ? rec->profiler->mapped(rec, e) : 0;
}

static int on_comm(struct recording *rec, const struct rp_side_event *e)
{
	if (e->comm.exec) {
		rp_id_set_add(&rec->known, e->pid);
		if (rec->tables)
			record_tables_executed(rec->tables, e->pid);
	}
	return sym_user_comm(rec->user, e->time, e->pid, e->tid, e->comm.comm, e->comm.exec);
}

bool record_follows(const struct recording *rec, uint32_t pid)
{
	return rec->target.child &&
	       (pid == (uint32_t)rec->target.child || rp_id_set_has(&rec->family, pid));
}

static int on_fork(struct recording *rec, const struct rp_side_event *e)
{
	int err;

	if (e->pid == e->fork.ppid)
		return 0; /* a thread */
	if (record_follows(rec, e->fork.ppid))
		rp_id_set_add(&rec->family, e->pid);
	err = read_process(rec, e->fork.ppid); /* what the child inherits */
	if (!err)
		err = sym_user_fork(rec->user, e->time, e->pid, e->fork.ppid);
	rp_id_set_add(&rec->known, e->pid);
	return err;
}

/* Whether threads outlive the main one: the directory has a link for each, beside its own three. */
static bool has_threads(uint32_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return !stat(path, &st) && st.st_nlink > 3;
}

static int on_end(struct recording *rec, const struct rp_side_event *e)
{
	if (e->pid != e->tid || has_threads(e->pid))
		return 0;
	if (rec->tables)
		record_tables_ended(rec->tables, e->pid);
	return sym_user_exit(rec->user, e->time, e->pid);
}

static int on_side_event(void *ctx, const struct rp_side_event *e)
{
	switch (e->type) {
	case RP_SIDE_MMAP:
		return on_mmap(ctx, e);
	case RP_SIDE_COMM:
		return on_comm(ctx, e);
	case RP_SIDE_FORK:
		return on_fork(ctx, e);
	case RP_SIDE_EXIT:
		return on_end(ctx, e);
	default:
		return 0;
	}
}

void record_saw(struct recording *rec, uint32_t pid, uint64_t generation)
{
	if (rp_id_set_add(&rec->met, pid | generation << 32)) {
		rp_id_set_add(&rec->fresh, pid);
		rp_id_set_add(&rec->sampled, pid);
	} else {
		rp_id_set_add(&rec->again, pid);
	}
}

/* While they live: the next look may be too late for a file that ends with its process. */
static int hold_fresh(struct recording *rec)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < rp_id_set_count(&rec->fresh); i++) {
		uint32_t pid = (uint32_t)rp_id_set_at(&rec->fresh, i);

		err = read_process(rec, pid);
		if (rec->tables)
			record_tables_publish(rec->tables, pid);
		if (!err && sym_user_keep(rec->user, pid) == -ENOMEM)
			err = -ENOMEM;
	}
	rp_id_set_free(&rec->fresh);
	if (rec->tables)
		record_tables_refresh(rec->tables);
	return err;
}

/* Garbage that looks like a stack: reading the mappings again does not always help. */
#define MAX_REREADS 100

void record_had_no_tables(struct recording *rec, uint32_t pid)
{
	if (!rec->tables || rec->rereads == MAX_REREADS)
		return;
	rec->rereads++;
	record_tables_lost(rec->tables, pid);
}

static int drain_profiler(struct recording *rec)
{
	int err = record_stacks_drain(rec->stacks);

	return !err && rec->profiler->drain ? rec->profiler->drain(rec) : err;
}

/* The processes that were met are known now: samples can be named, walks tried again. */
static int use_processes(struct recording *rec)
{
	int err = 0;

	if (rec->no_tables && rec->profiler->walk_again)
		err = rec->profiler->walk_again(rec);
	if (err)
		return err;
	rec->no_tables = false;
	return rec->opt->samples ? record_samples_hand_over(rec) : 0;
}

/*
 * Samples first, then the side-band: what a sample needs was written before it, so it is there by
 * now. Order does not matter to the symbolizer, which sorts.
 */
int record_drain(struct recording *rec)
{
	int err = drain_profiler(rec);

	if (!err)
		err = rp_sideband_drain(rec->side, true, on_side_event, rec);
	if (err >= 0)
		err = hold_fresh(rec);
	if (!err)
		err = use_processes(rec);
	if (err == -ENOMEM)
		rp_log(RP_ERROR, "out of memory while recording");
	return err;
}

int record_look_again(struct recording *rec)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < rp_id_set_count(&rec->again); i++)
		if (sym_user_keep_jit(rec->user, (uint32_t)rp_id_set_at(&rec->again, i)) == -ENOMEM)
			err = -ENOMEM;
	rp_id_set_free(&rec->again);
	return err;
}

/* --samples names them as they come; a report names them at the end. */
static bool will_be_named(void *ctx, uint32_t pid)
{
	const struct recording *rec = ctx;

	return !rec->opt->samples && rp_id_set_has(&rec->sampled, pid);
}

/* So much is always remembered: 2 MB. */
#define EVENTS_REMEMBERED 16384

/*
 * Recordings may go on for days, and most processes live for milliseconds, without a sample. Before
 * anything is forgotten all that happened until then is read.
 */
int record_forget_ended(struct recording *rec)
{
	uint64_t before = rp_monotonic_ns();
	int err = 0;

	if (sym_user_events(rec->user) < rec->max_events + EVENTS_REMEMBERED)
		return 0;
	err = record_drain(rec);
	if (!err)
		sym_user_prune(rec->user, before, will_be_named,
			       rec); /* or later, without memory */
	rec->max_events = 2 * sym_user_events(rec->user);
	return err;
}

int record_settle(struct recording *rec)
{
	int err = rp_sideband_drain(rec->side, true, on_side_event, rec);

	if (err >= 0)
		err = hold_fresh(rec);
	if (rp_sideband_lost(rec->side))
		rp_log(RP_WARN, "%llu records about processes were lost: some may lack names",
		       (unsigned long long)rp_sideband_lost(rec->side));
	return err;
}

void record_processes_free(struct recording *rec)
{
	rp_id_set_free(&rec->known);
	rp_id_set_free(&rec->family);
	rp_id_set_free(&rec->met);
	rp_id_set_free(&rec->fresh);
	rp_id_set_free(&rec->again);
	rp_id_set_free(&rec->sampled);
}
