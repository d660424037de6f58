/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What processes do while a recording goes on, from the side-band: they map code, execute programs,
 * fork and end. The symbolizer and the tables of the unwinder follow.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/hash.h"
#include "recording.h"

/* A process that ran before the recording: no record of its mappings comes, so they are read. */
static int read_process(struct recording *rec, uint32_t pid, bool again)
{
	int err;

	if (rp_id_set_has(&rec->known, pid) && !again)
		return 0;
	if (!record_look_begin(&rec->looks, pid))
		return 0;
	rp_id_set_add(&rec->threaded, pid); /* or so it may be */
	err = sym_user_snapshot(rec->user, pid, rp_monotonic_ns());
	record_look_end(&rec->looks);
	if (err != -EBUSY) /* that is for a while */
		rp_id_set_add(&rec->known, pid);
	return err == -ENOMEM ? err : 0; /* gone, or not ours: its frames stay addresses */
}

/* And its tables are published: its mappings are read once for both. */
static int read_with_tables(struct recording *rec, uint32_t pid, bool again)
{
	int err;

	if (!rec->tables || rec->end_ns) /* what it has mapped is not walked any more */
		return read_process(rec, pid, again);
	if (rp_id_set_has(&rec->known, pid) && !again) {
		record_tables_publish(rec->tables, pid);
		return 0;
	}
	if (!record_look_begin(&rec->looks, pid))
		return 0;
	rp_id_set_add(&rec->threaded, pid);
	record_tables_begin(rec->tables, pid);
	err = sym_user_snapshot_with(rec->user, pid, rp_monotonic_ns(), record_tables_map,
				     rec->tables);
	if (!err)
		record_tables_end(rec->tables);
	record_look_end(&rec->looks);
	if (err != -EBUSY) /* that is for a while */
		rp_id_set_add(&rec->known, pid);
	return err == -ENOMEM ? err : 0;
}

int record_read_all(struct recording *rec)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int err = 0;

	while (proc && !err && (entry = readdir(proc))) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (!pid || !rp_id_set_add(&rec->read, pid))
			continue;
		err = read_with_tables(rec, pid, false);
		if (rec->tables)
			record_tables_take_made(rec->tables); /* most map the same few files */
	}
	if (proc)
		closedir(proc);
	return err;
}

/* How often a process has mapped code since something was forgotten. */
struct mapper {
	uint32_t pid, times;
};

static int count_mapping(struct recording *rec, uint32_t pid)
{
	struct mapper *m;

	rec->mappers.key_size = sizeof(m->pid);
	rec->mappers.size = sizeof(*m);
	m = rp_hash_add(&rec->mappers, &pid);
	if (!m)
		return -ENOMEM;
	m->times++;
	return 0;
}

bool record_follows(const struct recording *rec, uint32_t pid)
{
	return rec->target.child &&
	       (pid == (uint32_t)rec->target.child || rp_id_set_has(&rec->family, pid));
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

	if (rec->tables && !rec->end_ns && record_follows(rec, e->pid))
		record_tables_mapped(rec->tables, e->pid, e->mmap.path);
	if (rec->tables)
		record_tables_changed(rec->tables, e->pid);
	if (rec->languages_wait)
		record_languages_mapped(rec, e->mmap.path);
	memcpy(m.build_id, e->mmap.build_id, sizeof(m.build_id));
	err = count_mapping(rec, e->pid);
	if (!err)
		err = sym_user_mmap(rec->user, &m);
	if (err && err != -EINVAL)
		return err;
	return rec->begun && rec->profiler->mapped ? rec->profiler->mapped(rec, e) : 0;
}

/* Samples have the names of their threads with them: what else is renamed is of no interest. */
static int on_comm(struct recording *rec, const struct rp_side_event *e)
{
	if (!e->comm.exec)
		return 0;
	rp_id_set_add(&rec->known, e->pid);
	if (rec->tables)
		record_tables_executed(rec->tables, e->pid);
	return sym_user_exec(rec->user, e->time, e->pid);
}

