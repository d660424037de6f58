/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits in words: the lock, its type, the function that wanted it, and the one that let go. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "lock.h"
#include "record/own_frames.h"

/* ---- what kind of lock */

const char *lock_outcome_name(uint32_t outcome)
{
	static const char *const names[LOCK_OUTCOMES] = {
		[LOCK_GOT] = "got",	    [LOCK_TIMED_OUT] = "timed out",
		[LOCK_CHANGED] = "no wait", [LOCK_INTERRUPTED] = "interrupted",
		[LOCK_FAILED] = "failed",   [LOCK_WAITING] = "goes on",
		[LOCK_HELD] = "held",
	};

	return outcome < LOCK_OUTCOMES ? names[outcome] : "failed";
}

static const struct {
	uint32_t flags;
	const char *name;
} kernel_types[] = {
	{ 0, "semaphore" },
	{ LOCK_SPIN, "spinlock" },
	{ LOCK_SPIN | LOCK_READ, "rwlock:R" },
	{ LOCK_SPIN | LOCK_WRITE, "rwlock:W" },
	{ LOCK_READ, "rwsem:R" },
	{ LOCK_WRITE, "rwsem:W" },
	{ LOCK_MUTEX, "mutex" },
	{ LOCK_MUTEX | LOCK_SPIN, "mutex:spinning" },
	{ LOCK_RT, "rtmutex" },
	{ LOCK_RT | LOCK_SPIN, "rtspinlock" },
	{ LOCK_RT | LOCK_READ, "rtrwlock:R" },
	{ LOCK_RT | LOCK_WRITE, "rtrwlock:W" },
	{ LOCK_PERCPU | LOCK_READ, "percpu-rwsem:R" },
	{ LOCK_PERCPU | LOCK_WRITE, "percpu-rwsem:W" },
};

const char *lock_kernel_type(uint32_t how)
{
	if (how & LOCK_FUTEX)
		return how & LOCK_GIL	      ? "gil"
		       : how & LOCK_FUTEX_PI  ? "pi-mutex"
		       : how & LOCK_FUTEX_ANY ? "futex:any"
					      : "futex";
	for (size_t i = 0; i < sizeof(kernel_types) / sizeof(kernel_types[0]); i++)
		if (kernel_types[i].flags == (how & LOCK_KERNEL_FLAGS))
			return kernel_types[i].name;
	return "other";
}

/* Functions of libraries that wait, without leading underscores, by their beginnings. */
static const struct {
	const char *begins, *type;
} user_types[] = {
	{ "pthread_cond_", "condvar" },
	{ "pthread_mutex_", "umutex" },
	{ "pthread_rwlock_", "urwlock" },
	{ "pthread_join", "join" },
	{ "pthread_timedjoin", "join" },
	{ "pthread_clockjoin", "join" },
	{ "pthread_barrier_", "barrier" },
	{ "pthread_once", "once" },
	{ "sem_wait", "usemaphore" },
	{ "sem_timedwait", "usemaphore" },
	{ "sem_clockwait", "usemaphore" },
	{ "new_sem_", "usemaphore" },
	{ "lll_lock", "umutex" },
	{ "cnd_", "condvar" },
	{ "mtx_", "umutex" },
	{ "thrd_join", "join" },
	{ "std::condition_variable", "condvar" },
	{ "std::mutex", "umutex" },
	{ "std::shared_mutex", "urwlock" },
	{ "std::sys::sync::mutex", "umutex" },
	{ "std::sys::sync::condvar", "condvar" },
	{ "std::sys::sync::rwlock", "urwlock" },
	{ "parking_lot::raw_mutex", "umutex" },
	{ "parking_lot::condvar", "condvar" },
	{ "parking_lot::raw_rwlock", "urwlock" },
};

static const char *user_type(const char *name)
{
	name += strspn(name, "_");
	for (size_t i = 0; i < sizeof(user_types) / sizeof(user_types[0]); i++)
		if (!strncmp(name, user_types[i].begins, strlen(user_types[i].begins)))
			return user_types[i].type;
	return NULL;
}

