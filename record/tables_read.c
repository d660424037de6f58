/* SPDX-License-Identifier: BSD-2-Clause */
/* Which tables, and whose languages, the mappings of a process lead to. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/id_set.h"
#include "base/lack.h"
#include "symbolize/proc.h"

#include "context.h"
#include "generated.h"
#include "jvm.h"
#include "languages.h"
#include "looks.h"
#include "mapped_file.h"
#include "python.h"
#include "published.h"
#include "script.h"
#include "tables_read.h"
#include "v8.h"

static void add_range(struct reading *r, uint64_t start, struct unwind_mapping range)
{
	if (start >= range.end || r->n == READING_RANGES)
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

	for (uint32_t i = 0; i < file->table.nparts && at < end; i++) {
		const struct stored_part *p = &file->table.parts[i];
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
int record_open_mapped(uint32_t pid, const struct sym_proc_map *m)
{
	const int fd = sym_proc_open_mapped("/proc", pid, m->start, m->end);

	return fd >= 0 ? fd : sym_proc_open_by_path("/proc", pid, m);
}

/* A walk has been there. */
static bool is_hit(const struct reading *r, const struct sym_proc_map *m)
{
	const struct table_sources *f = r->from;

	for (size_t i = 0; i < f->nhits; i++)
		if (f->hits[i].pid == r->pid && f->hits[i].addr >= m->start &&
		    f->hits[i].addr < m->end)
			return true;
	return false;
}

/* A walk has ended in this file for want of a rule. */
static bool is_missed(const struct reading *r, const struct sym_proc_map *m)
{
	const struct table_sources *f = r->from;

	for (size_t i = 0; i < f->nhits; i++)
		if (f->hits[i].is_missed && f->hits[i].pid == r->pid &&
		    f->hits[i].addr >= m->start && f->hits[i].addr < m->end)
			return true;
	return false;
}

/* False: it has no table yet, but will have one or none. */
static bool is_ready(struct reading *r, const struct stored_file *file)
{
	const bool waits = file && record_table_store_waits(file);

	r->waits |= waits;
	return !waits || file->table.nparts;
}

/* A file that is written while it is mapped has the tables of before for so long. */
#define LED_TO_NS (NS_PER_SECOND / 10)

/*
 * Which file a mapping leads to. Looking that up costs more than all else of a process whose files
 * are known. Some file systems have one number for several files; these also show another device
 * here than there.
 */
static bool stat_mapped(struct reading *r, const struct sym_proc_map *m, struct stat *st)
{
	const uint32_t path = rp_hash_bytes(m->path, strlen(m->path));
	struct led_to *to = &r->files[m->inode % READING_FILES];
	const uint64_t now = rp_monotonic_ns();

	if (to->until_ns > now && to->inode == m->inode && to->dev_major == m->dev_major &&
	    to->dev_minor == m->dev_minor && to->path == path) {
		*st = to->st;
		return true;
	}
	if (sym_proc_stat_mapped("/proc", r->pid, m, st))
		return false;
	if (st->st_ino == m->inode && st->st_dev == makedev(m->dev_major, m->dev_minor))
		*to = (struct led_to){ now + LED_TO_NS, m->inode, m->dev_major,
				       m->dev_minor,	path,	  *st };
	return true;
}

/*
 * Most are known: then one system call will do. False: no sample has hit it, or its table is being
 * made; it can wait.
 */
static bool find_mapped(struct reading *r, const struct sym_proc_map *m, struct stat *st,
			const struct stored_file **file)
{
	const bool compute = is_missed(r, m), hit = is_hit(r, m);
	bool again = false;
	int fd;

	*file = NULL;
	if (stat_mapped(r, m, st))
		*file = record_table_store_known(r->from->store, st);
	if (*file)
		again = record_table_store_try_again(*file);
	if (*file && hit)
		record_table_store_hurry(r->from->store, *file);
	if (*file && !again && (!compute || (*file)->is_computed))
		return is_ready(r, *file);
	if (!compute && !again && r->from->only_hit && !hit)
		return false;
	fd = record_open_mapped(r->pid, m);
	if (fd < 0) {
		rp_lack(fd, m->path);
		return true;
	}
	fstat(fd, st);
	if (compute)
		rp_log(RP_INFO, "%s: rules are computed from its code", m->path);
	*file = record_table_store_file(r->from->store, fd, compute);
	if (*file && hit)
		record_table_store_hurry(r->from->store, *file);
	close(fd);
	return is_ready(r, *file);
}

