/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of Firefox Profiler: an object of columns of equal length, and that length. */
#ifndef REPORT_COLUMNS_H
#define REPORT_COLUMNS_H

#include "report/json_out.h"
#include "base/hash.h"

/* Cells are numbers but for these. */
#define CELL_NULL INT64_MIN
#define CELL_FALSE (INT64_MIN + 1)
#define MAX_COLUMNS 10

/* Rows of so many cells, each row once. */
#define COLUMNS(width) ((struct hash_map){ .key_size = (width)*8, .size = (width)*8 })

/*
 * The members of the object; names in the order of cells, between spaces. A name behind '~' is of
 * times in nanoseconds, written as milliseconds to the nanosecond; cells of '-' are not written.
 */
void report_columns_put(struct out *o, const char *names, const int64_t *cells, size_t nrows);
void report_out_ms(struct out *o, uint64_t ns);
void report_out_us(struct out *o, uint64_t ns); /* as microseconds */

#endif
