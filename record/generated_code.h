/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that a process has generated, each with a frame of its own size, as PCRE makes one of
 * each pattern. They are found in its memory by how they begin, and get a table as a file's have.
 */
#ifndef RECORD_GENERATED_CODE_H
#define RECORD_GENERATED_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_table_store;
struct stored_file;
struct sym_proc_map;

/* Bytes of a mapping; those who generate more have registers to walk by, or tables. */
#define GENERATED_CODE_MAX (256U << 10)
/* So many are looked at for nothing; PCRE maps as many at a time. */
#define GENERATED_CODE_FEW (64U << 10)

/*
 * The table of the functions in @m, an executable mapping of process @pid without a file. Addresses
 * in it count from the mapping's start. NULL: none are known there.
 */
const struct stored_file *record_generated_code(struct record_table_store *s, uint32_t pid,
						const struct sym_proc_map *m);

#endif
