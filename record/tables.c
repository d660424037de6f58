/* SPDX-License-Identifier: BSD-2-Clause */
/* Publishes which process maps which tables where, for the unwinder in the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rawprof/loader.h>
#include "base/file.h"
#include "base/grow.h"
#include "base/lack.h"
#include "symbolize/proc.h"

#include "base/clock.h"
#include "python.h"
#include "tables.h"

#define MAX_RANGES ((1u << UNWIND_MAPPING_STEPS) - 1)

/* Slices are given out in multiples of this, so that what one process leaves another can use. */
#define SLICE_STEP 8

/* A program maps its libraries within so long of being executed. */
#define EXEC_WINDOW_NS (NS_PER_SECOND / 125)
#define EXEC_LOOK_NS (NS_PER_SECOND / 2500)

/* include/linux/threads.h: PID_MAX_LIMIT */
#define MAX_PIDS (4u << 20)

/* A walk that began before a slice was given up may read it so long; walks take microseconds. */
#define GRACE_NS (NS_PER_SECOND / 10)

/* Ranges [first, first + room) of the map: of a process, or given up (pid 0). */
struct slice {
	uint32_t pid;
	uint32_t first, capacity;
	uint64_t left_ns; /* when it was given up last; 0: never */
};

/* An address of a process that a sample had, without a table for it. */
struct hit {
	uint32_t pid;
	uint64_t addr;
};

/* More between two looks at the processes than anyone's samples need. */
#define MAX_HITS 4096

/* What fills the maps is forgotten this often at most: what samples hit comes back. */
#define FORGET_NS (10 * NS_PER_SECOND)

struct record_tables {
	struct record_table_store *store;
	struct record_python *python;
	int procs_fd, ranges_fd;
	uint64_t *changes;   /* of struct unwind_mappings, where the programs see it */
	uint32_t used;	     /* of UNWIND_MAPPINGS */
	uint32_t generation; /* of what was published last */
	struct slice *slices;
	size_t nslices, capacity;
	/* By pid, of MAX_PIDS: number in slices + 1. Its pages appear as they are used. */
	uint32_t *slice_of_pid;
	struct id_set changed;
	struct id_set executed; /* a moment ago */
	uint64_t fresh_until;
	struct id_set current; /* published since the last refresh */
	bool only_hit;
	struct hit *hits; /* since the last refresh */
	size_t nhits, hits_capacity;
	uint64_t forgotten_ns; /* when the maps were emptied last */
	bool is_full, full_said;
	struct reading *reading;
};

