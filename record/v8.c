/* SPDX-License-Identifier: BSD-2-Clause */
/* Which processes have V8; their memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/loader.h>
#include "base/hash.h"
#include "programs/shared/stack.h"
#include "symbolize/proc.h"

#include "mapped_file.h"
#include "names.h"
#include "remote.h"
#include "uid_share.h"
#include "v8.h"

/* A file whose name says that it may have it; layout is its number + 1, or 0. */
struct known_file {
	struct file_key key;
	uint32_t layout;
};

enum { MOST_TEXTS = 8 };
struct known_process {
	uint32_t pid;
	uint32_t layout; /* its number + 1; 0: it has ended, or has executed something else */
	/* Where the file is mapped, for V8 also beside its own code: what is there has names. */
	struct text {
		uint64_t start, end;
	} text[MOST_TEXTS];
};

/* More of them are no longer kept. */
enum { MOST_ENDED = 1024 };
enum { MOST_LAYOUTS = 64, USERS_LAYOUTS = MOST_LAYOUTS / 4 * 3 };

struct record_v8 {
	struct sym_v8_layout *layouts[MOST_LAYOUTS];
	uint32_t nlayouts;
	struct record_share places; /* of layouts, by who has the file */
	struct hash_map files;	    /* of struct known_file */
	struct hash_map processes;  /* of struct known_process */
	uint32_t nended;	    /* of these, about */
	struct v8_names *names;
	bool denied; /* said once */
};

int record_v8_open(struct record_v8 **out, struct name_share *share)
{
	struct record_v8 *p = calloc(1, sizeof(*p));
	int err = p ? record_v8_names_open(&p->names, share) : -ENOMEM;

	if (err) {
		free(p);
		return err;
	}
	p->places = RECORD_SHARE(USERS_LAYOUTS, "places for layouts of V8");
	p->files = HASH_MAP(struct known_file, key);
	p->processes = HASH_MAP(struct known_process, pid);
	*out = p;
	return 0;
}

void record_v8_close(struct record_v8 *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->nlayouts; i++)
		free(p->layouts[i]);
	record_v8_names_close(p->names);
	record_share_free(&p->places);
	rp_hash_free(&p->files);
	rp_hash_free(&p->processes);
	free(p);
}

bool record_v8_is_named(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strstr(slash ? slash : path, "node") != NULL;
}

/* Files with the same layout share it. True: it is another one, and is kept. */
static bool place(struct record_v8 *p, struct sym_v8_layout *l, uid_t owner, uint32_t *number)
{
	uint32_t i = 0;

	while (i < p->nlayouts && memcmp(p->layouts[i], l, sizeof(*l)))
		i++;
	if (i == p->nlayouts && (i == MOST_LAYOUTS || !record_share_take(&p->places, owner, 1)))
		return false;
	*number = i + 1;
	if (i < p->nlayouts)
		return false;
	p->layouts[p->nlayouts++] = l;
	return true;
}

/* Its number + 1; 0: it has none, or there is no room. */
static uint32_t look_at(struct record_v8 *p, const char *path, int fd)
{
	struct sym_v8_layout *l = calloc(1, sizeof(*l));
	const uid_t owner = record_share_owner(fd);
	uint32_t number = 0;

	if (!l)
		close(fd);
	if (!l || !record_v8_read_file(fd, path, l) || !place(p, l, owner, &number))
		free(l);
	return number;
}

/* ---- processes */

static struct known_process *find_process(const struct record_v8 *p, uint32_t pid)
{
	struct known_process *process = rp_hash_find(&p->processes, &pid);

	return process && process->layout ? process : NULL;
}

bool record_v8_has(const struct record_v8 *p, uint32_t pid)
{
	return p && find_process(p, pid);
}

static bool has_layout(void *ctx, void *entry)
{
	(void)ctx;
	return ((const struct known_process *)entry)->layout;
}

void record_v8_ended(struct record_v8 *p, uint32_t pid)
{
	struct known_process *process = p ? find_process(p, pid) : NULL;

	if (!process)
		return;
	*process = (struct known_process){ .pid = pid };
	if (++p->nended < MOST_ENDED)
		return;
	p->nended = 0;
	rp_hash_keep(&p->processes, has_layout, NULL);
}