struct mapped {
	struct reading *r;
	const struct sym_proc_map *m;
	const struct stat *st;
};

static int open_again(void *ctx)
{
	const struct mapped *what = ctx;
	const int fd = record_open_mapped(what->r->pid, what->m);

	what->r->looked = true;
	if (fd < 0 || record_is_that_file(fd, what->st))
		return fd;
	close(fd);
	return -ESTALE;
}

static void look_for_languages(struct reading *r, const struct sym_proc_map *m,
			       const struct stat *st, uint64_t bias)
{
	const struct unwind_rule generated = record_generated_by(m->path);
	struct mapped what = { r, m, st };
	const struct mapped_file file = { record_file_key(m, st), m, open_again, &what };

	if (generated.kind)
		r->generated = generated;
	r->has_language |= record_language_file(m->path);
	if (r->from->jvm && !r->jvm)
		r->jvm = record_jvm_mapped(r->from->jvm, r->pid, &file, bias, &r->jvm_early);
	if (r->from->python)
		record_python_mapped(r->from->python, &file, bias, &r->python);
	if (r->from->v8)
		record_v8_mapped(r->from->v8, r->pid, &file, &r->v8);
	if (r->from->script)
		record_script_mapped(r->from->script, &file, bias, &r->script, &r->in_loop);
	if (r->from->published)
		record_published_mapped(r->from->published, &file, &r->published);
}

/* A file that waits has no range: a walk ends there. */
static void add_file(struct reading *r, const struct sym_proc_map *m)
{
	const struct stored_file *file;
	struct stat st = { 0 };
	uint64_t vaddr;

	r->names_jvm |= record_jvm_is_named(m->path);
	r->names_v8 |= record_v8_is_named(m->path);
	if (!find_mapped(r, m, &st, &file))
		return;
	if (!file || !find_vaddr(file, m->offset, m->end - m->start, &vaddr)) {
		add_bare(r, m->start, m->end, UNWIND_BY_FP);
		r->has_shared_code = true; /* "/dev/zero (deleted)" */
		return;
	}
	add_parts(r, file, m->start, m->end, m->start - vaddr);
	if (file->jumped_to.kind)
		r->generated = file->jumped_to;
	look_for_languages(r, m, &st, m->start - vaddr);
}

static void add_vdso(struct reading *r, const struct sym_proc_map *m)
{
	const struct stored_file *file = record_table_store_vdso(r->from->store);

	if (file)
		add_parts(r, file, m->start, m->end, m->start - file->loads[0].vaddr);
}

/*
 * The first function from @start on that a walk of the process went astray from; @end: there is
 * none. What a virtual machine says of its code is better than what can be computed of it: that has
 * no names.
 */
static uint64_t next_astray(const struct reading *r, uint64_t start, uint64_t end)
{
	const struct id_set *astray = r->from->astray;
	uint64_t nearest = (end - 1) / READING_FUNCTION - start / READING_FUNCTION + 1;

	if (record_jvm_has(r->from->jvm, r->pid) || record_v8_has(r->from->v8, r->pid))
		return end;
	for (uint32_t i = 0; i < rp_id_set_count(astray); i++) {
		const uint64_t id = rp_id_set_at(astray, i), first = FUNCTION_OF(r->pid, start);

		if (id >> 32 == r->pid && (uint32_t)(id - first) < nearest)
			nearest = (uint32_t)(id - first);
	}
	start += nearest * READING_FUNCTION;
	return start < end ? start : end;
}

