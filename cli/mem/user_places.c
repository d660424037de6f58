/* SPDX-License-Identifier: BSD-2-Clause */
/* Where an allocator's functions are in the files of a process, and probes there. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <rawprof/symbolize.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/machine.h"
#include "symbolize/proc.h"
#include "user.h"

/* Every file is searched for the whole list; operator new counts if the file has an allocator. */
static const struct mem_function {
	const char *name;
	enum mem_call call;
	const char *shown; /* NULL: the name */
} functions[] = {
	{ "malloc", MEM_MALLOC },
	{ "calloc", MEM_CALLOC },
	{ "realloc", MEM_REALLOC },
	{ "reallocarray", MEM_REALLOCARRAY },
	{ "posix_memalign", MEM_POSIX_MEMALIGN },
	{ "aligned_alloc", MEM_ALIGNED },
	{ "memalign", MEM_ALIGNED },
	{ "valloc", MEM_MALLOC },
	{ "pvalloc", MEM_MALLOC },
	{ "free", MEM_FREE },
	{ "cfree", MEM_FREE },
	{ "free_sized", MEM_FREE },
	{ "free_aligned_sized", MEM_FREE },
	/* jemalloc's own */
	{ "mallocx", MEM_MALLOC },
	{ "rallocx", MEM_REALLOC },
	{ "dallocx", MEM_FREE },
	{ "sdallocx", MEM_FREE },
	/* operator new, new[], delete and delete[], with all that they may be given beside */
	{ "_Zn[wa]mRKSt9nothrow_t", MEM_MALLOC, "operator new" },
	{ "_Zn[wa]mSt11align_val_tRKSt9nothrow_t", MEM_MALLOC, "operator new" },
	{ "_Zn[wa]m", MEM_NEW, "operator new" },
	{ "_Zn[wa]mSt11align_val_t", MEM_NEW, "operator new" },
	{ "_ZdlPv*", MEM_DELETE, "operator delete" },
	{ "_ZdaPv*", MEM_DELETE, "operator delete" },
};
enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]), FIRST_OPERATOR = FUNCTIONS - 6 };

static bool is_free(enum mem_call call)
{
	return call == MEM_FREE || call == MEM_DELETE;
}

const char *mem_function_name(uint16_t function)
{
	if (function >= FUNCTIONS)
		return "?";
	return functions[function].shown ? functions[function].shown : functions[function].name;
}

/* What the programs are attached as. */
enum { ENTER, LEAVE, FREE, ROLES };

/* A file that was looked at for a process, or for all: with pid -1. */
struct object {
	uint64_t dev, inode;
	pid_t pid;
	struct rp_uprobes *probes[ROLES];
};

struct mem_probes {
	struct recording *rec;
	struct mem_user_config config;
	bool for_all; /* every process that maps the files, not only the target's */
	enum rp_uprobe_way way[ROLES]; /* RP_UPROBE_SESSION: ENTER is LEAVE too */
	/* By call where there are no cookies, else under 0; 0: not loaded yet. */
	int program[ROLES][MEM_CALLS];
	char *names[FUNCTIONS]; /* with --symbols-prefix */
	struct object *objects;
	size_t nobjects, capacity;
	size_t nplaces;
	bool late; /* what is found now runs already */
};

/* ---- programs */

static const struct rp_program *variant_for(const struct mem_user_config *config, int role,
					    bool session)
{
	if (session)
		return rp_program_of(rp_mem_user_programs,
				     config->peak_sites ? MEM_PEAK_CALLED : MEM_CALLED);
	if (role == FREE)
		return rp_program_of(rp_mem_free_programs, config->trace	? MEM_TRACES_FREES
							   : config->peak_sites ? MEM_PEAK_FREES
							   : config->lifetimes	? MEM_LIFE_FREES
										: MEM_FREES);
	if (role == LEAVE)
		return rp_program_of(rp_mem_user_programs,
				     config->peak_sites ? MEM_PEAK_LEFT : MEM_LEFT);
	return rp_program_of(rp_mem_user_programs, MEM_ENTERED);
}

static int load(struct mem_probes *m, int role, uint32_t cookie)
{
	const enum rp_uprobe_way way = m->way[role];
	struct mem_user_config config = m->config;

	config.cookie = cookie;
	return record_load_probe(m->rec, variant_for(&config, role, way == RP_UPROBE_SESSION), way,
				 &config);
}

static bool has_cookies(const struct mem_probes *m, int role)
{
	return m->way[role] != RP_UPROBE_PERF || role == LEAVE; /* which needs none */
}

/* The program for a function, or a negative errno. Without cookies each call has its own. */
static int program_for(struct mem_probes *m, int role, size_t function)
{
	const enum mem_call call = has_cookies(m, role) ? 0 : functions[function].call;
	int *fd = &m->program[role][call];

	if (!*fd)
		*fd = load(m, role, call ? MEM_COOKIE(call, function) : 0);
	return *fd;
}

