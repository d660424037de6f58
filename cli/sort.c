/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rawprof/loader.h>

#include "sort.h"

static int no_column(const char *name, const char *columns)
{
	return rp_fail(-EINVAL, "--sort: no column '%s': there are %s", name, columns);
}

int sort_stacks(const struct options *opt, struct report_options *show)
{
	if (!opt->sort)
		return 0;
	if (strcmp(opt->sort, "self") && strcmp(opt->sort, "total"))
		return no_column(opt->sort, "self, total");
	show->sort = *opt->sort == 's' ? REPORT_BY_SELF : REPORT_BY_TOTAL;
	return 0;
}

int sort_grid(const struct options *opt, struct report_grid *grid, const char *column,
	      unsigned int top)
{
	const char *name = opt->sort ? opt->sort : column;
	const int found = report_grid_column(grid, name);
	size_t n, used = 0;
	const struct report_column *all = report_grid_columns(grid, &n);
	char columns[512] = "";

	if (found >= 0)
		return report_grid_sort(grid, (unsigned int)found, false,
					opt->show.top_functions ? opt->show.top_functions : top);
	for (size_t i = 0; i < n && used < sizeof(columns); i++)
		used += (size_t)snprintf(columns + used, sizeof(columns) - used, "%s%s",
					 i ? ", " : "", all[i].key);
	return no_column(name, columns);
}

int sort_nothing(const struct options *opt)
{
	return opt->sort ? rp_fail(-EINVAL, "--sort is for tables, and this is none") : 0;
}
