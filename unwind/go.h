/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules for Go's code, which no .eh_frame describes: its own table for walks, .gopclntab, survives
 * strip. Go 1.16 and later (src/runtime/symtab.go, struct pcHeader, _func).
 */
#ifndef UNWIND_GO_H
#define UNWIND_GO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rawprof/unwind.h>

#include "image.h"

struct unwind_go {
	uint8_t *data; /* NULL: there is none */
	size_t size;
	uint64_t text; /* address that its offsets count from */
};

/* Reads it from @m. -ENODATA: it has none that is understood; -EFBIG, -ENOMEM, -EIO. */
int unwind_go_read(struct unwind_go *go, const struct unwind_image *m);
void unwind_go_free(struct unwind_go *go);

typedef int unwind_go_row_fn(void *ctx, uint64_t addr, const struct unwind_rule *rule);
/* Tells @row of the rules from @start to @end, as unwind_cfi_run() does. 0, or what @row said. */
int unwind_go_fill(const struct unwind_go *go, uint64_t start, uint64_t end, unwind_go_row_fn *row,
		   void *ctx);

/*
 * The function at @vaddr: where it begins, and its name, @len bytes of the table without a NUL.
 * False: there is none.
 */
bool unwind_go_find(const struct unwind_go *go, uint64_t vaddr, const char **name, size_t *len,
		    uint64_t *start);

/* Tells @fn of each function: from @start to @end, its name in the table. 0, or what @fn said. */
typedef int unwind_go_function_fn(void *ctx, const char *name, uint64_t start, uint64_t end);
int unwind_go_each(const struct unwind_go *go, unwind_go_function_fn *fn, void *ctx);

#endif
