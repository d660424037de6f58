/* SPDX-License-Identifier: BSD-2-Clause */
/* Publishes which process maps which tables where, for the unwinder in the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rawprof/loader.h>
#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/subuid.h"
#include "symbolize/proc.h"

#include "early.h"
#include "jvm.h"
#include "published.h"
#include "slices.h"
#include "tables.h"
#include "tables_read.h"
#include "v8.h"
#include "whose.h"

/* A program maps its libraries within so long of being executed. */
#define EXEC_WINDOW_NS (NS_PER_SECOND / 125)
#define EXEC_LOOK_NS (NS_PER_SECOND / 2500)

#define MAX_MISSED 4096
#define MAX_PATHS 4096
#define MAX_HITS 4096 /* more between two looks at the processes than anyone's samples need */

/* What fills the maps is forgotten this often at most: what samples hit comes back. */
#define FORGET_NS (10 * NS_PER_SECOND)

struct record_tables {
	struct table_sources from;
	int procs_fd;
	uint64_t *changes;   /* of struct unwind_mappings, where the programs see it */
	bool by_file;	     /* processes are walked before they are read */
	uint32_t generation; /* of what was published last */
	struct slices slices;
	struct record_whose *whose; /* NULL: nobody pays for a process */
	uid_t payer;		    /* who pays for the one that is read */
	struct id_set over;	    /* users who lack room */
	struct id_set changed;
	struct id_set executed; /* a moment ago */
	uint64_t fresh_until;
	struct id_set current;	   /* published since the last refresh */
	struct record_early early; /* whose virtual machine had not begun when they were read */
	struct id_set waiting;	   /* that were read before all of their tables were made */
	struct id_set paths;	   /* hashes of names of files that were looked at by name */
	struct id_set missed;	   /* PLACE_OF() where a walk ended for want of a rule, */
	struct id_set astray;	   /*   FUNCTION_OF() where one went astray; */
	uint64_t forgotten_ns;	   /* when the maps were emptied last, */
	uint64_t missed_ns;	   /*   and the set of these places */
	bool is_full, full_said;
	bool has_language; /* of a process that was read */
	struct reading *reading;
};

/* NULL if there is no room. */
static void *map_pages(size_t bytes, int flags, int fd)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

/* The programs keep what they have found in unwind_procs: no longer. */
static void procs_changed(struct record_tables *f)
{
	__atomic_fetch_add(f->changes, 1, __ATOMIC_RELEASE);
}

/*
 * Which parts lie in the ranges of processes, and in those that are being read. What has been given
 * up is nobody's any more: children that have inherited it are read.
 */
static int mark_used(void *ctx, struct record_table_store *store)
{
	const size_t bytes = sizeof(struct unwind_mappings);
	struct record_tables *f = ctx;
	const struct unwind_mappings *all = map_pages(bytes, MAP_SHARED, f->slices.fd);

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < f->slices.n; i++) {
		struct slice *s = &f->slices.of[i];

		if (!s->pid && !s->is_wiped) {
			record_slice_wipe(&f->slices, s);
			continue;
		}
		for (uint32_t r = 0; s->pid && r < s->count; r++)
			if (all->range[s->first + r].kind == UNWIND_BY_TABLE)
				record_table_store_mark(store, all->range[s->first + r].index);
	}
	for (uint32_t r = 0; r < f->reading->n; r++)
		if (f->reading->range[r].kind == UNWIND_BY_TABLE)
			record_table_store_mark(store, f->reading->range[r].index);
	munmap((void *)(uintptr_t)all, bytes);
	rp_id_set_free(&f->paths); /* what goes may be mapped once more */
	procs_changed(f);
	return 0;
}

int record_tables_open(struct record_tables **out, const struct record_tables_maps *maps)
{
	const struct record_table_store_maps store = { maps->index, maps->rules, maps->rows,
						       maps->files };
	struct record_tables *f = calloc(1, sizeof(*f));
	int err = -ENOMEM;

	if (!f)
		return -ENOMEM;
	f->procs_fd = maps->procs;
	f->from.looks = maps->looks;
	f->whose = maps->whose;
	f->by_file = maps->files >= 0;
	f->from.only_hit = maps->only_hit;
	f->from.astray = &f->astray;
	f->from.python = maps->python;
	f->from.v8 = maps->v8;
	f->from.jvm = maps->jvm;
	f->from.script = maps->script;
	f->from.published = maps->published;
	f->changes = map_pages(sizeof(*f->changes), MAP_SHARED, maps->mappings);
	if (f->changes) /* not for whoever reads a file of others aside */
		madvise(f->changes, sizeof(*f->changes), MADV_DONTFORK);
	f->reading = calloc(1, sizeof(*f->reading));
	if (!record_slices_open(&f->slices, maps->mappings) && f->changes && f->reading)
		err = record_table_store_open(&f->from.store, &store);
	if (!err) {
		record_table_store_kept_by(f->from.store, maps->keeper);
		record_table_store_used_by(f->from.store, mark_used, f, &f->over);
	}
	if (f->changes)
		procs_changed(f); /* what the programs keep begins as 0: of no process */
	if (err) {
		record_tables_close(f);
		return err;
	}
	*out = f;
	return 0;
}

