/* SPDX-License-Identifier: BSD-2-Clause */
/* Source lines of Go's functions, which need no debug data. */
#ifndef SYMBOLIZE_GO_H
#define SYMBOLIZE_GO_H

#include <rawprof/symbolize.h>

#include "symtab.h"

/* As sym_user_source(), of the address @vaddr of the file; 0: it is in no function of Go. */
size_t sym_go_source(struct sym_symtab *t, uint64_t vaddr, bool inlined, struct sym_line *out,
		     size_t max);

#endif
