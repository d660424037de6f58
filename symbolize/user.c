/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses in processes: what was mapped there then, which file that was, and its function. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <rawprof/symbolize.h>

#include "debuginfod.h"
#include "file.h"
#include "go.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/lack.h"
#include "base/subuid.h"
#include "history.h"
#include "jits.h"
#include "others.h"
#include "proc.h"
#include "strings.h"

struct sym_user {
	char *proc;
	struct sym_strings strings;
	struct sym_history history;
	struct sym_files files;
	struct sym_jits jits;
	struct sym_object *vdso; /* that of this process, which all of its word size share */
	struct sym_symtab *vdso_symtab;
	uint64_t vdso_base;
	bool vdso_read;
	sym_user_patience_fn goes_on; /* NULL: always */
	void *patience;
};

int sym_user_open(struct sym_user **out, const char *proc)
{
	struct sym_user *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	u->proc = strdup(proc ? proc : "/proc");
	if (!u->proc) {
		free(u);
		return -ENOMEM;
	}
	sym_history_init(&u->history, &u->strings);
	sym_files_init(&u->files, &u->strings, u->proc);
	u->jits.proc = u->proc;
	u->jits.files = &u->files;
	*out = u;
	return 0;
}

void sym_user_close(struct sym_user *u)
{
	if (!u)
		return;
	sym_jits_free(&u->jits);
	sym_symtab_close(u->vdso_symtab);
	sym_object_close(u->vdso);
	sym_files_free(&u->files);
	sym_history_free(&u->history);
	sym_strings_free(&u->strings);
	free(u->proc);
	free(u);
}

void sym_user_set_patience(struct sym_user *u, sym_user_patience_fn fn, void *ctx)
{
	u->goes_on = fn;
	u->patience = ctx;
}

void sym_user_set_room(struct sym_user *u, const struct sym_user_room *room)
{
	u->files.room = *room;
}

int sym_user_use_debuginfod(struct sym_user *u)
{
	return u->files.server ? 0 : sym_debuginfod_open(&u->files.server);
}

struct sym_debuginfod_stats sym_user_debuginfod_stats(const struct sym_user *u)
{
	return u->files.server ? u->files.server->stats : (struct sym_debuginfod_stats){ 0 };
}

/* ---- events */

int sym_user_comm(struct sym_user *u, uint64_t time, uint32_t pid, uint32_t tid, const char *comm,
		  bool is_exec)
{
	int err = is_exec ? sym_history_exec(&u->history, time, pid) : 0;

	return err ? err : sym_history_comm(&u->history, time, pid, tid, comm);
}

int sym_user_fork(struct sym_user *u, uint64_t time, uint32_t pid, uint32_t ppid)
{
	return pid == ppid ? 0 : sym_history_fork(&u->history, time, pid, ppid);
}

int sym_user_exec(struct sym_user *u, uint64_t time, uint32_t pid)
{
	return sym_history_exec(&u->history, time, pid);
}

int sym_user_exit(struct sym_user *u, uint64_t time, uint32_t pid)
{
	return sym_history_exit(&u->history, time, pid);
}

int sym_user_mmap(struct sym_user *u, const struct sym_mmap *m)
{
	struct sym_file key = { .path = m->filename,
				.dev = makedev(m->dev_major, m->dev_minor),
				.inode = m->inode,
				.build_id_size = m->build_id_size };
	struct sym_mapping mapping = { .time = m->time,
				       .start = m->start,
				       .end = m->start + m->len,
				       .offset = m->pgoff,
				       .pid = m->pid };
	int err;

	if (mapping.end <= mapping.start || m->build_id_size > sizeof(key.build_id))
		return -EINVAL;
	memcpy(key.build_id, m->build_id, m->build_id_size);
	err = sym_files_add(&u->files, m->pid, &key, &mapping.file);
	return err ? err : sym_history_mmap(&u->history, &mapping);
}

int sym_user_prune(struct sym_user *u, uint64_t before,
		   enum sym_wanted (*wanted)(void *ctx, uint32_t pid), void *ctx)
{
	return sym_history_prune(&u->history, before, wanted, ctx);
}

void sym_user_forget_files(struct sym_user *u)
{
	sym_files_forget(&u->files, &u->history);
}

int sym_user_settle(struct sym_user *u)
{
	return sym_history_update(&u->history);
}

int sym_user_use(struct sym_user *u, uint32_t pid, uint64_t time, uint64_t addr)
{
	return sym_history_use(&u->history, pid, time, addr);
}

size_t sym_user_events(const struct sym_user *u)
{
	return u->history.event_count;
}