/* What a process is read into before it is published. */
struct reading {
	struct record_tables *tables;
	uint32_t pid, n;
	struct python_process python;
	uint64_t start[MAX_RANGES];
	struct unwind_mapping range[MAX_RANGES];
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

int record_tables_open(struct record_tables **out, const struct record_tables_maps *maps)
{
	const struct record_table_store_maps store = { maps->index, maps->rules, maps->rows };
	struct record_tables *f = calloc(1, sizeof(*f));
	int err = -ENOMEM;

	if (!f)
		return -ENOMEM;
	f->procs_fd = maps->procs;
	f->ranges_fd = maps->mappings;
	f->only_hit = maps->only_hit;
	f->python = maps->python;
	f->changes = map_pages(sizeof(*f->changes), MAP_SHARED, f->ranges_fd);
	f->slice_of_pid = map_pages(MAX_PIDS * sizeof(*f->slice_of_pid),
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	f->reading = malloc(sizeof(*f->reading));
	if (f->changes && f->slice_of_pid && f->reading)
		err = record_table_store_open(&f->store, &store);
	if (!err)
		record_table_store_kept_by(f->store, maps->keeper);
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
	record_table_store_close(f->store);
	if (f->slice_of_pid)
		munmap(f->slice_of_pid, MAX_PIDS * sizeof(*f->slice_of_pid));
	if (f->changes)
		munmap(f->changes, sizeof(*f->changes));
	rp_id_set_free(&f->changed);
	rp_id_set_free(&f->current);
	rp_id_set_free(&f->executed);
	free(f->slices);
	free(f->reading);
	free(f->hits);
	free(f);
}

/* ---- from mappings to ranges */

static void add_range(struct reading *r, uint64_t start, struct unwind_mapping range)
{
	if (start >= range.end || r->n == MAX_RANGES)
		return;
	r->start[r->n] = start;
	r->range[r->n++] = range;
}

static void add_bare(struct reading *r, uint64_t start, uint64_t end, enum unwind_mapping_kind kind)
{
	add_range(r, start, (struct unwind_mapping){ .end = end, .kind = kind });
}

/* The parts of a file that [start, end) of the process shows; frame pointers in between. */
static void add_parts(struct reading *r, const struct stored_file *file, uint64_t start,
		      uint64_t end, uint64_t bias)
{
	uint64_t at = start;

	for (uint32_t i = 0; i < file->nparts && at < end; i++) {
		const struct stored_part *p = &file->parts[i];
		uint64_t base = p->start + bias, stop = base + (uint64_t)p->npages * UNWIND_PAGE;

		if (stop <= at || base >= end)
			continue;
		if (base > at)
			add_bare(r, at, base, UNWIND_BY_FP);
		at = base > at ? base : at;
		stop = stop < end ? stop : end;
		add_range(r, at,
			  (struct unwind_mapping){ .end = stop,
						   .base = base,
						   .index = p->index,
						   .npages = p->npages,
						   .shard = p->shard,
						   .rules = p->rules,
						   .kind = UNWIND_BY_TABLE });
		at = stop;
	}
	add_bare(r, at, end, UNWIND_BY_FP);
}

/* The address in the file that an offset of it is loaded at; files are mapped by whole pages. */
static bool find_vaddr(const struct stored_file *file, uint64_t offset, uint64_t bytes,
		       uint64_t *vaddr)
{
	for (uint32_t i = 0; i < file->nloads; i++) {
		const struct stored_load *l = &file->loads[i];

		if (offset + bytes > l->offset && offset < l->offset + l->size) {
			*vaddr = offset - l->offset + l->vaddr;
			return true;
		}
	}
	return false;
}

/* The mapping leads to the very file; its path may lead to another, or, in a container, to none. */
static int open_mapped(const struct reading *r, const struct sym_proc_map *m, const char *link_path)
{
	int fd = rp_open_regular(AT_FDCWD, link_path);
	struct stat st;

	if (fd >= 0)
		return fd;
	fd = sym_proc_open_in_root("/proc", r->pid, m->path);
	if (fd >= 0 && (fstat(fd, &st) || st.st_ino != m->inode)) {
		close(fd); /* another file has the name by now */
		return -ESTALE;
	}
	return fd;
}

static bool is_wanted(const struct reading *r, const struct sym_proc_map *m)
{
	const struct record_tables *f = r->tables;

	for (size_t i = 0; f->only_hit && i < f->nhits; i++)
		if (f->hits[i].pid == r->pid && f->hits[i].addr >= m->start &&
		    f->hits[i].addr < m->end)
			return true;
	return !f->only_hit;
}

/* Most are known: then one system call will do. False: no sample has hit it, it can wait. */
static bool find_mapped(const struct reading *r, const struct sym_proc_map *m,
			const struct stored_file **file)
{
	char path[96];
	struct stat st;
	int fd;

	*file = NULL;
	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", r->pid,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	if (!stat(path, &st))
		*file = record_table_store_known(r->tables->store, &st);
	if (*file)
		return true;
	if (!is_wanted(r, m))
		return false;
	fd = open_mapped(r, m, path);
	if (fd < 0) {
		rp_lack(fd, m->path);
		return true;
	}
	*file = record_table_store_file(r->tables->store, fd);
	close(fd);
	return true;
}

struct mapped {
	const struct reading *r;
	const struct sym_proc_map *m;
};

static int open_again(void *ctx)
{
	const struct mapped *what = ctx;
	char path[96];

	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", what->r->pid,
		 (unsigned long long)what->m->start, (unsigned long long)what->m->end);
	return open_mapped(what->r, what->m, path);
}

static void look_for_python(struct reading *r, const struct sym_proc_map *m, uint64_t bias)
{
	struct mapped what = { r, m };

	if (r->tables->python)
		record_python_mapped(r->tables->python, m, bias, open_again, &what, &r->python);
}

/* Of a file that waits there is no range: a walk ends there, and says so. */
static void add_file(struct reading *r, const struct sym_proc_map *m)
{
	const struct stored_file *file;
	uint64_t vaddr;

	if (!find_mapped(r, m, &file))
		return;
	if (!file || !find_vaddr(file, m->offset, m->end - m->start, &vaddr)) {
		add_bare(r, m->start, m->end, UNWIND_BY_FP);
		return;
	}
	add_parts(r, file, m->start, m->end, m->start - vaddr);
	look_for_python(r, m, m->start - vaddr);
}

static void add_vdso(struct reading *r, const struct sym_proc_map *m)
{
	const struct stored_file *file = record_table_store_vdso(r->tables->store);

	if (file)
		add_parts(r, file, m->start, m->end, m->start - file->loads[0].vaddr);
}

static int add_mapping(void *ctx, const struct sym_proc_map *m)
{
	struct reading *r = ctx;

	if (!(m->prot & PROT_EXEC))
		return 0;
	if (!strcmp(m->path, "[vdso]"))
		add_vdso(r, m);
	else if (!strcmp(m->path, "[uprobes]"))
		add_bare(r, m->start, m->end, UNWIND_URETPROBE);
	else if (m->path[0] == '/' && m->inode)
		add_file(r, m);
	else
		add_bare(r, m->start, m->end, UNWIND_BY_FP); /* what a JIT has made, mostly */
	return r->n == MAX_RANGES; /* what has that many more need not be looked at */
}

/* ---- slices */

static struct slice *slice_of(const struct record_tables *f, uint32_t pid)
{
	uint32_t number = pid < MAX_PIDS ? f->slice_of_pid[pid] : 0;

