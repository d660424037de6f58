/* SPDX-License-Identifier: BSD-2-Clause */
/* A window as one line of JSON, for a pipe. */
#ifndef CLI_TOP_JSON_H
#define CLI_TOP_JSON_H

#include <stdio.h>

#include "model.h"

/*
 * {"time_ns":N,"interval_ns":N,"cpus":N,"machine":{FIGURE:N,...},TABLE:[{COLUMN:VALUE,...},...],
 * ...}: rows as they are shown, the first of them; times in ns, sums of the interval. A table that
 * nothing fills is null. 0 or a negative errno.
 */
int top_json(const struct top_window *w, size_t rows, FILE *out);

#endif