/* ---- processes that are already running */

/* So many mappings are looked at before anyone is asked whether that may go on. */
#define MANY 128

static bool goes_on(const struct sym_user *u, size_t number, size_t *bytes)
{
	const size_t some = *bytes;

	if (!u->goes_on || !number || number % MANY)
		return true;
	*bytes = 0;
	return u->goes_on(u->patience, some);
}

struct reading {
	struct sym_user *u;
	sym_user_map_fn also;
	void *ctx;
	struct sym_mapping *maps;
	size_t count, capacity, bytes;
	uint64_t time;
	uint32_t pid;
};

/* Those before it are kept, if it is too much. */
static int take_map(void *ctx, const struct sym_proc_map *m)
{
	struct reading *r = ctx;
	struct sym_file key = { .path = m->path,
				.dev = makedev(m->dev_major, m->dev_minor),
				.inode = m->inode };
	uint32_t file;
	int err;

	if (!(m->prot & PROT_EXEC))
		return 0;
	if (!goes_on(r->u, r->count, &r->bytes))
		return 1;
	r->bytes += 2 * sizeof(*r->maps) + strlen(m->path); /* here, and in the history */
	if (r->also && r->also(r->ctx, m))
		r->also = NULL; /* it has enough */
	err = sym_files_add(&r->u->files, r->pid, &key, &file);
	if (err)
		return err;
	return RP_PUSH(r->maps, r->count, r->capacity,
		       (struct sym_mapping){ r->time, m->start, m->end, m->offset, file, r->pid });
}

int sym_user_snapshot(struct sym_user *u, uint32_t pid, uint64_t time)
{
	return sym_user_snapshot_with(u, pid, time, NULL, NULL);
}

int sym_user_snapshot_with(struct sym_user *u, uint32_t pid, uint64_t time, sym_user_map_fn also,
			   void *ctx)
{
	struct reading r = { .u = u, .also = also, .ctx = ctx, .time = time, .pid = pid };
	uint64_t born = 0;
	char comm[16], path[32];
	int err;

	err = sym_proc_identity(u->proc, pid, &born, comm);
	if (!err)
		err = sym_proc_maps(u->proc, pid, take_map, &r);
	if (err >= 0)
		err = sym_history_snapshot(&u->history, time, pid, born, comm, r.maps, r.count);
	free(r.maps);
	if (err) {
		snprintf(path, sizeof(path), "/proc/%u", pid);
		rp_lack(err, path);
	}
	return err;
}

/* ---- generated code */

/* Code that was generated before a fork is known by the name of the process that generated it. */
static bool name_generated(struct sym_user *u, uint32_t pid, uint64_t born, uint64_t time,
			   uint64_t addr, const struct sym_mapping *m, struct sym_frame *out)
{
	struct sym_mapping same;
	struct sym_life maker;

	if (sym_jits_name(&u->jits, pid, born, time, addr, out))
		return true;
	if (m->pid == pid || sym_history_find(&u->history, m->pid, m->time, addr, &same, &maker))
		return false;
	return sym_jits_name(&u->jits, m->pid, maker.born, time, addr, out);
}

struct keeping {
	struct sym_user *u;
	uint32_t pid;
	size_t count, bytes;
};

/* Who made a mapping for others may be another user's, or have ended. */
static bool is_of_one_user(const struct sym_user *u, uint32_t pid, uint32_t maker)
{
	uid_t uid, makers;

	return pid == maker ||
	       (sym_is_of_others(u->proc, pid, &uid) && sym_is_of_others(u->proc, maker, &makers) &&
		rp_subuid_first(uid) == rp_subuid_first(makers));
}

static int keep_mapping(void *ctx, const struct sym_mapping *m)
{
	struct keeping *k = ctx;
	uint32_t number;

	if (!goes_on(k->u, k->count++, &k->bytes))
		return 1;
	number = sym_files_keep(&k->u->files, m->pid, m);
	if (number != m->file && is_of_one_user(k->u, k->pid, m->pid))
		sym_history_of_file(&k->u->history, m, number);
	return 0;
}

int sym_user_keep_jit(struct sym_user *u, uint32_t pid)
{
	return sym_jits_keep(&u->jits, pid);
}

void sym_user_unuse(struct sym_user *u)
{
	sym_history_unuse(&u->history);
	sym_files_rest(&u->files);
	sym_files_forget(&u->files, &u->history);
	sym_jits_rest(&u->jits);
}

