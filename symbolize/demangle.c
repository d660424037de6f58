/* SPDX-License-Identifier: BSD-2-Clause */
/* C++ and Rust names made readable, by libiberty where rawprof was built with it. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#ifdef HAVE_LIBIBERTY
#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#else
#include <demangle.h>
#endif
#endif

#include <rawprof/symbolize.h>

#include "base/clock.h"
#include "base/hash.h"
#include "strings.h"

/*
 * What is known so far, by the pointer to the mangled name in the strings. What did not make sense
 * is kept with itself as its meaning.
 */
struct known {
	const char *mangled, *readable;
};

enum { KEPT_MAX = 16384 }; /* between two times that names are asked */

struct sym_demangler {
	struct sym_strings strings;
	struct hash_map known;
	size_t names, given_up;
	uint64_t spent; /* ns of CPU time, on names that might take long */
	uint64_t asked; /* when there was the last of these */
};

enum outcome { NO_NAME, READABLE, GIVEN_UP };

#ifdef HAVE_LIBIBERTY

enum {
	NAME_US = 20000,     /* of CPU time; an honest name takes a few */
	ALL_NS = 1000000000, /* for names that might take long, and for each of them: */
	EACH_NS = 20000,
	AGAIN = 50, /* and of all time that passes 2 %: a recording may last for weeks */
	PIECES_MAX = 16 * SYM_DEMANGLED_MAX, /* some are empty */
};

struct text {
	char bytes[SYM_DEMANGLED_MAX + 1];
	size_t len, pieces;
	sigjmp_buf out;
};

enum { FULL = 1, LATE };

/*
 * A name of a hundred bytes can stand for more text than there is memory, by references to itself,
 * and the demangler knows no end: being full leaves it from here. It keeps nothing that would need
 * to be given back, but for one identifier of Rust's in letters beyond ASCII.
 */
static void append(const char *s, size_t n, void *ctx)
{
	struct text *t = ctx;
	size_t capacity = SYM_DEMANGLED_MAX - t->len, fits = n < capacity ? n : capacity;

	if (fits)
		memcpy(t->bytes + t->len, s, fits);
	t->len += fits;
	if (n > capacity)
		siglongjmp(t->out, FULL);
	if (++t->pieces > PIECES_MAX)
		siglongjmp(t->out, LATE);
}

/*
 * Of C++ it is exponential in several ways before it has a byte of text, and there is nothing to
 * count its steps by: a signal leaves it. That may be at any place, as it allocates nothing. Rust's
 * identifiers do, but each step that makes its names grow makes a piece of text.
 */
static _Thread_local sigjmp_buf *volatile way_out;

static void leave(int sig)
{
	(void)sig;
	if (way_out)
		siglongjmp(*way_out, LATE);
}

