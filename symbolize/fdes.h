/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the functions of a file begin that has no symbols: each has an FDE in .eh_frame. */
#ifndef SYMBOLIZE_FDES_H
#define SYMBOLIZE_FDES_H

#include <stdbool.h>
#include <stdint.h>

#include "object.h"

struct sym_fdes;

/*
 * Reads .eh_frame_hdr, and keeps 8 bytes a function, or .eh_frame, and keeps 16. @object is read
 * later too. Errors as of unwind_table_build().
 */
int sym_fdes_read(struct sym_fdes **out, const struct sym_object *object);
void sym_fdes_close(struct sym_fdes *f);

/* How many indices there are. */
size_t sym_fdes_count(const struct sym_fdes *f);

/*
 * Where the function that contains @vaddr starts, and an index of its own; where two overlap it is
 * the one that starts last. false if none is described there.
 */
bool sym_fdes_find(const struct sym_fdes *f, uint64_t vaddr, uint64_t *start, size_t *index);

#endif