/* ---- places */

/* The places of one role in a file. */
struct places {
	uint64_t *offsets, *cookies;
	int *programs;
	uint32_t n;
};

static void places_free(struct places *p)
{
	free(p->offsets);
	free(p->cookies);
	free(p->programs);
}

static int places_alloc(struct places *p, size_t most)
{
	p->offsets = calloc(most, sizeof(*p->offsets));
	p->cookies = calloc(most, sizeof(*p->cookies));
	p->programs = calloc(most, sizeof(*p->programs));
	return p->offsets && p->cookies && p->programs ? 0 : -ENOMEM;
}

static int attach(struct mem_probes *m, const struct sym_mapped_functions *file, pid_t pid,
		  int role, struct places *places, struct rp_uprobes **out)
{
	const bool one_program = has_cookies(m, role);
	const struct rp_uprobe_set set = { .way = m->way[role],
					   .fd = file->fd,
					   .offsets = places->offsets,
					   .cookies = one_program && role != LEAVE ? places->cookies
										   : NULL,
					   .n = places->n,
					   .pid = pid,
					   .at_return = role == LEAVE,
					   .prog_fds = places->programs,
					   .nprogs = one_program ? 1 : places->n };

	return places->n ? rp_attach_uprobes(&set, out) : 0;
}

static int add_place(struct mem_probes *m, struct rp_code *code,
		     const struct sym_function_found *found, int role, struct places *places)
{
	const struct rp_function f = {
		.offset = found->offset,
		.size = found->size,
		.alone = found->alone,
		.nargs = role == FREE ? 1 : 3,
		.with_return =
			role != FREE || m->config.trace, /* where a return address is looked for */
	};
	struct rp_place place;
	int err = rp_code_entry(code, &f, &place);

	if (err == -EOPNOTSUPP) {
		rp_log(RP_WARN,
		       "%s begins with an instruction that a probe would break: its calls "
		       "are not counted",
		       found->names[0]);
		return 0;
	}
	if (err)
		return err;
	places->programs[places->n] = program_for(m, role, found->pattern);
	if (places->programs[places->n] < 0)
		return places->programs[places->n];
	rp_log(RP_INFO, "%s: %s", found->names[0], place.why);
	places->offsets[places->n] = found->offset + place.offset;
	places->cookies[places->n] = MEM_COOKIE(functions[found->pattern].call, found->pattern);
	places->n++;
	return 0;
}

static bool has_allocator(const struct sym_functions *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (functions[f->items[i].pattern].call == MEM_MALLOC &&
		    f->items[i].pattern < FIRST_OPERATOR)
			return true;
	return false;
}

static int probe_file(struct mem_probes *m, const struct sym_mapped_functions *file, pid_t pid,
		      struct object *object)
{
	const struct sym_functions *f = file->functions;
	const bool own = has_allocator(f);
	bool throws = false;
	uint32_t n;
	struct places places[ROLES] = { 0 };
	struct rp_code *code = NULL;
	int err = rp_code_open(file->fd, f->machine, f->text_offset, f->text_size, &code);

	for (int role = 0; !err && role < ROLES; role++)
		err = places_alloc(&places[role], f->count);
	for (size_t i = 0; !err && i < f->count; i++) {
		const struct mem_function *function = &functions[f->items[i].pattern];
		const int role = is_free(function->call) ? FREE : ENTER;

		if (f->items[i].is_ifunc || (!own && f->items[i].pattern >= FIRST_OPERATOR))
			continue;
		if (function->call == MEM_NEW && !m->config.largest_new) {
			throws = true;
			continue;
		}
		if (role == FREE && m->config.sizes)
			continue;
		err = add_place(m, code, &f->items[i], role, &places[role]);
		if (!err && role == ENTER && m->way[ENTER] != RP_UPROBE_SESSION)
			err = add_place(m, code, &f->items[i], LEAVE, &places[LEAVE]);
	}
	/* Frees first, then allocations: no block is on the map whose free is not seen. */
	for (int role = ROLES - 1; !err && role >= 0; role--)
		err = attach(m, file, pid, role, &places[role], &object->probes[role]);
	n = places[ENTER].n + places[FREE].n;
	m->nplaces += err ? 0 : n;
	if (!err && n)
		rp_log(m->late ? RP_WARN : RP_INFO, "%s: %u functions are probed%s", file->path, n,
		       m->late ? " from now on: --obj PATH would count earlier calls too" : "");
	if (!err && throws)
		rp_log(RP_WARN,
		       "%s: operator new is not probed: if memory ran out, its exception "
		       "would end the program at the probe (Linux 6.13 and no limit on memory are "
		       "safe)",
		       file->path);
	for (int role = 0; role < ROLES; role++)
		places_free(&places[role]);
	rp_code_close(code);
	return err;
}

