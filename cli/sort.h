/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --sort: the column by which a table is ordered, each command's own. Both return 0; -EINVAL after
 * a message that says which columns there are: bad usage.
 */
#ifndef CLI_SORT_H
#define CLI_SORT_H

#include <rawprof/grid.h>

#include "options.h"

/* A table of functions: self or total. */
int sort_stacks(const struct options *opt, struct report_options *show);
/* By --sort or this column, with --top or so many rows. */
int sort_grid(const struct options *opt, struct report_grid *grid, const char *column,
	      unsigned int top);
/* What has no columns. */
int sort_nothing(const struct options *opt);

#endif