/* "rwsem" is both rwsem:R and rwsem:W. */
bool lock_type_matches(const char *type, const char *word, size_t len)
{
	return len && !strncmp(word, type, len) && (!type[len] || type[len] == ':');
}

static bool type_known(const char *word, size_t len)
{
	static const char *const others[] = { "futex", "futex:any", "gil", "pi-mutex", "other" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (lock_type_matches(others[i], word, len))
			return true;
	for (size_t i = 0; i < sizeof(kernel_types) / sizeof(kernel_types[0]); i++)
		if (lock_type_matches(kernel_types[i].name, word, len))
			return true;
	for (size_t i = 0; i < sizeof(user_types) / sizeof(user_types[0]); i++)
		if (lock_type_matches(user_types[i].type, word, len))
			return true;
	return false;
}

bool lock_types_known(const char *list)
{
	for (;;) {
		size_t len = strcspn(list, ",");

		if (!type_known(list, len))
			return false;
		if (!list[len])
			return true;
		list += len + 1;
	}
}

/* ---- which function */

static bool begins_with_one(const char *name, const char *const *beginnings, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(beginnings[i]);

		/* one that ends in '$' is the whole name */
		if (beginnings[i][len - 1] == '$'
			    ? strlen(name) == len - 1 && !strncmp(name, beginnings[i], len - 1)
			    : !strncmp(name, beginnings[i], len))
			return true;
	}
	return false;
}
#define BEGINS_WITH_ONE(name, list) begins_with_one(name, list, sizeof(list) / sizeof(list[0]))

/* How the kernel takes locks, gives them back, and wakes. */
static bool is_kernel_lock_function(const char *name)
{
	static const char *const beginnings[] = {
		"__mutex_",
		"mutex_",
		"__ww_mutex_",
		"ww_mutex_",
		"down_read",
		"down_write",
		"__down_",
		"down$",
		"down_inter",
		"down_killable",
		"down_timeout",
		"rwsem_",
		"percpu_down_",
		"__percpu_down_",
		"percpu_rwsem_",
		"queued_spin_lock_",
		"native_queued_spin_",
		"__pv_queued_spin_",
		"resilient_queued_spin_",
		"queued_read_",
		"queued_write_",
		"_raw_spin_",
		"_raw_read_",
		"_raw_write_",
		"__raw_",
		"do_raw_",
		"rt_mutex_",
		"__rt_mutex_",
		"rt_spin_",
		"rt_read_",
		"rt_write_",
		"rtlock_",
		"rwbase_",
		"try_to_wake_up",
		"wake_up_",
		"default_wake_",
		"autoremove_wake_",
		"__wake_up",
		"swake_up",
		"rcuwait_wake",
		"up_read",
		"up_write",
		"__up_",
		"__up$",
		"up$",
		"percpu_up_",
		"__percpu_up_",
		"osq_lock",
		"downgrade_write",
		"rwsem_downgrade",
		"futex_wake",
		"do_futex",
		"__x64_sys_futex",
		"__arm64_sys_futex",
		"__do_sys_futex",
		"__se_sys_futex",
	};

	return BEGINS_WITH_ONE(name, beginnings);
}

/* The function of a kernel stack that wants the lock or lets go of it; NULL: the stack is empty. */
static const char *kernel_caller(struct recording *rec, const struct stack_record *r)
{
	const size_t n = r->kernel_bytes / 8;
	const char *name = NULL;
	struct sym_frame f;

	for (size_t i = record_own_frames(rec, r->frames, n); i < n; i++) {
		sym_kernel_lookup(rec->kernel, r->frames[i], true, &f);
		name = f.name ? f.name : name;
		if (f.name && !is_kernel_lock_function(f.name))
			break;
	}
	return name;
}

