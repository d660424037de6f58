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

#include "generated_time.h"

struct record_table_store;
struct stored_file;

/* Bytes that are looked at at once; PCRE maps as many, and Mono makes its code in such pieces. */
#define GENERATED_CODE_MAX (64U << 10)

/*
 * The table of the functions in @bytes of memory of process @pid, executable and of no file; at
 * most GENERATED_CODE_MAX, whole pages. Addresses in it count from @start. @computing: by all of
 * their instructions, which takes 0.1 ms for 4 KB, and 16 ms for 64 KB that want to be slow; or if
 * there is no time for that *@waits is set: then, and if @computing is NULL, by how they begin.
 * NULL: none are known there.
 */
const struct stored_file *record_generated_code(struct record_table_store *s, uint32_t pid,
						uint64_t start, size_t bytes,
						struct generated_time *computing, bool *waits);

#endif
