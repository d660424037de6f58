/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions without symbols, called by where they are. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "symtab.h"

/* Appends; returns the end. */
static char *put(char *at, const char *s, size_t n)
{
	memcpy(at, s, n);
	return at + n;
}

/* "[libc.so.6+0x27190]", "[vdso+0x1000]"; NULL without memory. Asked often, so not by printf. */
static const char *name_of_place(struct sym_strings *strings, const char *path, uint64_t start)
{
	static const char deleted[] = " (deleted)";
	const char *base = strrchr(path, '/');
	char place[NAME_MAX + 32], *at = place;
	size_t len;

	base = base ? base + 1 : path + (*path == '[');
	len = strlen(base);
	if (len >= sizeof(deleted) && !strcmp(base + len - strlen(deleted), deleted))
		len -= strlen(deleted);
	else if (*path == '[' && len)
		len--;
	at = put(at, "[", 1);
	at = put(at, base, len < NAME_MAX ? len : NAME_MAX);
	at = put(at, "+0x", 3);
	for (int shift = start ? (63 - __builtin_clzll(start)) / 4 * 4 : 0; shift >= 0; shift -= 4)
		*at++ = "0123456789abcdef"[start >> shift & 15];
	at = put(at, "]", 1);
	return sym_strings_add(strings, place, at - place);
}

/* Where the name of FDE @index is kept; NULL if it is not. */
static const char **find_kept(struct sym_symtab *t, const char *path, size_t index)
{
	if (!t->places) {
		t->places = calloc(sym_fdes_count(t->fdes), sizeof(*t->places));
		t->places_in = sym_strings_add(t->strings, path, strlen(path));
	}
	return t->places && t->places_in && !strcmp(t->places_in, path) ? &t->places[index] : NULL;
}

bool sym_symtab_place(struct sym_symtab *t, uint64_t vaddr, const char *path, const char **name,
		      uint64_t *start)
{
	const char **kept, *made;
	uint64_t from;
	size_t index;

	if (!t->fdes_read) {
		t->fdes_read = true;
		sym_fdes_read(&t->fdes, t->object);
	}
	if (!t->fdes || !sym_fdes_find(t->fdes, vaddr, &from, &index))
		return false;
	kept = find_kept(t, path, index);
	made = kept && *kept ? *kept : name_of_place(t->strings, path, from);
	if (!made)
		return false;
	if (kept)
		*kept = made;
	*name = made;
	*start = from;
	return true;
}