void record_tables_close(struct record_tables *f)
{
	if (!f)
		return;
	record_table_store_close(f->from.store);
	record_slices_close(&f->slices);
	if (f->changes)
		munmap(f->changes, sizeof(*f->changes));
	rp_id_set_free(&f->changed);
	rp_id_set_free(&f->current);
	rp_id_set_free(&f->executed);
	rp_id_set_free(&f->missed);
	rp_id_set_free(&f->astray);
	rp_id_set_free(&f->paths);
	rp_id_set_free(&f->waiting);
	record_early_free(&f->early);
	rp_id_set_free(&f->over);
	free(f->reading);
	free(f->from.hits);
	free(f);
}

/* What other code PHP's libraries generate, as that of PCRE, has frames of its own. */
static struct unwind_rule generated_of(const struct reading *r)
{
	return r->has_shared_code && !r->generated.kind ? r->in_loop : r->generated;
}

static void say_full(struct record_tables *f)
{
	f->is_full = true;
	if (!f->full_said)
		rp_log(RP_WARN,
		       "no room for the mappings of more processes: "
		       "their stacks go by frame pointers%s",
		       f->from.only_hit ? " for seconds" : "");
	f->full_said = true;
}

static void publish(struct record_tables *f, struct reading *r)
{
	struct unwind_proc proc = { .count = r->n,
				    .generation = ++f->generation,
				    .jvm = r->jvm,
				    .python = r->python,
				    .v8 = r->v8,
				    .script = r->script,
				    .published = r->published,
				    .generated = generated_of(r) };
	struct slice *slice;
	int err;

	for (uint32_t i = 0; i < r->n; i++)
		r->range[i].generation = f->generation;
	err = record_slice_make(&f->slices, r, f->payer, &slice);
	if (err == -EDQUOT)
		record_table_store_lacks(f->from.store, &f->slices.share, f->payer);
	if (err == -ENOSPC)
		say_full(f);
	if (err)
		return; /* what was made stays free */
	proc.first = slice->first;
	__atomic_thread_fence(__ATOMIC_RELEASE); /* before they can be found */
	if (rp_map_update(f->procs_fd, &r->pid, &proc, BPF_ANY))
		return;
	procs_changed(f);
	record_slice_take(&f->slices, slice, r->pid);
}

/* ---- processes */

static void ask_for(struct record_tables *f, uint32_t pid)
{
	const bool matters = record_share_matters(&f->slices.share) ||
			     record_table_store_share_matters(f->from.store);

	f->payer = f->whose && matters ? rp_subuid_first(record_whose(f->whose, pid)) : 0;
	record_table_store_asked_by(f->from.store, f->payer);
}

void record_tables_begin(struct record_tables *f, uint32_t pid)
{
	ask_for(f, pid);
	record_reading_begin(f->reading, &f->from, pid);
}

int record_tables_map(void *tables, const struct sym_proc_map *m)
{
	struct record_tables *f = tables;

	return record_reading_add(f->reading, m);
}

void record_tables_end(struct record_tables *f)
{
	struct reading *r = f->reading;

	rp_id_set_add(&f->current, r->pid);
	record_reading_end(r);
	record_published_read(f->from.published, r);
	if (r->n)
		publish(f, r);
	if (r->jvm_early)
		record_early_add(&f->early, r->pid);
	if (r->waits)
		rp_id_set_add(&f->waiting, r->pid);
	if (r->code_waits)
		record_early_later(&f->early, r->pid);
	f->has_language |= r->has_language;
	r->n = 0;
}

bool record_tables_have_language(const struct record_tables *f)
{
	return f->has_language;
}

