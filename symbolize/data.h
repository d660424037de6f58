/* SPDX-License-Identifier: BSD-2-Clause */
/* The variables of one ELF file, by address. */
#ifndef SYMBOLIZE_DATA_H
#define SYMBOLIZE_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "symtab.h"

struct sym_data;

/*
 * Reads the objects in the tables that @t was read from; @t must outlive it. None is no error.
 * -ENOMEM.
 */
int sym_data_open(struct sym_data **out, struct sym_symtab *t);
void sym_data_close(struct sym_data *d);

/* The innermost variable that contains @vaddr, and where it starts. False if there is none. */
bool sym_data_lookup(struct sym_data *d, uint64_t vaddr, const char **name, uint64_t *start);

#endif
