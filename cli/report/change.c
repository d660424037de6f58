/* SPDX-License-Identifier: BSD-2-Clause */
/* What the options make of a saved profile before it is shown. */
#include <errno.h>

#include <rawprof/loader.h>

#include "report.h"

/* The new one takes the place of the old one. */
static int replace(struct report_file *file, int err, struct report *r)
{
	if (err)
		return err;
	report_free(file->report);
	file->report = r;
	return 0;
}

static int put_lines_in_names(const struct options *opt, struct report_file *file)
{
	struct report *r = NULL;
	int err = 0;

	if (file->show.lines && opt->format->by_name)
		err = replace(file, report_lines_in_names(file->report, &r), r);
	return err;
}

int report_change(const struct options *opt, struct report_file *file, bool *usage)
{
	int err = 0;

	*usage = false;
	for (; !err && file; file = file->next)
		if (file->report)
			err = put_lines_in_names(opt, file);
	return err;
}