	return number ? &f->slices[number - 1] : NULL;
}

static void take_slice(struct record_tables *f, struct slice *slice, uint32_t pid)
{
	slice->pid = pid;
	f->slice_of_pid[pid] = (uint32_t)(slice - f->slices) + 1;
}

static void give_up(struct record_tables *f, struct slice *slice)
{
	f->slice_of_pid[slice->pid] = 0;
	slice->pid = 0;
	slice->left_ns = rp_monotonic_ns();
}

/* The smallest that was given up long enough ago and has room, but not twice too much. */
static struct slice *used_slice(struct record_tables *f, uint32_t capacity)
{
	uint64_t now = rp_monotonic_ns();
	struct slice *best = NULL;

	for (size_t i = 0; i < f->nslices; i++) {
		struct slice *s = &f->slices[i];

		if (!s->pid && s->capacity >= capacity && s->capacity <= 2 * capacity &&
		    now - s->left_ns > GRACE_NS && (!best || s->capacity < best->capacity))
			best = s;
	}
	return best;
}

static struct slice *new_slice(struct record_tables *f, uint32_t capacity)
{
	if (capacity > UNWIND_MAPPINGS - f->used)
		return NULL;
	if (RP_GROW(f->slices, f->nslices, f->capacity))
		return NULL;
	f->slices[f->nslices] = (struct slice){ .first = f->used, .capacity = capacity };
	f->used += capacity;
	return &f->slices[f->nslices++];
}

/* Of generation 0, which is no process's. Never written; const would lie in the file. */
static struct unwind_mapping nobodys[MAX_RANGES + SLICE_STEP];

static int write_slice(struct record_tables *f, const struct slice *slice, struct reading *r)
{
	const uint64_t starts_at = offsetof(struct unwind_mappings, start[slice->first]),
		       ranges_at = offsetof(struct unwind_mappings, range[slice->first]);
	const size_t bytes = r->n * sizeof(r->range[0]);
	int err = 0;

	for (uint32_t i = 0; i < r->n; i++)
		r->range[i].generation = f->generation;
	/* Children of its last process may use it yet: none may find new starts with old ranges. */
	if (slice->left_ns)
		err = rp_map_write(f->ranges_fd, ranges_at, nobodys, bytes);
	if (!err)
		err = rp_map_write(f->ranges_fd, starts_at, r->start, r->n * sizeof(r->start[0]));
	return err ? err : rp_map_write(f->ranges_fd, ranges_at, r->range, bytes);
}

static void publish(struct record_tables *f, struct reading *r)
{
	uint32_t capacity = (r->n + SLICE_STEP - 1) / SLICE_STEP * SLICE_STEP;
	struct slice *old, *slice = used_slice(f, capacity);
	struct unwind_proc proc = { .count = r->n,
				    .generation = ++f->generation,
				    .python = r->python };

	if (!slice)
		slice = new_slice(f, capacity);
	if (!slice) {
		f->is_full = true;
		if (!f->full_said)
			rp_log(RP_WARN,
			       "no room for the mappings of more processes: "
			       "their stacks go by frame pointers%s",
			       f->only_hit ? " for seconds" : "");
		f->full_said = true;
		return;
	}
	proc.first = slice->first;
	if (write_slice(f, slice, r))
		return;				 /* it stays free */
	__atomic_thread_fence(__ATOMIC_RELEASE); /* before they can be found */
	old = slice_of(f, r->pid);
	if (rp_map_update(f->procs_fd, &r->pid, &proc, BPF_ANY))
		return;
	procs_changed(f);
	if (old)
		give_up(f, old);
	take_slice(f, slice, r->pid);
}

/* ---- processes */

void record_tables_begin(struct record_tables *f, uint32_t pid)
{
	f->reading->tables = f;
	f->reading->pid = pid;
	f->reading->n = 0;
	f->reading->python = (struct python_process){ 0 };
}

int record_tables_map(void *tables, const struct sym_proc_map *m)
{
	struct record_tables *f = tables;

	return add_mapping(f->reading, m);
}

void record_tables_end(struct record_tables *f)
{
	rp_id_set_add(&f->current, f->reading->pid);
	if (f->reading->pid < MAX_PIDS && f->reading->n)
		publish(f, f->reading);
}

void record_tables_publish(struct record_tables *f, uint32_t pid)
{
	char path[32];
	int err;

	record_tables_begin(f, pid);
	err = sym_proc_maps("/proc", pid, record_tables_map, f);
	if (err >= 0) {
		record_tables_end(f);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	rp_lack(err, path);
}

void record_tables_expect(struct record_tables *f, const char *path)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;

	record_tables_publish(f, (uint32_t)getpid());
	if (fd < 0)
		return; /* its execution will say so */
	record_table_store_file(f->store, fd);
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
	if (slice_of(f, pid) || rp_id_set_has(&f->executed, pid))
		read_again(f, pid);
}

/*
 * The program unwind_exec has left a mark in the map if it is a process of interest. Of a whole
 * machine none is before it is sampled: compilers execute a hundred a second.
 */
void record_tables_executed(struct record_tables *f, uint32_t pid)
{
	struct unwind_proc proc;

	if (f->only_hit || rp_map_lookup(f->procs_fd, &pid, &proc) || proc.count)
		return;
	rp_id_set_add(&f->changed, pid);
	rp_id_set_add(&f->executed, pid);
	f->fresh_until = rp_monotonic_ns() + EXEC_WINDOW_NS;
}

uint64_t record_tables_urgent(struct record_tables *f)
{
	if (rp_id_set_count(&f->executed) && rp_monotonic_ns() >= f->fresh_until)
		rp_id_set_free(&f->executed);
	return rp_id_set_count(&f->executed) ? EXEC_LOOK_NS : UINT64_MAX;
}

void record_tables_lost(struct record_tables *f, uint32_t pid, const uint64_t *pcs, uint32_t n)
{
	read_again(f, pid);
	for (uint32_t i = 0; f->only_hit && i < n && f->nhits < MAX_HITS; i++)
		if (RP_PUSH(f->hits, f->nhits, f->hits_capacity,
			    (struct hit){ pid, pcs[i] & ~UNWIND_PC_EXACT }))
			return; /* without memory it waits for the next sample */
}

void record_tables_ended(struct record_tables *f, uint32_t pid)
{
	struct slice *slice = slice_of(f, pid);

	if (!slice)
		return;
	rp_map_delete(f->procs_fd, &pid);
	procs_changed(f);
	give_up(f, slice);
}

/*
 * Nothing is published any more, nor is what children that are not known yet have inherited worth
 * anything. Walks that began before are over when this returns.
 */
static void forget_all(struct record_tables *f)
{
	for (size_t i = 0; i < f->nslices; i++) {
		const struct slice *s = &f->slices[i];

		rp_map_write(f->ranges_fd, offsetof(struct unwind_mappings, range[s->first]),
			     nobodys, s->capacity * sizeof(nobodys[0]));
		if (s->pid) {
			rp_map_delete(f->procs_fd, &s->pid);
			f->slice_of_pid[s->pid] = 0;
		}
	}
	procs_changed(f);
	f->nslices = 0;
	f->used = 0;
	rp_quiesce();
	record_table_store_forget(f->store);
}

/*
 * What samples hit comes back at once, from the cache mostly, and nothing else does: so the tables
 * go that were not used for longest. Where all are wanted it would be the same ones that come back.
 */
static void make_room(struct record_tables *f)
{
	uint64_t now = rp_monotonic_ns();

	if (!f->only_hit || !(f->is_full || record_table_store_is_full(f->store)) ||
	    now - f->forgotten_ns < FORGET_NS)
		return;
	forget_all(f);
	rp_id_set_free(&f->current);
	f->is_full = false;
	f->forgotten_ns = now;
}

void record_tables_refresh(struct record_tables *f)
{
	make_room(f);
	for (uint32_t i = 0; i < rp_id_set_count(&f->changed); i++) {
		uint32_t pid = (uint32_t)rp_id_set_at(&f->changed, i);

		if (!rp_id_set_has(&f->current, pid))
			record_tables_publish(f, pid);
	}
	rp_id_set_free(&f->changed);
	rp_id_set_free(&f->current);
	f->nhits = 0;
}
