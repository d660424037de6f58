/* SPDX-License-Identifier: BSD-2-Clause */
/* Which processes have code of their own making, and what it is called. */
#ifndef SYMBOLIZE_JITS_H
#define SYMBOLIZE_JITS_H

#include <rawprof/symbolize.h>

#include "base/hash.h"
#include "file.h"
#include "jit.h"

/* The JIT map of one life of a pid, or that it had none when it was last looked for. */
struct sym_known_jit {
	uint32_t pid;
	uint64_t born;
	uint64_t asked; /* the time of the question upon which it was looked for */
	struct sym_jit *jit;
	uid_t holder;	/* in whose share its descriptor is, */
	uint64_t bytes; /*   and so many, */
	uint64_t ns;	/*   and for so long it was read */
	struct sym_strings names;
};

/* All zeroes but for .proc and .files, the owner's. */
struct sym_jits {
	struct sym_known_jit *items;
	size_t count, capacity;
	struct hash_index by_pid; /* of their numbers */
	const char *proc;
	struct sym_files *files; /* which are held open beside them */
};

void sym_jits_free(struct sym_jits *js);

/*
 * The name of code at @addr that process @pid, @born then, has generated, at @time. .module lives
 * as long as its map, .name until sym_jits_rest().
 */
bool sym_jits_name(struct sym_jits *js, uint32_t pid, uint64_t born, uint64_t time, uint64_t addr,
		   struct sym_frame *out);

/* Opens the map of a process, if it has one and it is not open. -ESRCH, -ENOMEM. */
int sym_jits_keep(struct sym_jits *js, uint32_t pid);

/*
 * The maps of processes that have ended go, without memory for the index others too; and all names,
 * for a compiler may make new ones without end.
 */
void sym_jits_rest(struct sym_jits *js);

#endif
