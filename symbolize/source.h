/* SPDX-License-Identifier: BSD-2-Clause */
/* The source of one ELF file's code, each address of it asked of the debug data once. */
#ifndef SYMBOLIZE_SOURCE_H
#define SYMBOLIZE_SOURCE_H

#include "base/hash.h"
#include "lines_aside.h"

/*
 * An address that was asked about, and what came of it: lines[first] to lines[first + count - 1].
 * key is the address twice, plus 1 if inlined functions were wanted.
 */
struct sym_asked {
	uint64_t key;
	uint32_t first, count;
};

struct sym_source {
	struct sym_lines *found; /* NULL: not opened, or nothing to be had */
	bool opened;
	bool unreadable;       /* there is debug data, but none that can be read */
	struct hash_map asked; /* of struct sym_asked */
	struct sym_line *lines;
	size_t line_count, line_capacity;
};

/*
 * As sym_user_source(). @data is the object with the debug data of @code; both are opened at the
 * first question and must outlive @s.
 */
size_t sym_source_find(struct sym_source *s, const struct sym_object *data,
		       const struct sym_object *code, uint64_t vaddr, bool inlined,
		       struct sym_line *out, size_t max);
void sym_source_free(struct sym_source *s);

#endif