static int on_fork(struct recording *rec, const struct rp_side_event *e)
{
	int err;

	if (e->pid == e->fork.ppid) {
		rp_id_set_add(&rec->threaded, e->pid);
		return 0;
	}
	if (record_follows(rec, e->fork.ppid))
		rp_id_set_add(&rec->family, e->pid);
	err = read_process(rec, e->fork.ppid, false); /* what the child inherits */
	if (!err)
		err = sym_user_fork(rec->user, e->time, e->pid, e->fork.ppid);
	rp_id_set_add(&rec->known, e->pid);
	return err;
}

/* Whether threads outlive the main one: the directory has a link for each, beside its own three. */
static bool has_threads(const struct recording *rec, uint32_t pid)
{
	char path[64];
	struct stat st;

	if (!rec->missed && !rp_id_set_has(&rec->threaded, pid))
		return false;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return !stat(path, &st) && st.st_nlink > 3;
}

static int on_end(struct recording *rec, const struct rp_side_event *e)
{
	if (e->pid != e->tid || has_threads(rec, e->pid))
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

/* False: it was met before. */
static bool meet(struct recording *rec, uint32_t pid, uint64_t generation)
{
	if (!rp_id_set_add(&rec->met, pid | generation << 32)) {
		rp_id_set_add(&rec->again, pid);
		return false;
	}
	rp_id_set_add(&rec->fresh, pid);
	if (rec->meet)
		rec->meet(rec, pid, generation);
	return true;
}

void record_saw(struct recording *rec, uint32_t pid, uint64_t generation)
{
	meet(rec, pid, generation);
}

/* What it has mapped is known, and its stacks are walked without being read. */
static bool can_wait(const struct recording *rec, uint32_t pid)
{
	return rp_id_set_has(&rec->waiting, pid) && rp_id_set_has(&rec->known, pid) && !rec->missed;
}

/* -ENOMEM. */
static int keep(struct recording *rec, uint32_t pid)
{
	int err;

	if (!record_look_begin(&rec->looks, pid))
		return 0;
	err = sym_user_keep(rec->user, pid);
	record_look_end(&rec->looks);
	return err == -ENOMEM ? err : 0;
}

/* While they live: the next look may be too late for a file that ends with its process. */
static int hold_fresh(struct recording *rec)
{
	int err = rp_id_set_count(&rec->fresh) ? sym_user_settle(rec->user) : 0;

	for (uint32_t i = 0; !err && i < rp_id_set_count(&rec->fresh); i++) {
		uint32_t pid = (uint32_t)rp_id_set_at(&rec->fresh, i);

		if (!rp_id_set_has(&rec->read, pid) && !can_wait(rec, pid))
			err = read_with_tables(rec, pid, rec->missed);
		if (!err)
			err = keep(rec, pid);
	}
	rp_id_set_free(&rec->fresh);
	rp_id_set_free(&rec->waiting);
	if (!rec->read_is_new)
		rp_id_set_free(&rec->read); /* from now on they may have become others */
	if (rec->tables && !rec->end_ns)
		record_tables_refresh(rec->tables);
	return err;
}

/* Garbage that looks like a stack: reading the mappings again does not always help. */
#define MAX_REREADS 100

/* Where a walk has ended, of this program of the process. */
static uint64_t place_of(const struct stack_record *r, uint64_t pc)
{
	const struct {
		uint64_t generation, page;
	} place = { r->start_time + r->exec_id, pc >> 12 };

	return r->pid_tgid >> 32 << 32 | rp_hash_bytes(&place, sizeof(place));
}

/* A walk in this process had no tables: it has made executable what was not. */
static void had_no_tables(struct recording *rec, const struct stack_record *record)
{
	const uint64_t *user = record->frames + record->kernel_bytes / 8;
	const uint32_t n = record->user_bytes / 8;

	if (!rec->tables || rec->rereads == MAX_REREADS)
		return;
	/* What has no table will have none, unless mappings change: which is seen by itself. */
	if (rec->sparing && n && !rp_id_set_add(&rec->in_vain, place_of(record, user[n - 1])))
		return;
	rec->rereads++;
	record_tables_lost(rec->tables, (uint32_t)(record->pid_tgid >> 32), user, n);
}

/*
 * There may be no rule for that frame of its user stack: for the last one; or the walk went astray,
 * then most likely from where it began.
 */
static void had_no_rule(struct recording *rec, const struct stack_record *record, size_t frame)
{
	const uint64_t *user = record->frames + record->kernel_bytes / 8;

	if (rec->tables && record->user_bytes && rec->rereads < MAX_REREADS)
		rec->rereads += record_tables_missed(
			rec->tables, (uint32_t)(record->pid_tgid >> 32), user[frame]);
}

/* Most of these were in code that is not known any better afterwards. */
#define MAX_ASTRAY 8

static void went_astray(struct recording *rec, const struct stack_record *r)
{
	if (rec->tables && rec->astray < MAX_ASTRAY)
		rec->astray +=
			record_tables_astray(rec->tables, (uint32_t)(r->pid_tgid >> 32),
					     r->frames + r->kernel_bytes / 8, r->user_bytes / 8);
}

/* A frame pointer that was none may have led it there. */
static bool is_astray(uint32_t end)
{
	return end == UNWIND_FP_BAD || end == UNWIND_FP_ZERO || end == UNWIND_NOT_UP ||
	       end == UNWIND_NO_MAPPING || end == UNWIND_READ;
}

void record_saw_stack(struct recording *rec, const struct stack_record *r)
{
	const uint32_t pid = (uint32_t)(r->pid_tgid >> 32);
	const uint32_t frames = r->user_bytes / 8, lacked = r->fresh >> STACK_LACKED_SHIFT;
	const bool first = rec->side && meet(rec, pid, (uint32_t)(r->start_time + r->exec_id));

	/* First: what is read again has a bound. */
	if (lacked && lacked <= frames)
		had_no_rule(rec, r, lacked - 1);
	if (r->user_end == UNWIND_NO_MAPPING || r->user_end == STACK_NO_TABLE) {
		had_no_tables(rec, r);
		rec->no_tables = true;
	} else if ((r->fresh & STACK_KIND) == STACK_FRESH && first && rec->sparing) {
		rp_id_set_add(&rec->waiting, pid);
	} else if ((r->fresh & STACK_KIND) == STACK_FRESH) {
		had_no_tables(rec, r);
	}
	if (r->user_end == UNWIND_FP_BAD || r->user_end == UNWIND_NOT_UP ||
	    r->user_end == UNWIND_FP_ZERO)
		had_no_rule(rec, r, frames - 1);
	else if (r->user_end == UNWIND_READ || r->user_end == UNWIND_RA_ZERO)
		had_no_rule(rec, r, 0);
	if (is_astray(r->user_end))
		went_astray(rec, r);
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

	if (rec->no_tables && !(rec->tables && record_tables_are_busy(rec->tables))) {
		if (rec->profiler->walk_again)
			err = rec->profiler->walk_again(rec);
		rec->no_tables = false;
	}
	if (err)
		return err;
	return rec->opt->samples ? record_samples_hand_over(rec) : 0;
}

static int drain_sideband(struct recording *rec)
{
	uint64_t lost;
	int err;

	if (!rec->side)
		return 0;
	err = rp_sideband_drain(rec->side, true, on_side_event, rec);
	lost = rp_sideband_lost(rec->side);
	rec->missed |= lost > rec->lost;
	rec->lost = lost;
	return err < 0 ? err : 0;
}

/*
 * Samples first, then the side-band: what a sample needs was written before it, so it is there by
 * now. Order does not matter to the symbolizer, which sorts.
 */
int record_drain(struct recording *rec)
{
	int err = drain_profiler(rec);

	if (!err)
		err = drain_sideband(rec);
	if (!err)
		err = hold_fresh(rec);
	if (!err)
		err = use_processes(rec);
	if (!err)
		err = record_languages_look(rec);
	if (!err)
		err = record_rewalk_if_full(rec);
	if (err == -ENOMEM)
		rp_log(RP_ERROR, "out of memory while recording");
	return err;
}

/* What was lost may have been about them; so many are read again, once a second. */
#define MAX_READ_AGAIN 64

int record_look_again(struct recording *rec)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < rp_id_set_count(&rec->again); i++) {
		uint32_t pid = (uint32_t)rp_id_set_at(&rec->again, i);

		if (i < MAX_READ_AGAIN && !rp_id_set_has(&rec->known, pid))
			err = read_with_tables(rec, pid, false); /* its user had no time left */
		else if (i < MAX_READ_AGAIN && rec->missed)
			err = read_process(rec, pid, true);
		if (!err && sym_user_keep_again(rec->user, pid) == -ENOMEM)
			err = -ENOMEM;
	}
	rec->missed = false;
	rp_id_set_free(&rec->again);
	return err;
}