void record_tables_expect(struct record_tables *f, const char *path)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;

	record_tables_publish(f, (uint32_t)getpid());
	if (fd < 0)
		return; /* its execution will say so */
	record_table_store_file(f->from.store, fd, false);
	close(fd);
}

static void read_again(struct record_tables *f, uint32_t pid)
{
	if (rp_id_set_has(&f->current, pid))
		rp_id_set_free(&f->current); /* what was published is older than this */
	rp_id_set_add(&f->changed, pid);
}

void record_tables_changed(struct record_tables *f, uint32_t pid)
{
	if (record_slice_of(&f->slices, pid) || rp_id_set_has(&f->executed, pid))
		read_again(f, pid);
}

/*
 * What one process maps others will. The name is only a hint: whatever file has it, its table is
 * found by what that file is.
 */
void record_tables_mapped(struct record_tables *f, uint32_t pid, const char *path)
{
	int fd;

	if (!f->from.only_hit)
		record_early_mapped(&f->early, path);
	if (!f->by_file || f->from.only_hit || path[0] != '/' ||
	    rp_id_set_count(&f->paths) >= MAX_PATHS ||
	    !rp_id_set_add(&f->paths, rp_hash_bytes(path, strlen(path))))
		return;
	fd = sym_proc_open_in_root("/proc", pid, path);
	if (fd < 0)
		fd = sym_proc_follow_here(path);
	if (fd < 0)
		return;
	ask_for(f, pid);
	record_table_store_file(f->from.store, fd, false);
	close(fd);
}

/*
 * The program unwind_exec has left a mark in the map if it is a process of interest. Of a whole
 * machine none is before it is sampled: compilers execute a hundred a second.
 */
void record_tables_executed(struct record_tables *f, uint32_t pid)
{
	struct unwind_proc proc;

	if (f->from.only_hit || rp_map_lookup(f->procs_fd, &pid, &proc) || proc.count)
		return;
	rp_id_set_add(&f->changed, pid);
	rp_id_set_add(&f->executed, pid);
	f->fresh_until = rp_monotonic_ns() + EXEC_WINDOW_NS;
}

uint64_t record_tables_urgent(struct record_tables *f)
{
	if (rp_id_set_count(&f->executed) && rp_monotonic_ns() >= f->fresh_until)
		rp_id_set_free(&f->executed);
	if (rp_id_set_count(&f->executed))
		return EXEC_LOOK_NS;
	return record_published_urgent(f->from.published, record_early_urgent(&f->early));
}

/* Without memory it waits for the next sample. */
static void note_hit(struct record_tables *f, uint32_t pid, uint64_t pc)
{
	const struct table_hit hit = { pid, pc & ~UNWIND_PC_EXACT, false };

	if (f->from.nhits < MAX_HITS)
		(void)!RP_PUSH(f->from.hits, f->from.nhits, f->from.hits_capacity, hit);
}

void record_tables_lost(struct record_tables *f, uint32_t pid, const uint64_t *pcs, uint32_t n)
{
	const uint32_t step = f->from.only_hit || n < 2 ? 1 : n - 1;

	read_again(f, pid);
	/* Where all files are wanted, those come first in which it began and ended. */
	for (uint32_t i = 0; i < n; i += step)
		note_hit(f, pid, pcs[i]);
}

bool record_tables_missed(struct record_tables *f, uint32_t pid, uint64_t pc)
{
	const struct table_hit hit = { pid, (pc & ~UNWIND_PC_EXACT) - 1, true };

	if (rp_id_set_count(&f->missed) >= MAX_MISSED || f->from.nhits >= MAX_HITS ||
	    !rp_id_set_add(&f->missed, PLACE_OF(pid, hit.addr)) ||
	    RP_PUSH(f->from.hits, f->from.nhits, f->from.hits_capacity, hit))
		return false;
	read_again(f, pid);
	return true;
}

bool record_tables_astray(struct record_tables *f, uint32_t pid, const uint64_t *pcs, uint32_t n)
{
	bool any = false;

	for (uint32_t i = n > 2 ? n - 2 : 0; i < n; i++)
		any |= rp_id_set_count(&f->astray) < MAX_MISSED &&
		       rp_id_set_add(&f->astray, FUNCTION_OF(pid, pcs[i] & ~UNWIND_PC_EXACT));
	if (any)
		read_again(f, pid);
	return any;
}

