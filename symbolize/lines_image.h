/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libelf gets to see of a file whose owner may change it meanwhile: it allocates what the
 * headers say, so they must be those that were looked at.
 */
#ifndef SYMBOLIZE_LINES_IMAGE_H
#define SYMBOLIZE_LINES_IMAGE_H

#include <stdbool.h>

#include "object.h"

/*
 * libdw opens what a split unit names, and what .gnu_debugaltlink does, blocking, be it a pipe or a
 * device: only for files of root and of those whom we work for.
 */
bool sym_lines_may_name_others(const struct sym_object *data);
/* It is one of theirs, wherever it is. */
bool sym_lines_are_ours(const struct sym_object *data);
/*
 * And of these the split unit @name, of a unit that was compiled in @dir, where the file of @data
 * is or there: whoever owns the directory may have put a pipe there.
 */
bool sym_lines_may_split(const struct sym_object *data, const char *dir, const char *name);

struct sym_lines_image {
	char *bytes; /* as long as the file, of which what was not read takes no memory; NULL */
	size_t size;
};

/*
 * The file of @data with its headers and its debug sections, of which @most bytes are read at most.
 * 0; -ENODATA: it has none, or too many; -ENOMEM.
 */
int sym_lines_image_read(const struct sym_object *data, uint64_t most, struct sym_lines_image *out);
void sym_lines_image_free(struct sym_lines_image *image);

#endif