/* ---- forgetting */

/* So much is always remembered: 2 MB. */
#define EVENTS_REMEMBERED 16384
/* How long after its end a process is remembered whatever it was. */
#define REMEMBERED_NS NS_PER_SECOND
/* Sets of processes that ended long ago are begun anew from this size on: it costs a look more. */
#define IDS_REMEMBERED 8192
/* What maps more often than this while so much happens is read, to know what is still mapped. */
#define MANY_MAPPINGS 128

static void read_mappers(struct recording *rec)
{
	const struct mapper *m = rec->mappers.items;

	for (uint32_t i = 0; i < rec->mappers.count; i++)
		if (m[i].times > MANY_MAPPINGS)
			read_process(rec, m[i].pid, true);
	rp_hash_free(&rec->mappers);
}

/* What a report will ask; --samples are named as they come. */
static void use_stacks(struct recording *rec)
{
	const struct stack *stack;

	while ((stack = record_stacks_at(rec->stacks, rec->used))) {
		const struct stack_record *r = stack->record;
		struct name_owner owner = record_owner(r);

		for (uint32_t i = 0; i < r->user_bytes / 8; i++) {
			uint64_t addr = r->frames[r->kernel_bytes / 8 + i];
			bool is_return = record_names_take_mark(&owner, &addr);

			if (is_return)
				sym_user_use(rec->user, owner.pid, owner.time, addr - 1);
			if (!is_return || !i)
				sym_user_use(rec->user, owner.pid, owner.time, addr);
		}
		rec->used++;
	}
}