static void prepare_alarm(void)
{
	struct sigaction action = { .sa_handler = leave, .sa_flags = SA_RESTART | SA_NODEFER };
	sigset_t set;

	sigaction(SIGVTALRM, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGVTALRM);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* 0: never. It goes off again and again, for the first time may be another thread's. */
static void set_alarm(sigjmp_buf *out, suseconds_t us)
{
	way_out = out;
	setitimer(ITIMER_VIRTUAL, &(struct itimerval){ { 0, us }, { 0, us } }, NULL);
}

/*
 * What refers to a part of itself (S_, S0_, T_ ... of C++, B_ ... of Rust) may be larger than it
 * looks. Without that, the time for a name grows as its length does.
 */
static bool refers_to_itself(const char *mangled)
{
	for (const char *p = mangled; (p = strpbrk(p, "STB")); p++) {
		if (p[1] == '_' || (p[1] >= '0' && p[1] <= '9') || (p[1] >= 'A' && p[1] <= 'Z') ||
		    (p[1] >= 'a' && p[1] <= 'z' && *p == 'B'))
			return true;
	}
	return false;
}

/* NO_NAME if @mangled means nothing. Old Rust names look like C++, so Rust is first. */
static enum outcome read_name(const char *mangled, bool in_time, struct text *t)
{
	const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP;
	int is_name, left;

	t->len = t->pieces = 0;
	left = sigsetjmp(t->out, 0);
	if (!left) {
		if (rust_demangle_callback(mangled, options, append, t))
			return READABLE;
		t->len = t->pieces = 0;
		if (in_time)
			set_alarm(&t->out, NAME_US);
		is_name = cplus_demangle_v3_callback(mangled, options, append, t);
		if (in_time)
			set_alarm(NULL, 0);
		return is_name ? READABLE : NO_NAME;
	}
	if (in_time)
		set_alarm(NULL, 0);
	if (left == LATE)
		return GIVEN_UP;
	memcpy(t->bytes + SYM_DEMANGLED_MAX - 3, "...", 3);
	return READABLE;
}

static void pay_back(struct sym_demangler *d)
{
	const uint64_t now = rp_monotonic_ns(), paid = (now - d->asked) / AGAIN;

	d->spent -= paid < d->spent ? paid : d->spent;
	d->asked = now;
}

static enum outcome demangle(struct sym_demangler *d, const char *mangled, struct text *t)
{
	enum outcome outcome;
	uint64_t begin;

	if (!refers_to_itself(mangled))
		return read_name(mangled, false, t);
	pay_back(d);
	if (d->spent > ALL_NS + (uint64_t)++d->names * EACH_NS)
		return GIVEN_UP;
	begin = rp_thread_cpu_ns();
	outcome = read_name(mangled, true, t);
	d->spent += rp_thread_cpu_ns() - begin;
	return outcome;
}

#else

struct text {
	char bytes[1];
	size_t len;
};

static void prepare_alarm(void)
{
}

static enum outcome demangle(struct sym_demangler *d, const char *mangled, struct text *t)
{
	(void)d;
	(void)mangled;
	(void)t;
	return NO_NAME;
}

#endif

/*
 * What is behind the mangled name and not part of it: "@plt"; and for Rust, the number that LLVM
 * gives to a local function made global (".llvm.1234").
 */
static const char *find_suffix(const char *name)
{
	const char *at = strchr(name, '@'), *llvm = strstr(name, ".llvm.");

	if (!at)
		at = name + strlen(name);
	return llvm && llvm < at ? llvm : at;
}

/* A copy in @d->strings of what @name means; itself if it means nothing; NULL without memory. */
static const char *work_out(struct sym_demangler *d, const char *name)
{
	const char *suffix = find_suffix(name), *readable = NULL;
	char *mangled = strndup(name, suffix - name);
	struct text *t = malloc(sizeof(*t));
	enum outcome outcome;

	if (!mangled || !t)
		goto out;
	outcome = demangle(d, mangled, t);
	d->given_up += outcome == GIVEN_UP;
	if (outcome == READABLE) {
		t->bytes[t->len] = '\0';
		suffix = strchr(suffix, '@');
		readable = sym_strings_join(&d->strings, t->bytes, suffix ? suffix : "");
	} else {
		readable = name;
	}
out:
	free(mangled);
	free(t);
	return readable;
}

const char *sym_demangler_cut(struct sym_demangler *d, const char *name)
{
	char text[SYM_DEMANGLED_MAX];
	const char *kept;

	if (strnlen(name, SYM_DEMANGLED_MAX + 1) <= SYM_DEMANGLED_MAX)
		return name;
	memcpy(text, name, sizeof(text) - 3);
	memcpy(text + sizeof(text) - 3, "...", 3);
	kept = sym_strings_add(&d->strings, text, sizeof(text));
	return kept ? kept : name;
}

const char *sym_demangle(struct sym_demangler *d, const char *name)
{
	const char *mangled, *readable;
	struct known *k;

	if (!sym_can_demangle() || (strncmp(name, "_Z", 2) && strncmp(name, "_R", 2)) ||
	    strnlen(name, SYM_DEMANGLED_MAX + 1) > SYM_DEMANGLED_MAX)
		return sym_demangler_cut(d, name);
	mangled = sym_strings_add(&d->strings, name, strlen(name));
	k = mangled ? rp_hash_add(&d->known, &mangled) : NULL;
	if (!k)
		return name;
	readable = k->readable ? k->readable : work_out(d, mangled);
	k->readable = readable;
	return !readable || readable == mangled ? name : readable;
}

void sym_demangler_rest(struct sym_demangler *d)
{
	if (d->known.count <= KEPT_MAX && d->strings.count <= 2 * KEPT_MAX)
		return;
	sym_strings_free(&d->strings);
	rp_hash_free(&d->known);
}

size_t sym_demangler_given_up(const struct sym_demangler *d)
{
	return d->given_up;
}

bool sym_can_demangle(void)
{
#ifdef HAVE_LIBIBERTY
	return true;
#else
	return false;
#endif
}

int sym_demangler_open(struct sym_demangler **out)
{
	struct sym_demangler *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->known = HASH_MAP(struct known, mangled);
	prepare_alarm();
	*out = d;
	return 0;
}

void sym_demangler_close(struct sym_demangler *d)
{
	if (!d)
		return;
	sym_strings_free(&d->strings);
	rp_hash_free(&d->known);
	free(d);
}