/* ---- files */

static struct object *find_object(const struct mem_probes *m, uint64_t dev, uint64_t inode,
				  pid_t pid)
{
	for (size_t i = 0; i < m->nobjects; i++)
		if (m->objects[i].dev == dev && m->objects[i].inode == inode &&
		    m->objects[i].pid == pid)
			return &m->objects[i];
	return NULL;
}

static int add_object(struct mem_probes *m, uint64_t dev, uint64_t inode, pid_t pid,
		      struct object **out)
{
	if (RP_GROW(m->objects, m->nobjects, m->capacity))
		return -ENOMEM;
	*out = &m->objects[m->nobjects++];
	**out = (struct object){ .dev = dev, .inode = inode, .pid = pid };
	return 0;
}

/* A look through the files of a process. */
struct look {
	struct mem_probes *probes;
	pid_t pid; /* to be probed; -1 all */
};

/* A file is read once, also if it had nothing. */
static bool is_known(void *ctx, const struct sym_mapped_functions *file)
{
	const struct look *look = ctx;

	return find_object(look->probes, file->dev, file->inode, look->pid);
}

static int on_file(void *ctx, const struct sym_mapped_functions *file)
{
	struct look *look = ctx;
	struct object *object;
	int err;

	if (is_known(ctx, file))
		return 0;
	err = add_object(look->probes, file->dev, file->inode, look->pid, &object);
	return err || !file->functions->count ? err
					      : probe_file(look->probes, file, look->pid, object);
}

/* The file was not named by an option: one that cannot be probed does not end the recording. */
static int on_mapped_file(void *ctx, const struct sym_mapped_functions *file)
{
	int err;

	if (file->functions->count && file->functions->machine != rp_machine_host()->elf) {
		rp_log(RP_WARN, "%s: code of another machine: its calls are not counted",
		       file->path);
		return 0;
	}
	err = on_file(ctx, file);
	if (err != -EOPNOTSUPP && err != -EINVAL && err != -EIO)
		return err;
	rp_log(RP_WARN, "%s: it cannot be probed (%s): its calls are not counted", file->path,
	       strerror(-err));
	return 0;
}

int mem_probes_process(struct mem_probes *m, uint32_t pid)
{
	const struct mem_options *mem = options_of(m->rec)->own;
	struct look look = { .probes = m, .pid = m->for_all ? -1 : (pid_t)pid };
	size_t unread = 0;
	int err;

	if (mem->obj) /* that one, and no other */
		return 0;
	err = sym_functions_mapped(NULL, pid, (const char *const *)m->names, FUNCTIONS, is_known,
				   on_mapped_file, &look, &unread);

	if (unread)
		record_target_tell_unopened(pid, unread,
					    "calls of an allocator there are not counted");
	if (err == -ESRCH) /* it has ended meanwhile */
		return 0;
	if (err == -EACCES || err == -EPERM)
		rp_log(RP_ERROR, "process %u: its mappings cannot be read: %s", pid,
		       strerror(-err));
	return err;
}

/* The file of --obj, mapped yet or not. */
static int probe_path(struct mem_probes *m, const char *path, pid_t pid)
{
	struct sym_mapped_functions file = { .path = path };
	struct look look = { .probes = m, .pid = pid };
	struct sym_functions *found = NULL;
	struct stat st;
	int err = 0;

	file.fd = rp_open_regular(AT_FDCWD, path);
	if (file.fd < 0)
		err = file.fd;
	else if (fstat(file.fd, &st))
		err = -errno;
	if (!err)
		err = sym_functions_find(file.fd, (const char *const *)m->names, FUNCTIONS, &found);
	if (err)
		rp_fail(err, "--obj %s: %s", path, strerror(-err));
	else if (!found->count)
		err = rp_fail(-ENOENT, "--obj %s: it has no malloc; is there a --symbols-prefix?",
			      path);
	if (!err) {
		file.dev = st.st_dev;
		file.inode = st.st_ino;
		file.functions = found;
		err = on_file(&look, &file);
	}
	sym_functions_free(found);
	if (file.fd >= 0)
		close(file.fd);
	return err;
}

int mem_probes_object(struct mem_probes *m, const char *path)
{
	const struct record_ids *pids = &m->rec->opt->pids;
	int err = 0;

	if (m->for_all)
		return probe_path(m, path, -1);
	for (uint32_t i = 0; !err && i < pids->n; i++)
		err = probe_path(m, path, (pid_t)pids->id[i]);
	return err;
}

/*
 * A file whose process ended before its mappings were read. The next process that maps the file is
 * seen, if the path leads to it.
 */