/* 1 if code may lie there that the process has generated. */
static int is_no_plain_file(void *ctx, const struct sym_mapping *m)
{
	struct sym_user *u = ctx;
	const struct sym_file *f = &u->files.items[m->file];

	if (f->kind == SYM_FILE)
		return !f->image && !f->reachable && f->fd < 0;
	return f->kind != SYM_FILE_VDSO && strcmp(f->path, "[vsyscall]");
}

/*
 * Whether a perf map need not be looked for: programs that generate code begin with it soon, and
 * this one has run for a while with none but that of files. Should it begin later, then its new
 * stacks cause another look.
 */
static bool is_settled(struct sym_user *u, uint32_t pid)
{
	const uint64_t now = rp_monotonic_ns();
	struct sym_mapping m;
	struct sym_life life;

	sym_history_find(&u->history, pid, now, 0, &m, &life);
	return life.born && life.born + 2 * NS_PER_SECOND < now &&
	       !sym_history_each(&u->history, pid, is_no_plain_file, u);
}

int sym_user_keep(struct sym_user *u, uint32_t pid)
{
	struct keeping k = { .u = u, .pid = pid };
	int err = sym_history_each(&u->history, pid, keep_mapping, &k);

	return err < 0 || is_settled(u, pid) ? err : sym_user_keep_jit(u, pid);
}

int sym_user_keep_again(struct sym_user *u, uint32_t pid)
{
	return is_settled(u, pid) ? 0 : sym_user_keep_jit(u, pid);
}

/* ---- the vdso */

struct vdso_range {
	uint64_t start, end;
};

static int find_vdso(void *ctx, const struct sym_proc_map *m)
{
	struct vdso_range *r = ctx;

	if (strcmp(m->path, "[vdso]"))
		return 0;
	r->start = m->start;
	r->end = m->end;
	return 1;
}

static void read_vdso(struct sym_user *u)
{
	struct vdso_range r = { 0 };

	u->vdso_read = true;
	if (sym_proc_maps("/proc", getpid(), find_vdso, &r) != 1 ||
	    r.start != getauxval(AT_SYSINFO_EHDR))
		return;
	if (sym_object_open_image(&u->vdso, (void *)(uintptr_t)r.start, r.end - r.start))
		return;
	u->vdso_base = r.start;
	if (sym_symtab_open(&u->vdso_symtab, u->vdso, NULL, &u->strings)) {
		sym_object_close(u->vdso);
		u->vdso = NULL;
	}
}

/* A 32-bit process beside us has another one. */
static bool is_our_vdso(const struct sym_user *u, const struct sym_mapping *m)
{
	return u->vdso && (m->start > UINT32_MAX) == (u->vdso_base > UINT32_MAX);
}

/* ---- questions */

/* @out->module is what was mapped. */
static void name_in_object(struct sym_object *o, struct sym_symtab *t, uint64_t offset,
			   bool is_return_address, struct sym_frame *out)
{
	uint64_t vaddr, start;

	if (o->build_id[0])
		out->build_id = o->build_id;
	if (sym_object_vaddr(o, offset, &vaddr))
		return;
	out->module_addr = vaddr + is_return_address;
	if (!sym_symtab_lookup(t, vaddr, &out->name, &start) &&
	    !sym_symtab_go(t, vaddr, &out->name, &start)) {
		if (!sym_symtab_place(t, vaddr, out->module, &out->name, &start))
			return;
		out->is_place = true;
	}
	if (out->name)
		out->offset = vaddr + is_return_address - start;
}

/* Names of their own making: a stub's has to be looked for among a million relocations. */
static void name_in_theirs(struct sym_user *u, struct sym_image *image, uint64_t offset,
			   bool is_return_address, struct sym_frame *out)
{
	const uint64_t began = rp_thread_cpu_ns();

	if (!sym_held_may_read(&u->files, image->holder)) {
		rp_lack(-EDQUOT, out->module);
		return;
	}
	name_in_object(image->object, image->symtab, offset, is_return_address, out);
	sym_held_has_read(&u->files, image->holder, rp_thread_cpu_ns() - began, 0);
}

static void name_in_file(struct sym_user *u, uint32_t pid, const struct sym_mapping *m,
			 uint64_t offset, bool is_return_address, struct sym_frame *out)
{
	struct sym_image *image = sym_files_image(&u->files, pid, m);
	const struct sym_file *f = &u->files.items[m->file];
	char hex[SYM_BUILD_ID_TEXT];

	out->kind = SYM_USER;
	out->module_addr = offset + is_return_address;
	out->image = image;
	if (image && image->holder) {
		name_in_theirs(u, image, offset, is_return_address, out);
	} else if (image) {
		name_in_object(image->object, image->symtab, offset, is_return_address, out);
	} else if (f->build_id_size) {
		sym_note_hex(f->build_id, f->build_id_size, hex);
		out->build_id = sym_strings_add(&u->strings, hex, strlen(hex));
	}
}

