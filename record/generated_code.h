/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that a process has generated, each with a frame of its own size, as PCRE makes one of
 * each pattern, and LLVM and Mono make any. They are found in its memory, by how they begin or by
 * all that they do, and get a table as a file's have.
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
/* So many are looked at where no walk went astray; PCRE maps as many at a time. */
#define GENERATED_CODE_FEW (64U << 10)

/*
 * Computing rules of instructions takes 0.2 ms for 4 KB, of code that wants to be slow 2. All of it
 * together has 50 ms, and 3 % of the time from the first on. Zeroes at the beginning.
 */
struct generated_time {
	uint64_t since_ns, spent_ns;
};

/*
 * The table of the functions in @m, an executable mapping of process @pid without a file. Addresses
 * in it count from the mapping's start. @computing: by all of their instructions, if there is time;
 * else, and if that is NULL, by how they begin. NULL: none are known there.
 */
const struct stored_file *record_generated_code(struct record_table_store *s, uint32_t pid,
						const struct sym_proc_map *m,
						struct generated_time *computing);

#endif
