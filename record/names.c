/* SPDX-License-Identifier: BSD-2-Clause */
/* From addresses to frames of a report: each address of a mapping is looked up once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/unwind.h>

#include "base/budget.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/machine.h"
#include "managed_runs.h"
#include "recording.h"
#include "symbolize/lines_budget.h"

/*
 * An address that has been named. owner is 0 for the kernel. A process may map one file after
 * another at the same address, so what was mapped belongs to the key, as do all members up to
 * `what`. Its frames are names.ids.id[first] and the count - 1 behind it; count is 0 until it has
 * been named.
 */
struct named {
	uint64_t addr;
	uint64_t owner;
	uint64_t mapping;
	uint64_t what; /* enum names_first; NAMES_MANAGED + enum managed_language */
	uint32_t first;
	uint32_t count;
};

/* A managed frame is known by its two words: addr and mapping. */
#define NAMES_MANAGED 3

/*
 * The most frames that a stack has with inlined ones in it: so many are always left for the
 * addresses themselves, of which the kernel's side of a stack has at most 1024.
 */
#define INLINED_ROOM (REPORT_MAX_STACK - STACK_DEEPEST - 1024 - SYM_INLINE_MAX)

enum { NAMED_SLOT = 2 * sizeof(struct hash_slot) };

struct names {
	struct recording *rec;
	struct report *report;
	struct hash_map named; /* of struct named */
	struct name_ids ids;
	uint64_t has; /* bytes of all, of which those since the last stack are whose that was */
	uid_t last;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93;

	return h ^ h >> 32;
}

int record_names_open(struct names **out, struct recording *rec, struct report *report)
{
	struct names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->rec = rec;
	names->named = HASH_MAP(struct named, what);
	names->report = report;
	record_share_empty(&rec->report_memory);
	*out = names;
	return 0;
}

void record_names_close(struct names *names)
{
	if (names) {
		rp_hash_free(&names->named);
		free(names->ids.id);
	}
	free(names);
}

bool record_names_have_room(struct names *n, uint32_t pid)
{
	const uint64_t has =
		report_memory(n->report) + n->named.count * (sizeof(struct named) + NAMED_SLOT);

	if (n->rec->looks.is_free)
		return true;
	record_share_add(&n->rec->report_memory, n->last, has - n->has);
	n->has = has;
	n->last = has < n->rec->report_memory.most / 8 ? 0 : record_whose(&n->rec->whose, pid);
	return !n->last || record_share_has_room(&n->rec->report_memory, n->last, 1);
}

static enum report_frame_kind frame_kind(enum sym_kind kind)
{
	switch (kind) {
	case SYM_KERNEL:
	case SYM_MODULE:
	case SYM_BPF:
		return REPORT_KERNEL;
	case SYM_JIT:
		return REPORT_JIT;
	case SYM_UNKNOWN:
	case SYM_USER:
	case SYM_VDSO:
		break;
	}
	return REPORT_USER;
}

static const char *readable(const struct recording *rec, const char *name)
{
	if (!name)
		return NULL;
	return rec->opt->keep_mangled ? sym_demangler_cut(rec->demangler, name)
				      : sym_demangle(rec->demangler, name);
}

/* What is in the source at f; *whole, the address's frame, gets its line. Returns how many more. */
static size_t add_source(struct recording *rec, uint32_t pid, const struct sym_frame *f,
			 struct report_frame *whole, struct report_frame *inlined)
{
	struct sym_line lines[SYM_INLINE_MAX + 1];
	size_t n;

	if (!rec->opt->lines && !rec->opt->inlined)
		return 0;
	sym_lines_asked_by(rec->looks.is_free ? 0 : record_whose(&rec->whose, pid));
	n = sym_user_source(rec->user, f, whole->is_return, rec->opt->inlined, lines,
			    SYM_INLINE_MAX + 1);
	for (size_t i = 0; i < n; i++) {
		struct report_frame *out = i + 1 < n ? &inlined[i] : whole;

		if (out != whole) {
			*out = *whole;
			out->name = readable(rec, lines[i].function);
			out->symbol_offset = 0;
			out->kind = REPORT_INLINED;
		}
		if (rec->opt->lines) {
			out->file = lines[i].file;
			out->line = lines[i].line;
		}
	}
	return n ? n - 1 : 0;
}

