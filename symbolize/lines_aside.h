/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source lines and inlined functions of one ELF file, wherever they are looked up: here for files
 * of root and of those whom we work for, else in a process of its own.
 */
#ifndef SYMBOLIZE_LINES_ASIDE_H
#define SYMBOLIZE_LINES_ASIDE_H

#include "lines.h"

struct sym_lines;

/*
 * As sym_dwarf_open(). -ENODATA also: the process came to no end, or there is none.
 */
int sym_lines_open(struct sym_lines **out, const struct sym_object *data,
		   const struct sym_object *code);
void sym_lines_close(struct sym_lines *l);
/*
 * As sym_dwarf_find(). *failed: its process has ended, or takes too long: nothing more is found;
 * of one that is read here, not for who asks.
 */
size_t sym_lines_find(struct sym_lines *l, uint64_t vaddr, bool inlined, struct sym_line *out,
		      size_t max, bool *failed);

#endif
