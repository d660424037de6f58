/* SPDX-License-Identifier: BSD-2-Clause */
/* C++ and Rust names made readable, by libiberty where rawprof was built with it. */
#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBIBERTY
#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#else
#include <demangle.h>
#endif
#endif

#include <rawprof/symbolize.h>

#include "base/hash.h"
#include "strings.h"

/*
 * What is known so far, by the pointer to the mangled name in the strings. What did not make sense
 * is kept with itself as its meaning.
 */
struct known {
	const char *mangled, *readable;
};

struct sym_demangler {
	struct sym_strings strings;
	struct hash_map known;
};

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

#ifdef HAVE_LIBIBERTY

struct text {
	char bytes[SYM_DEMANGLED_MAX + 1];
	size_t len;
	jmp_buf full;
};

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
		longjmp(t->full, 1);
}

/* False if @mangled means nothing. Old Rust names look like C++, so Rust is first. */
static bool demangle(const char *mangled, struct text *t)
{
	const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP;

	t->len = 0;
	if (setjmp(t->full)) {
		memcpy(t->bytes + SYM_DEMANGLED_MAX - 3, "...", 3);
		return true;
	}
	if (rust_demangle_callback(mangled, options, append, t))
		return true;
	t->len = 0;
	return cplus_demangle_v3_callback(mangled, options, append, t);
}

#else

struct text {
	char bytes[1];
	size_t len;
};

static bool demangle(const char *mangled, struct text *t)
{
	(void)mangled;
	(void)t;
	return false;
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

	if (mangled && t && !demangle(mangled, t)) {
		readable = name;
	} else if (mangled && t) {
		t->bytes[t->len] = '\0';
		suffix = strchr(suffix, '@');
		readable = sym_strings_join(&d->strings, t->bytes, suffix ? suffix : "");
	}
	free(mangled);
	free(t);
	return readable;
}

const char *sym_demangle(struct sym_demangler *d, const char *name)
{
	const char *mangled, *readable;
	struct known *k;

	if (!sym_can_demangle() || (strncmp(name, "_Z", 2) && strncmp(name, "_R", 2)))
		return name;
	mangled = sym_strings_add(&d->strings, name, strlen(name));
	k = mangled ? rp_hash_add(&d->known, &mangled) : NULL;
	if (!k)
		return name;
	readable = k->readable ? k->readable : work_out(d, mangled);
	k->readable = readable;
	return !readable || readable == mangled ? name : readable;
}