/* How the kernel is entered by system calls; a new thread begins as if it came back from one. */
static bool is_syscall_entry(const char *name)
{
	static const char *const entries[] = { "entry_SYSCALL_64", "el0_svc", "do_trap_ecall_u",
					       "ret_from_fork" };

	for (size_t i = 0; name && i < sizeof(entries) / sizeof(entries[0]); i++)
		if (!strncmp(name, entries[i], strlen(entries[i])))
			return true;
	return false;
}

enum names_first record_names_entered(struct recording *rec, const uint64_t *kernel, size_t n)
{
	enum { ENTRY_FRAMES = 3 }; /* on arm64; x86-64 has one */
	struct sym_frame f;

	for (size_t i = n; i-- > 1 && n - i <= ENTRY_FRAMES;) {
		sym_kernel_lookup(rec->kernel, kernel[i], true, &f);
		if (is_syscall_entry(f.name))
			return NAMES_SYSCALL;
	}
	return NAMES_AT;
}

/*
 * A system call may leave for another place than it came from: a signal handler, what a handler
 * interrupted, the start of a program. There is no system call before that. Where the code is not
 * to be had it is taken for the usual case.
 */
static bool is_after_syscall(const struct recording *rec, const struct sym_frame *f)
{
	const struct machine_bytes *call = &rp_machine_host()->syscall;
	uint8_t code[sizeof(call->bytes)];

	return sym_user_code_before(rec->user, f, code, call->size) ||
	       !memcmp(code, call->bytes, call->size);
}

/* What was mapped at one address, or, if it is not just where the CPU was, before it. */
static struct sym_mapped find_mapped(const struct recording *rec, const struct name_owner *owner,
				     uint64_t addr, enum names_first what)
{
	struct sym_mapped at = { 0 };

	if (owner)
		sym_user_find(rec->user, owner->pid, owner->time, addr - (what != NAMES_AT), &at);
	return at;
}

/* Finds the name of one address; returns whether it was taken for a return address. */
static bool look_up(struct recording *rec, const struct name_owner *owner, uint64_t addr,
		    enum names_first what, const struct sym_mapped *at, struct sym_frame *f)
{
	bool is_return = what == NAMES_RETURN;

	if (!owner) {
		sym_kernel_lookup(rec->kernel, addr, is_return, f);
		return is_return;
	}
	if (what == NAMES_SYSCALL) {
		sym_user_lookup(rec->user, owner->pid, owner->time, addr, false, f);
		if (!is_after_syscall(rec, f))
			return false;
		is_return = true;
	}
	sym_user_name(rec->user, owner->pid, owner->time, addr, is_return, at, f);
	return is_return;
}

/* Writes the frames of one address, the address itself last; returns how many. */
static size_t name_address(struct recording *rec, const struct name_owner *owner, uint64_t addr,
			   enum names_first what, const struct sym_mapped *at,
			   struct report_frame out[SYM_INLINE_MAX + 1])
{
	struct report_frame whole;
	struct sym_frame f;
	bool is_return = look_up(rec, owner, addr, what, at, &f);
	size_t n = 0;

	whole = (struct report_frame){
		.name = readable(rec, f.name),
		.module = f.module,
		.build_id = f.build_id,
		.address = addr,
		.symbol_offset = f.offset,
		.map_start = f.map_start,
		.map_end = f.map_end,
		.map_offset = f.map_offset,
		.module_addr = f.module_addr,
		.kind = frame_kind(f.kind),
		.is_return = is_return,
	};
	if (owner)
		n = add_source(rec, owner->pid, &f, &whole, out);
	out[n++] = whole;
	return n;
}