/* Code between a program and the kernel, of which the caller is of interest. */
static bool is_library(const struct sym_frame *f, const char *name)
{
	static const char *const files[] = { "libc.so", "libc-",     "libpthread", "ld-linux",
					     "ld-musl", "libstdc++", "libc++" };
	static const char *const functions[] = {
		"lll_",		  "pthread_",	    "futex_",	   "futex$",	"sem_wait$",
		"sem_timedwait$", "sem_clockwait$", "new_sem_",	   "do_futex_", "syscall$",
		"std::",	  "core::",	    "parking_lot", "runtime.",	"cnd_",
		"mtx_",		  "thrd_",
	};
	const char *base = f->module ? strrchr(f->module, '/') : NULL;

	base = base ? base + 1 : f->module;
	if (f->kind == SYM_USER && base && BEGINS_WITH_ONE(base, files))
		return true;
	return name && BEGINS_WITH_ONE(name + strspn(name, "_"), functions);
}

struct caller {
	const char *name;    /* NULL: not known */
	uint64_t addr;	     /* then where it is; 0: nowhere */
	const char *type;    /* by what it called; NULL: not known */
	bool in_interpreter; /* which executes a function of its language */
};

static struct caller user_caller(struct recording *rec, const struct stack_record *r)
{
	const uint64_t *frames = r->frames + r->kernel_bytes / 8;
	const struct name_owner owner = record_owner(r);
	struct caller c = { 0 };

	for (size_t i = 0; i < r->user_bytes / 8; i++) {
		uint64_t addr = frames[i];
		/* The first one is behind the instruction of a system call, most often. */
		const bool is_return = record_names_take_mark(&owner, &addr);
		const char *name;
		struct sym_frame f;

		sym_user_lookup(rec->user, owner.pid, owner.time, addr, is_return, &f);
		name = f.name ? sym_demangle(rec->demangler, f.name) : NULL;
		if (!is_library(&f, name)) {
			c.in_interpreter = f.kind == SYM_USER && lock_is_interpreter(f.module);
			c.name = name;
			c.addr = addr;
			break;
		}
		if (!c.type && name && !f.is_place)
			c.type = user_type(name);
		if (name && !f.is_place) /* if there is no better one */
			c.name = name;
	}
	return c;
}

/* ---- words */

static int keep(struct lock_list *list, char *text, const char **out)
{
	if (!text || RP_PUSH(list->text, list->ntexts, list->texts_capacity, text)) {
		free(text);
		return -ENOMEM;
	}
	*out = text;
	return 0;
}

static char *format_hex(uint64_t number)
{
	char *text;

	return asprintf(&text, "0x%" PRIx64, number) < 0 ? NULL : text;
}

/* A symbol, and the offset from it. The caller frees it. */
static char *with_offset(const char *name, uint64_t offset)
{
	char *text;

	if (!offset)
		return strdup(name);
	return asprintf(&text, "%s+0x%" PRIx64, name, offset) < 0 ? NULL : text;
}

/* A variable of one of the files that the stack goes through. */
static void find_variable(struct recording *rec, const struct stack_record *r,
			  struct sym_frame *out)
{
	const uint64_t *frames = r->frames + r->kernel_bytes / 8;
	const struct name_owner owner = record_owner(r);
	const struct sym_image *last = NULL;

	for (size_t i = 0; i < r->user_bytes / 8; i++) {
		uint64_t addr = frames[i];
		const bool is_return = record_names_take_mark(&owner, &addr);
		struct sym_frame f;

		sym_user_lookup(rec->user, owner.pid, owner.time, addr, is_return, &f);
		if (!f.image || f.image == last)
			continue;
		last = f.image;
		if (sym_user_data(&f, addr, r->tag, out))
			return;
	}
}

/* The name of a lock. The caller frees it. */
static char *name_lock(struct recording *rec, const struct stack_record *r, uint32_t how)
{
	struct sym_frame f = { 0 };

	if (how & LOCK_GIL)
		return strdup("interpreter lock");
	if (how & LOCK_MMAP)
		return strdup("mmap_lock");
	if (how & LOCK_SIGHAND)
		return strdup("siglock");
	if (how & LOCK_FUTEX)
		find_variable(rec, r, &f);
	else
		sym_kernel_lookup(rec->kernel, r->tag, false, &f);
	return f.name ? with_offset(sym_demangle(rec->demangler, f.name), f.offset)
		      : format_hex(r->tag);
}