void sym_user_find(struct sym_user *u, uint32_t pid, uint64_t time, uint64_t addr,
		   struct sym_mapped *out)
{
	struct sym_mapping m;
	struct sym_life life;
	const struct sym_file *f;
	int err = sym_history_find(&u->history, pid, time, addr, &m, &life);

	*out = (struct sym_mapped){ .born = life.born };
	if (err)
		return;
	out->number = (m.start - m.offset) * 0x9e3779b97f4a7c15 + m.file + 1;
	f = &u->files.items[m.file];
	if (f->elsewhere && !f->settled) /* of each user it is another file */
		out->number += (uint64_t)pid << 32;
	if (!out->number)
		out->number = 1;
	out->since = m.time;
	out->start = m.start;
	out->end = m.end;
	out->offset = m.offset;
	out->file = m.file;
	out->maker = m.pid;
}

void sym_user_name(struct sym_user *u, uint32_t pid, uint64_t time, uint64_t addr,
		   bool is_return_address, const struct sym_mapped *at, struct sym_frame *out)
{
	const struct sym_mapping m = { at->since,  at->start, at->end,
				       at->offset, at->file,  at->maker };
	uint64_t where = addr - is_return_address, offset = where - m.start + m.offset;
	enum sym_file_kind kind;

	*out = (struct sym_frame){ .kind = SYM_UNKNOWN, .module_addr = addr };
	if (!at->number) {
		if (sym_jits_name(&u->jits, pid, at->born, time, where, out))
			out->offset += is_return_address;
		return;
	}
	kind = u->files.items[m.file].kind;
	out->module = u->files.items[m.file].path;
	out->map_start = m.start;
	out->map_end = m.end;
	out->map_offset = m.offset;
	if (kind == SYM_FILE)
		name_in_file(u, pid, &m, offset, is_return_address, out);
	if (kind == SYM_FILE_VDSO) {
		out->kind = SYM_VDSO;
		if (!u->vdso_read)
			read_vdso(u);
		if (is_our_vdso(u, &m))
			name_in_object(u->vdso, u->vdso_symtab, where - m.start, is_return_address,
				       out);
	}
	if (kind == SYM_FILE_ANON || (kind == SYM_FILE && !out->image)) {
		if (name_generated(u, pid, at->born, time, where, &m, out))
			out->offset += is_return_address;
	}
}

void sym_user_lookup(struct sym_user *u, uint32_t pid, uint64_t time, uint64_t addr,
		     bool is_return_address, struct sym_frame *out)
{
	struct sym_mapped at;

	sym_user_find(u, pid, time, addr - is_return_address, &at);
	sym_user_name(u, pid, time, addr, is_return_address, &at, out);
}

int sym_user_code_before(struct sym_user *u, const struct sym_frame *f, void *code, size_t n)
{
	const struct sym_object *o = f->image ? f->image->object : NULL;
	const struct sym_section *section = o ? sym_object_code(o, f->module_addr - n) : NULL;
	uint64_t within = section ? f->module_addr - n - section->addr : 0;

	(void)u; /* whose the image is */
	if (!section || section->size - within < n ||
	    sym_object_read(o, section->offset + within, code, n) != n)
		return -ENOENT;
	return 0;
}

size_t sym_user_source(struct sym_user *u, const struct sym_frame *f, bool is_return_address,
		       bool inlined, struct sym_line *out, size_t max)
{
	const uint64_t vaddr = f->module_addr - is_return_address;
	struct sym_image *image = f->image;
	const struct sym_object *data;
	size_t n;

	if (!image)
		return 0;
	n = sym_go_source(image->symtab, vaddr, inlined, out, max);
	if (n)
		return n;
	data = sym_files_debug_data(&u->files, image);
	return data ? sym_source_find(&image->source, data, image->object, vaddr, inlined, out, max)
		    : 0;
}

size_t sym_user_unreadable_source(const struct sym_user *u, const char **path)
{
	size_t n = 0;

	for (size_t i = 0; i < u->files.count; i++) {
		const struct sym_file *f = &u->files.items[i];

		if (f->image && f->image->source.unreadable) {
			*path = f->path;
			n++;
		}
	}
	return n;
}

const char *sym_user_comm_at(struct sym_user *u, uint32_t tid, uint64_t time)
{
	return sym_history_comm_at(&u->history, tid, time);
}