void record_tables_ended(struct record_tables *f, uint32_t pid)
{
	struct slice *slice = record_slice_of(&f->slices, pid);

	record_jvm_ended(f->from.jvm, pid);
	record_v8_ended(f->from.v8, pid);
	record_published_ended(f->from.published, pid);
	if (!slice)
		return;
	rp_map_delete(f->procs_fd, &pid);
	procs_changed(f);
	record_slice_give_up(&f->slices, slice);
}

/*
 * Nothing is published any more, nor is what children that are not known yet have inherited worth
 * anything. Walks that began before are over when this returns.
 */
static void forget_all(struct record_tables *f)
{
	for (size_t i = 0; i < f->slices.n; i++) {
		struct slice *s = &f->slices.of[i];

		record_slice_wipe(&f->slices, s);
		if (s->pid)
			rp_map_delete(f->procs_fd, &s->pid);
	}
	procs_changed(f);
	record_slices_empty(&f->slices);
	rp_quiesce();
	record_table_store_forget(f->from.store);
	rp_id_set_free(&f->missed);
	rp_id_set_free(&f->astray);
	rp_id_set_free(&f->paths);
	f->is_full = false;
}

/* The same of users who lack room, and of their tables the older half. */
static void forget_users(struct record_tables *f)
{
	for (size_t i = 0; i < f->slices.n; i++) {
		struct slice *s = &f->slices.of[i];

		if (!s->pid || !s->payer || !rp_id_set_has(&f->over, s->payer))
			continue;
		record_slice_wipe(&f->slices, s);
		rp_map_delete(f->procs_fd, &s->pid);
		record_slice_give_up(&f->slices, s);
		s->left_ns = 0; /* what comes back finds room at once */
	}
	procs_changed(f);
	rp_quiesce();
	record_table_store_forget_older(f->from.store, &f->over);
}

/*
 * What samples hit comes back at once, from the cache mostly, and nothing else does: so the tables
 * go that were not used for longest. Where all are wanted it would be the same ones that come back.
 */
static void make_room(struct record_tables *f)
{
	const bool is_full = f->is_full || record_table_store_is_full(f->from.store);
	uint64_t now = rp_monotonic_ns();

	if (!f->from.only_hit || !(is_full || rp_id_set_count(&f->over)) ||
	    now - f->forgotten_ns < FORGET_NS)
		return;
	if (is_full)
		forget_all(f);
	else
		forget_users(f);
	rp_id_set_free(&f->current);
	rp_id_set_free(&f->over);
	f->forgotten_ns = now;
}

/* Recordings may go on for weeks: what was looked at once may be looked at again. */
static void forget_seen(struct record_tables *f)
{
	const uint64_t now = rp_monotonic_ns();

	if (rp_id_set_count(&f->paths) >= MAX_PATHS)
		rp_id_set_free(&f->paths);
	if ((rp_id_set_count(&f->missed) < MAX_MISSED &&
	     rp_id_set_count(&f->astray) < MAX_MISSED) ||
	    now - f->missed_ns < FORGET_NS)
		return;
	rp_id_set_free(&f->missed);
	rp_id_set_free(&f->astray);
	f->missed_ns = now;
}

void record_tables_take_made(struct record_tables *f)
{
	if (!record_table_store_collect(f->from.store))
		return;
	for (uint32_t i = 0; i < rp_id_set_count(&f->waiting); i++)
		rp_id_set_add(&f->changed, rp_id_set_at(&f->waiting, i));
	rp_id_set_free(&f->waiting);
	rp_id_set_free(&f->current);
}

void record_tables_make_beside(struct record_tables *f)
{
	int err = record_table_store_make_beside(f->from.store);

	if (err)
		rp_log(RP_INFO, "no thread to make unwind tables: %s", strerror(-err));
}

int record_tables_fd(const struct record_tables *f)
{
	return record_table_store_fd(f->from.store);
}

struct record_table_store *record_tables_store(const struct record_tables *f)
{
	return f->from.store;
}

struct record_looks *record_tables_looks(const struct record_tables *f)
{
	return f->from.looks;
}

bool record_tables_are_busy(const struct record_tables *f)
{
	return record_table_store_is_busy(f->from.store);
}

void record_tables_refresh(struct record_tables *f)
{
	record_tables_take_made(f);
	make_room(f);
	forget_seen(f);
	record_early_take(&f->early, &f->current, &f->changed);
	record_published_due(f->from.published, f->from.looks, &f->changed);
	record_tables_publish_all(f, &f->changed, &f->current);
	rp_id_set_free(&f->current);
	f->from.nhits = 0;
}