static int word_of_caller(struct lock_list *list, const struct caller *c, const char **out)
{
	if (c->name) {
		*out = c->name;
		return 0;
	}
	if (!c->addr) {
		*out = "[unknown]";
		return 0;
	}
	return keep(list, format_hex(c->addr), out);
}

/* The function that the thread executes, rather than the interpreter's at work on it. */
static void managed_caller(struct recording *rec, const struct stack_record *r, struct caller *c)
{
	struct report_frame f;

	if ((c->in_interpreter || !(c->name || c->addr)) && lock_managed_leaf(rec, r, &f))
		c->name = f.name;
}

/* Who had the interpreter lock: where it was in its own program. */
static int describe_holder(struct recording *rec, struct lock_list *list, struct lock_item *item)
{
	const struct stack_record *r = item->releaser->record;
	struct report_frame f;
	char *text;

	if (!(uint32_t)r->pid_tgid)
		item->word[LOCK_WORD_RELEASER] = r->comm;
	else if (asprintf(&text, "thread %u", (uint32_t)r->pid_tgid) < 0 ||
		 keep(list, text, &item->word[LOCK_WORD_RELEASER]))
		return -ENOMEM;
	if (!lock_managed_leaf(rec, r, &f)) {
		item->word[LOCK_WORD_RELEASED] = "[no frames]";
		return 0;
	}
	return keep(list, lock_managed_place(&f), &item->word[LOCK_WORD_RELEASED]);
}

static int describe_releaser(struct recording *rec, struct lock_list *list, struct lock_item *item)
{
	const struct stack_record *r = item->releaser->record;
	struct caller c = { 0 };

	if (item->how & LOCK_GIL)
		return describe_holder(rec, list, item);
	item->word[LOCK_WORD_RELEASER] = r->comm;
	if (item->how & LOCK_FUTEX)
		c = user_caller(rec, r);
	managed_caller(rec, r, &c);
	if (!c.name && !c.addr)
		c.name = kernel_caller(rec, r);
	return word_of_caller(list, &c, &item->word[LOCK_WORD_RELEASED]);
}

int lock_describe(struct recording *rec, struct lock_list *list, struct lock_item *item)
{
	const struct stack_record *r = item->waiter->record;
	const struct lock *l = rec->ctx;
	struct caller c = { 0 };
	char *text = NULL;
	int err = keep(list, name_lock(rec, r, item->how), &item->word[LOCK_WORD_LOCK]);

	item->word[LOCK_WORD_TYPE] = l->options->hold ? "umutex" : lock_kernel_type(item->how);
	if (item->how & LOCK_FUTEX) {
		c = user_caller(rec, r);
		managed_caller(rec, r, &c);
		if (c.type && !(item->how & (LOCK_FUTEX_PI | LOCK_FUTEX_ANY | LOCK_GIL)))
			item->word[LOCK_WORD_TYPE] = c.type;
	} else {
		c.name = kernel_caller(rec, r);
	}
	if (!err)
		err = word_of_caller(list, &c, &item->word[LOCK_WORD_CALLER]);
	item->word[LOCK_WORD_COMMAND] = r->comm;
	text = NULL;
	if (!err && asprintf(&text, "%u", (uint32_t)r->pid_tgid) < 0)
		err = -ENOMEM;
	if (!err)
		err = keep(list, text, &item->word[LOCK_WORD_THREAD]);
	item->word[LOCK_WORD_OUTCOME] = lock_outcome_name(item->outcome);
	item->word[LOCK_WORD_RELEASER] = item->word[LOCK_WORD_RELEASED] = "";
	if (!err && item->releaser)
		err = describe_releaser(rec, list, item);
	return err;
}