bool record_names_take_mark(const struct name_owner *owner, uint64_t *addr)
{
	if (!owner || !(*addr & UNWIND_PC_EXACT))
		return true;
	*addr &= ~UNWIND_PC_EXACT;
	return false;
}

/* The owner as one number that is never 0, which is the kernel. */
static uint64_t owner_number(const struct name_owner *owner)
{
	return owner ? mix(owner->pid, owner->generation) | 1 : 0;
}

int record_names_push(struct name_ids *ids, uint32_t id)
{
	return RP_PUSH(ids->id, ids->n, ids->capacity, id);
}

int record_names_mark(struct report *report, const char *name, struct name_ids *ids)
{
	const struct report_frame frame = { .name = name, .kind = REPORT_MARK };
	uint32_t id;
	int err = report_frame_add(report, &frame, &id);

	return err ? err : record_names_push(ids, id);
}

/* Interns a frame under the name "function file.c:12". */
static int add_with_line(struct names *names, const struct report_frame *frame, uint32_t *id)
{
	const char *slash = strrchr(frame->file, '/');
	struct report_frame with = *frame;
	const char *file = slash ? slash + 1 : frame->file;
	char *name;
	int err;

	if ((frame->line ? asprintf(&name, "%s %s:%u", frame->name, file, frame->line)
			 : asprintf(&name, "%s %s", frame->name, file)) < 0)
		return -ENOMEM;
	with.name = name;
	err = report_frame_add(names->report, &with, id);
	free(name);
	return err;
}

static int add_frames(struct names *names, const struct report_frame *frames, size_t n)
{
	int err = 0;

	for (size_t i = 0; !err && i < n; i++) {
		const struct report_frame *f = &frames[i];
		uint32_t id;

		if (names->rec->opt->lines_in_names && f->name && f->file)
			err = add_with_line(names, f, &id);
		else
			err = report_frame_add(names->report, f, &id);
		if (!err)
			err = record_names_push(&names->ids, id);
	}
	return err;
}

/* The frames of an address, of which *key has the key; NULL: err. */
static const struct named *intern_address(struct names *names, const struct name_owner *owner,
					  const struct sym_mapped *at, const struct named *key,
					  int *err)
{
	struct report_frame frames[SYM_INLINE_MAX + 1];
	struct named *named = rp_hash_add(&names->named, key);

	*err = named ? 0 : -ENOMEM;
	if (named && !named->count) {
		size_t n = name_address(names->rec, owner, key->addr, key->what, at, frames);

		named->first = (uint32_t)names->ids.n;
		*err = add_frames(names, frames, n);
		named->count = *err ? 0 : (uint32_t)n;
	}
	return *err ? NULL : named;
}

/* What address number i of a stack is, whose mark it loses. */
static enum names_first what_is(const struct name_owner *owner, uint64_t *addr, size_t i,
				enum names_first first)
{
	if (!record_names_take_mark(owner, addr))
		return NAMES_AT;
	return i ? NAMES_RETURN : first;
}

int record_names_intern(struct names *names, const struct name_owner *owner, const uint64_t *addrs,
			size_t n, enum names_first first, struct name_ids *out)
{
	struct named key = { .owner = owner_number(owner) };
	int err = 0;

	for (size_t i = 0; !err && i < n; i++) {
		const struct named *named;
		struct sym_mapped at;
		uint32_t from = 0;

		key.addr = addrs[i];
		key.what = what_is(owner, &key.addr, i, first);
		at = find_mapped(names->rec, owner, key.addr, key.what);
		key.mapping = at.number;
		named = intern_address(names, owner, &at, &key, &err);
		if (!err && out->n >= INLINED_ROOM)
			from = named->count - 1;
		for (; !err && from < named->count; from++)
			err = record_names_push(out, names->ids.id[named->first + from]);
	}
	return err;
}

