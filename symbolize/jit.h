/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of generated code that a process writes to /tmp/perf-PID.map. */
#ifndef SYMBOLIZE_JIT_H
#define SYMBOLIZE_JIT_H

#include <stdbool.h>
#include <stdint.h>

#include "strings.h"

struct sym_jit;

/*
 * Opens the map of process @pid: in its own /tmp, under its pid in its own namespace. It stays
 * open, and is read when it is asked. -ENOENT if there is none, -EPERM if it is not a plain file of
 * that user's or root's own, -ESRCH, -ENOMEM.
 */
int sym_jit_open(struct sym_jit **out, const char *proc, uint32_t pid);
void sym_jit_close(struct sym_jit *j);

/* The strings of sym_jit_lookup() have been freed. */
void sym_jit_forget_names(struct sym_jit *j);

/* The path by which the process knows the file; lives as long as @j. */
const char *sym_jit_path(const struct sym_jit *j);

/*
 * What @addr is and where that starts, by the last line that covers it; the name is kept in
 * @strings. Reads what was added to the file if nothing known covers it and it @may_read.
 */
bool sym_jit_lookup(struct sym_jit *j, struct sym_strings *strings, uint64_t addr, bool may_read,
		    const char **name, uint64_t *start);
uint64_t sym_jit_bytes(const struct sym_jit *j); /* of memory, with those names */
uint64_t sym_jit_ns(const struct sym_jit *j);	 /* of CPU time, for reading */

#endif