/* By how functions begin; where a walk went astray, by all that their instructions do. */
static const struct stored_file *look_at_code(struct reading *r, uint64_t start, uint64_t end,
					      bool is_astray)
{
	struct generated_time *computing = NULL;

	if (is_astray && end - start <= READING_CODE_BYTES - r->code_bytes) {
		computing = &r->computing;
		r->code_bytes += end - start;
	} else if (r->ncode < READING_CODE && record_generated_is_known()) {
		r->ncode++;
	} else {
		return NULL;
	}
	return record_generated_code(r->from->store, r->pid, start, end - start, computing,
				     &r->code_waits);
}

/* Each look takes of the one or of the other. */
static bool may_look_at_code(const struct reading *r)
{
	return READING_CODE_BYTES - r->code_bytes >= GENERATED_CODE_MAX ||
	       (r->ncode < READING_CODE && record_generated_is_known());
}

/*
 * What of it is looked at, from @at on: all of what is small, and of what may be terabytes the
 * parts that walks went astray from.
 */
static uint64_t next_part(const struct reading *r, const struct sym_proc_map *m, uint64_t at)
{
	uint64_t astray;

	if (m->end - m->start <= GENERATED_CODE_MAX || at == m->end)
		return at;
	astray = next_astray(r, at, m->end);
	return astray < m->end ? astray - (astray - at) % GENERATED_CODE_MAX : m->end;
}

/* What a JIT has made, mostly. It is known by its functions, or left by the frame pointer. */
static void add_code(struct reading *r, const struct sym_proc_map *m)
{
	uint64_t bare = m->start, start = m->path[0] ? m->end : m->start, end;

	for (; start < m->end && may_look_at_code(r); start = end) {
		const struct stored_file *file;

		start = next_part(r, m, start);
		if (start == m->end)
			break;
		end = m->end - start < GENERATED_CODE_MAX ? m->end : start + GENERATED_CODE_MAX;
		file = look_at_code(r, start, end, next_astray(r, start, end) < end);
		if (!file)
			continue;
		add_bare(r, bare, start, UNWIND_BY_FP);
		add_parts(r, file, start, end, start);
		bare = end;
	}
	add_bare(r, bare, m->end, UNWIND_BY_FP);
}

void record_reading_begin(struct reading *r, const struct table_sources *from, uint32_t pid)
{
	r->from = from;
	r->pid = pid;
	r->n = r->jvm = r->ncode = r->code_bytes = 0;
	r->python = (struct python_process){ 0 };
	r->v8 = (struct v8_process){ 0 };
	r->script = (struct script_process){ 0 };
	r->published = (struct published_process){ 0 };
	r->context_at = 0;
	r->generated = r->in_loop = (struct unwind_rule){ 0 };
	r->looked = r->has_shared_code = r->has_language = r->names_jvm = r->names_v8 = false;
	r->jvm_early = r->waits = r->code_waits = false;
}

int record_reading_add(void *reading, const struct sym_proc_map *m)
{
	struct reading *r = reading;

	if (!(m->prot & PROT_EXEC)) {
		if (r->from->published && record_context_is_at(m))
			r->context_at = m->start;
		return 0;
	}
	if (!strcmp(m->path, "[vdso]"))
		add_vdso(r, m);
	else if (!strcmp(m->path, "[uprobes]"))
		add_bare(r, m->start, m->end, UNWIND_URETPROBE);
	else if (m->path[0] == '/' && m->inode)
		add_file(r, m);
	else
		add_code(r, m);
	if (r->looked && r->from->looks && !record_look_goes_on(r->from->looks, 0))
		return 1;
	r->looked = false;
	return r->n == READING_RANGES;
}

void record_reading_end(const struct reading *r)
{
	if (r->n == READING_RANGES || r->looked) /* it may be among the others */
		return;
	if (!r->names_jvm)
		record_jvm_ended(r->from->jvm, r->pid);
	if (!r->names_v8)
		record_v8_ended(r->from->v8, r->pid);
}