static int probe_too_late(struct mem_probes *m, const struct rp_side_event *e, uint64_t dev)
{
	struct sym_mapped_functions file = { .path = e->mmap.path,
					     .dev = dev,
					     .inode = e->mmap.ino,
					     .fd = sym_proc_follow_here(e->mmap.path) };
	struct look look = { .probes = m, .pid = -1 };
	const size_t before = m->nplaces;
	struct sym_functions *found = NULL;
	struct object *object;
	struct stat st;
	int err = 0;

	if (file.fd >= 0 && !fstat(file.fd, &st) && st.st_ino == e->mmap.ino && st.st_dev == dev &&
	    !sym_functions_find(file.fd, (const char *const *)m->names, FUNCTIONS, &found)) {
		file.functions = found;
		err = on_mapped_file(&look, &file);
		if (!err && m->nplaces > before)
			rp_log(RP_WARN,
			       "%s: process %u, which used it, ended: its calls are not counted",
			       e->mmap.path, e->pid);
	} else {
		rp_log(RP_WARN,
		       "%s: process %u had ended before it was read: calls of an allocator in it "
		       "are not counted",
		       e->mmap.path, e->pid);
		err = add_object(m, dev, e->mmap.ino, -1, &object); /* once is enough */
	}
	sym_functions_free(found);
	if (file.fd >= 0)
		close(file.fd);
	return err;
}

int mem_probes_mapped(struct mem_probes *m, const struct rp_side_event *e)
{
	const uint64_t dev = makedev(e->mmap.maj, e->mmap.min);
	const pid_t pid = m->for_all ? -1 : (pid_t)e->pid;
	const struct mem_options *mem = options_of(m->rec)->own;
	const uint32_t key = e->pid;
	uint64_t born;
	int err = 0;

	if (mem->obj || !e->mmap.ino || find_object(m, dev, e->mmap.ino, pid))
		return 0;
	m->late = true;
	if (!rp_map_lookup(record_stacks_map(m->rec->stacks, STACK_MAP_PIDS), &key, &born))
		err = mem_probes_process(m, e->pid);
	else if (!record_follows(m->rec, e->pid))
		return 0; /* not asked for */
	if (err || !m->for_all || find_object(m, dev, e->mmap.ino, pid))
		return err;
	return probe_too_late(m, e, dev);
}

size_t mem_probes_count(const struct mem_probes *m)
{
	return m->nplaces;
}

/* ---- all of it */

/* For a dry_run: otherwise each is loaded when the first place for it is found. */
static int load_all(struct mem_probes *m)
{
	int err = 0;

	for (int role = 0; err >= 0 && role < ROLES; role++)
		if (role != LEAVE || m->way[ENTER] != RP_UPROBE_SESSION)
			err = load(m, role, !has_cookies(m, role)); /* any function's */
	return err < 0 ? err : 0;
}

int mem_probes_open(struct recording *rec, const struct mem_user_config *config,
		    struct mem_probes **out)
{
	const struct mem_options *mem = options_of(rec)->own;
	struct mem_probes *m = calloc(1, sizeof(*m));
	int err = 0;
	const pid_t pid = rec->opt->program ? -1 : 1;

	if (!m)
		return -ENOMEM;
	m->rec = rec;
	m->config = *config;
	m->for_all = rec->opt->program;
	m->way[ENTER] = rp_uprobe_way(pid, true);
	m->way[LEAVE] = m->way[FREE] = rp_uprobe_way(pid, false);
	if (m->way[ENTER] == RP_UPROBE_SESSION)
		mem_new_limits(rec, &m->config);
	for (size_t i = 0; !err && i < FUNCTIONS; i++)
		if (asprintf(&m->names[i], "%s%s",
			     mem->prefix && i < FIRST_OPERATOR ? mem->prefix : "",
			     functions[i].name) < 0) {
			m->names[i] = NULL;
			err = -ENOMEM;
		}
	if (!err && m->way[FREE] == RP_UPROBE_NONE)
		err = rp_fail(-EOPNOTSUPP,
			      "uprobes are missing or not permitted: see rawprof doctor; "
			      "--faults and --growth do without");
	if (!err && options_of(rec)->dry_run)
		err = load_all(m);
	if (err)
		mem_probes_close(m);
	else
		*out = m;
	return err;
}

void mem_probes_detach(struct mem_probes *m)
{
	/* Allocations first: no free of a block on the map is missed. */
	for (int role = 0; role < ROLES; role++)
		for (size_t i = 0; i < m->nobjects; i++) {
			rp_uprobes_close(m->objects[i].probes[role]);
			m->objects[i].probes[role] = NULL;
		}
}

void mem_probes_close(struct mem_probes *m)
{
	if (!m)
		return;
	mem_probes_detach(m);
	for (size_t i = 0; i < FUNCTIONS; i++)
		free(m->names[i]);
	free(m->objects);
	free(m);
}