static enum sym_wanted what_was_used(void *ctx, uint32_t pid)
{
	(void)ctx;
	(void)pid;
	return SYM_WANTED_USED;
}

static void forget_ids(struct id_set *set)
{
	if (rp_id_set_count(set) > IDS_REMEMBERED)
		rp_id_set_free(set);
}

/*
 * Recordings may go on for days, and most processes live for milliseconds, without a sample; and
 * some map or execute without end. Without memory it is tried again later.
 */
void record_forget_ended(struct recording *rec)
{
	if (sym_user_events(rec->user) < rec->max_events + EVENTS_REMEMBERED)
		return;
	if (record_rewalk(rec)) /* by what is forgotten now */
		return;
	read_mappers(rec);
	use_stacks(rec);
	sym_user_prune(rec->user, rp_monotonic_ns() - REMEMBERED_NS, what_was_used, NULL);
	sym_user_forget_files(rec->user);
	sym_demangler_rest(rec->demangler); /* it knows names by where they were */
	record_looks_settle(&rec->looks);
	rec->max_events = sym_user_events(rec->user) / 2 * 3;
	forget_ids(&rec->known);
	forget_ids(&rec->met);
	forget_ids(&rec->threaded);
}

int record_meet(struct recording *rec)
{
	int err = drain_sideband(rec);

	return err ? err : hold_fresh(rec);
}

int record_settle(struct recording *rec)
{
	int err = record_meet(rec);

	if (rec->side && rp_sideband_lost(rec->side))
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
	rp_id_set_free(&rec->waiting);
	rp_id_set_free(&rec->in_vain);
	rp_id_set_free(&rec->read);
	rp_id_set_free(&rec->again);
	rp_id_set_free(&rec->threaded);
	rp_hash_free(&rec->mappers);
	record_looks_free(&rec->looks);
	record_share_free(&rec->report_memory);
	record_share_free(&rec->file_room.share);
}
