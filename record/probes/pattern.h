/* SPDX-License-Identifier: BSD-2-Clause */
/* Patterns as a person writes them, taken apart; and names of functions matched with them. */
#ifndef RECORD_PROBES_PATTERN_H
#define RECORD_PROBES_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include <rawprof/symbolize.h>

/* What a pattern is about, as far as its text alone tells. */
enum pattern_kind {
	PATTERN_KERNEL,	 /* name */
	PATTERN_FILE,	 /* place is a path */
	PATTERN_LIBRARY, /* place is a short name of a file, or the group of a tracepoint */
	PATTERN_TARGET,	 /* any file of the target */
	PATTERN_SYSCALL, /* name is that of a call */
	PATTERN_PAIR,	 /* place:name..end_place:end_name */
	PATTERN_EVENT,	 /* place is a group */
	PATTERN_USDT,	 /* name is "name" or "provider:name"; place is a path, a short name of a
			    file, or "": any file of the target; end_name is
			    that of another probe, of a pair, or NULL */
};

enum { PATTERN_MAX = 1024 };

struct pattern {
	enum pattern_kind kind;
	const char *text; /* all of it, the caller's */
	char *place, *name, *end_place, *end_name;
	/* syscalls:sys_enter_NAME was written: as an event it is that tracepoint */
	bool was_event;
	size_t found; /* how many things it names */
};

/* -EINVAL after a message, -ENOMEM. Free with record_pattern_free(). */
int record_pattern_parse(const char *text, struct pattern *out);
void record_pattern_free(struct pattern *p);

/* Has it * ? or [ in it? */
bool record_pattern_is_glob(const char *text);

/*
 * Is the file with this path, or SONAME, one that a short name stands for: "libc" for
 * /usr/lib/libc.so.6, libc-2.31.so; "c" too; "python3.11" for itself?
 */
bool record_pattern_is_library(const char *name, const char *path);

/* ---- names of user functions */

/* A pattern made ready for many names. */
struct name_pattern {
	const char *glob;
	bool is_glob, has_args; /* of a template: "<int>" */
	char word[64];		/* that a mangled name which it matches must have in it; "": none */
};

void record_name_make(const char *glob, struct name_pattern *out);
/* Does the function called so, mangled, match? Names of parts (f.cold) do not, unless asked for. */
bool record_name_match(const struct name_pattern *p, struct sym_demangler *d, const char *name);

/* ---- the nearest name, for what was mistyped */

struct nearest {
	const char *name;
	unsigned int distance;
	char best[256];
};
void record_nearest_begin(struct nearest *n, const char *name);
void record_nearest_try(struct nearest *n, const char *candidate, const char *shown);
/* "; did you mean X?" or "", good until the next try. */
const char *record_nearest_hint(struct nearest *n, char *text, size_t size);

#endif