int record_names_stack(struct recording *rec, const struct name_owner *owner, const uint64_t *addrs,
		       size_t n, enum names_first first, struct name_frames *out)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t addr = addrs[i];
		enum names_first what = what_is(owner, &addr, i, first);
		struct sym_mapped at = find_mapped(rec, owner, addr, what);

		if (RP_GROW_TO(out->frame, out->n + SYM_INLINE_MAX + 1, out->capacity))
			return -ENOMEM;
		out->n += name_address(rec, owner, addr, what, &at, out->frame + out->n);
	}
	return 0;
}

/* ---- frames of managed languages between native ones */

/* Adds frames of one kind or the other, to a report or as they are. */
struct adder {
	int (*native)(struct adder *to, const uint64_t *addrs, size_t n, enum names_first first);
	int (*managed)(struct adder *to, enum managed_language language, const uint64_t words[2]);
	int (*mark)(struct adder *to, const char *name);
	struct names *names;
	struct recording *rec;
	const struct name_owner *owner;
	struct name_ids *ids;
	struct name_frames *frames;
	size_t skip; /* native frames that are left out, the innermost */
	size_t gap;  /* behind so many of them others are, of a stack too deep; 0: no */
};

/* What a virtual machine brings along, to enter and leave the program's functions, is none. */
static bool is_function(enum managed_language language, const uint64_t words[2])
{
	return language != MANAGED_JVM || record_jvm_is_method(words);
}

static int add_run(struct adder *to, const struct managed_run *run, bool alone)
{
	int err = 0;

	for (size_t i = 0; !err && i < run->n; i++)
		if (!alone || is_function(run->language, run->words + 2 * i))
			err = to->managed(to, run->language, run->words + 2 * i);
	return err;
}

static int add_native(struct adder *to, const uint64_t *frames, size_t from, size_t end,
		      enum names_first first)
{
	uint64_t words[2];
	int err = 0;

	if (from >= end)
		return 0;
	if (to->gap && to->gap < end) {
		const size_t gap = to->gap > from ? to->gap : from;

		to->gap = 0;
		err = add_native(to, frames, from, gap, first);
		if (!err)
			err = to->mark(to, "[...]");
		return err ? err : add_native(to, frames, gap, end, first);
	}
	if (!from && first == NAMES_AT && to->rec->v8 &&
	    record_v8_innermost(to->rec->v8, to->owner, frames[0] & ~UNWIND_PC_EXACT, words)) {
		err = to->managed(to, MANAGED_JS, words);
		if (err || ++from == end)
			return err;
	}
	return to->native(to, frames + from, end - from, from > to->skip ? NAMES_RETURN : first);
}

bool record_managed_alone(const struct recording *rec, const struct stack_record *r)
{
	struct managed_runs runs;
	struct managed_run run;

	if (!rec->opt->python_only || !r->managed_bytes)
		return false;
	record_find_runs(r, &runs);
	while (record_next_run(&runs, &run))
		for (size_t i = 0; i < run.n; i++)
			if (is_function(run.language, run.words + 2 * i))
				return true;
	return false;
}

static int add_user(struct adder *to, const struct stack_record *r, enum names_first first)
{
	const uint64_t *native = r->frames + r->kernel_bytes / 8;
	const size_t n = r->user_bytes / 8;
	const bool alone = record_managed_alone(to->rec, r);
	struct managed_runs runs;
	size_t from = to->skip < n ? to->skip : n;
	struct managed_run run;
	int err = 0;

	if (r->user_end == UNWIND_ELIDED)
		to->gap = to->rec->config.user_frames - to->rec->config.outermost;
	record_find_runs(r, &runs);
	while (!err && record_next_run(&runs, &run)) {
		const size_t place = run.place < n ? run.place : n;

		if (!alone && place > from)
			err = add_native(to, native, from, place, first);
		from = place + 1 > from ? place + 1 : from;
		if (!err)
			err = add_run(to, &run, alone);
	}
	return err || alone ? err : add_native(to, native, from, n, first);
}

