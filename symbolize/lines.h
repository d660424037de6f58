/* SPDX-License-Identifier: BSD-2-Clause */
/* Source lines and inlined functions of one ELF file, by libdw; who has it: lines_aside.h. */
#ifndef SYMBOLIZE_LINES_H
#define SYMBOLIZE_LINES_H

#include <rawprof/symbolize.h>

#include "object.h"

struct sym_dwarf;

/*
 * Opens the debug data in the file of @data, which describes the code of @code (the same object, or
 * the one that @data was separated from); both must outlive it. Reads where each unit lies; the
 * rest is read unit by unit. @ready is asked whether to go on, NULL: nobody is, once the file is in
 * memory, of which @most bytes are read at most. -ENODATA: there is none that libdw can read;
 * -ENOMEM.
 */
int sym_dwarf_open(struct sym_dwarf **out, const struct sym_object *data,
		   const struct sym_object *code, uint64_t most, bool (*ready)(void));
void sym_dwarf_close(struct sym_dwarf *d);

/*
 * Fills in @out as sym_user_source() does, at most @max, and returns how many. Strings live as long
 * as @d.
 */
size_t sym_dwarf_find(struct sym_dwarf *d, uint64_t vaddr, bool inlined, struct sym_line *out,
		      size_t max);
/* False: it took too much, all together or of who asks (lines_budget.h): nothing is found. */
bool sym_dwarf_may_find(const struct sym_dwarf *d);

#endif
