/* SPDX-License-Identifier: BSD-2-Clause */
/* The walk as one page that needs nothing else: its script, and the JSON object that it shows. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <rawprof/report.h>

#include "step.h"

int step_html(struct stepping *s)
{
	const char *name = s->e->entry ? s->e->entry->code.name : "a log";
	struct stepping inside = *s;
	char *json = NULL;
	size_t size = 0;
	int err;

	inside.out = open_memstream(&json, &size);
	if (!inside.out)
		return -ENOMEM;
	err = step_json(&inside);
	if (fclose(inside.out) && !err)
		err = -ENOMEM;
	if (!err)
		err = report_write_walk(s->out, name, json);
	free(json);
	return err;
}