/* The frames that two words stand for, innermost first; returns how many, at least one. */
static size_t managed_frames(struct adder *to, enum managed_language language,
			     const uint64_t words[2], struct report_frame out[SYM_INLINE_MAX + 1])
{
	switch (language) {
	case MANAGED_PYTHON:
		record_python_frame(to->rec->python, to->owner, words, out);
		return 1;
	case MANAGED_JVM:
		return record_jvm_frames(to->rec->jvm, to->owner, words, out, SYM_INLINE_MAX + 1);
	case MANAGED_JS:
		return record_v8_frames(to->rec->v8, to->owner, words, out, SYM_INLINE_MAX + 1);
	case MANAGED_PHP:
	case MANAGED_RUBY:
	case MANAGED_PERL:
		record_script_frame(to->rec->script, to->owner, language, words, out);
		return 1;
	case MANAGED_LANGUAGES:
		break;
	}
	*out = (struct report_frame){ .name = "[jit]", .kind = REPORT_JIT };
	return 1;
}

static int intern_native(struct adder *to, const uint64_t *addrs, size_t n, enum names_first first)
{
	return record_names_intern(to->names, to->owner, addrs, n, first, to->ids);
}

static int intern_managed(struct adder *to, enum managed_language language, const uint64_t words[2])
{
	const struct named key = { .addr = words[0],
				   .owner = owner_number(to->owner),
				   .mapping = words[1],
				   .what = NAMES_MANAGED + language };
	struct named *named = rp_hash_add(&to->names->named, &key);
	struct report_frame frames[SYM_INLINE_MAX + 1];
	int err = 0;

	if (!named)
		return -ENOMEM;
	if (!named->count) {
		const size_t n = managed_frames(to, language, words, frames);

		named->first = (uint32_t)to->names->ids.n;
		err = add_frames(to->names, frames, n);
		if (err)
			return err;
		named->count = (uint32_t)n;
	}
	for (uint32_t i = to->ids->n < INLINED_ROOM ? 0 : named->count - 1;
	     !err && i < named->count; i++)
		err = record_names_push(to->ids, to->names->ids.id[named->first + i]);
	return err;
}

static int intern_mark(struct adder *to, const char *name)
{
	return record_names_mark(to->names->report, name, to->ids);
}

int record_names_intern_callers(struct names *names, const struct stack_record *r, size_t skip,
				enum names_first first, struct name_ids *out)
{
	const struct name_owner owner = record_owner(r);
	struct adder to = { intern_native, intern_managed, intern_mark, names,
			    names->rec,	   &owner,	   .ids = out,	.skip = skip };

	return add_user(&to, r, first);
}

int record_names_intern_user(struct names *names, const struct stack_record *r,
			     enum names_first first, struct name_ids *out)
{
	return record_names_intern_callers(names, r, 0, first, out);
}

static int keep_native(struct adder *to, const uint64_t *addrs, size_t n, enum names_first first)
{
	return record_names_stack(to->rec, to->owner, addrs, n, first, to->frames);
}

static int keep_managed(struct adder *to, enum managed_language language, const uint64_t words[2])
{
	struct name_frames *out = to->frames;

	if (RP_GROW_TO(out->frame, out->n + SYM_INLINE_MAX + 1, out->capacity))
		return -ENOMEM;
	out->n += managed_frames(to, language, words, out->frame + out->n);
	return 0;
}

static int keep_mark(struct adder *to, const char *name)
{
	struct name_frames *out = to->frames;

	if (RP_GROW_TO(out->frame, out->n + 1, out->capacity))
		return -ENOMEM;
	out->frame[out->n++] = (struct report_frame){ .name = name, .kind = REPORT_MARK };
	return 0;
}

int record_names_stack_user(struct recording *rec, const struct stack_record *r,
			    enum names_first first, struct name_frames *out)
{
	const struct name_owner owner = record_owner(r);
	struct adder to = { keep_native, keep_managed,	  keep_mark,
			    .rec = rec,	 .owner = &owner, .frames = out };

	return add_user(&to, r, first);
}