static void add_text(struct known_process *process, const struct sym_proc_map *m)
{
	for (size_t i = 0; i < MOST_TEXTS; i++) {
		struct text *t = &process->text[i];

		if (t->end && t->start != m->start)
			continue;
		*t = (struct text){ m->start, m->end };
		return;
	}
}

void record_v8_mapped(struct record_v8 *p, uint32_t pid, const struct mapped_file *file,
		      struct v8_process *out)
{
	const struct sym_proc_map *m = file->map;
	struct known_process *process;
	struct known_file *f;
	int fd;

	if (!record_v8_is_named(m->path))
		return;
	f = record_known_file(&p->files, &file->key, file, &fd);
	if (!f)
		return; /* its frames stay native */
	if (fd >= 0)
		f->layout = look_at(p, m->path, fd);
	process = f->layout ? rp_hash_add(&p->processes, &pid) : NULL;
	if (!process)
		return;
	process->layout = f->layout;
	add_text(process, m);
	*out = (struct v8_process){ .layout = (uint16_t)f->layout,
				    .shared = p->layouts[f->layout - 1]->function_shared,
				    .bytecode_type = p->layouts[f->layout - 1]->type_bytecode };
}

/* ---- records */

static bool read_memory(void *ctx, uint64_t address, void *out, size_t n)
{
	return record_remote_read(ctx, address, out, n);
}

/* Code of the file itself, among it functions that it brings along compiled. */
static bool is_in_file(const struct known_process *process, uint64_t pc)
{
	for (size_t i = 0; i < MOST_TEXTS; i++)
		if (pc - process->text[i].start < process->text[i].end - process->text[i].start)
			return true;
	return false;
}

/* Where the CPU was, if that is in code which V8 has made, as far as one sees without reading. */
static bool is_innermost(const struct known_process *process, const struct stack_record *r,
			 uint64_t *pc)
{
	if (!r->user_bytes)
		return false;
	*pc = r->frames[r->kernel_bytes / 8] & ~UNWIND_PC_EXACT;
	return !is_in_file(process, *pc);
}

int record_v8_saw(struct record_v8 *p, const struct stack_record *r)
{
	const uint64_t *at = r->frames + (r->kernel_bytes + r->user_bytes) / 8;
	const uint64_t *end = at + r->managed_bytes / 8;
	const struct name_owner owner = { .pid = (uint32_t)(r->pid_tgid >> 32),
					  .generation = r->start_time + r->exec_id };
	struct record_remote memory = { .pid = (pid_t)owner.pid };
	const struct known_process *process = find_process(p, owner.pid);
	struct sym_v8_memory m = { read_memory, &memory, NULL, false };
	const struct sym_v8_layout *l;
	uint64_t pc;
	int err = 0;

	if (!process) /* it has ended, or its files were not looked at yet */
		return 0;
	l = p->layouts[process->layout - 1];
	record_v8_names_begin(p->names);
	/* Runs of JavaScript have one frame. */
	for (; !err && end - at >= 3; at += at[0] & MANAGED_PLACE ? 1 : 2)
		if (!(at[0] & MANAGED_PLACE) && at[2] & MANAGED_PLACE &&
		    (at[2] & (MANAGED_PLACE - 1)) >> MANAGED_LANGUAGE_SHIFT == MANAGED_JS) {
			m.no_code = is_in_file(process, at[1] & V8_POSITION_MASK);
			err = record_v8_names_add(p->names, l, &m, &owner, at);
		}
	m.no_code = false;
	if (!err && r->managed_bytes && is_innermost(process, r, &pc))
		err = record_v8_names_add_innermost(p->names, l, &m, &owner, pc);
	record_remote_close(&memory);
	if ((memory.error == EPERM || memory.error == EACCES) && !p->denied) {
		rp_log(RP_WARN,
		       "the memory of process %u may not be read: its JavaScript has no "
		       "names",
		       owner.pid);
		p->denied = true;
	}
	return err;
}

bool record_v8_innermost(const struct record_v8 *p, const struct name_owner *owner, uint64_t pc,
			 uint64_t words[2])
{
	return record_v8_names_innermost(p->names, owner, pc, words);
}

size_t record_v8_frames(const struct record_v8 *p, const struct name_owner *owner,
			const uint64_t words[2], struct report_frame *out, size_t max)
{
	return record_v8_names_find(p->names, owner, words, out, max);
}

void record_v8_forget(struct record_v8 *p)
{
	record_v8_names_forget(p->names);
}
