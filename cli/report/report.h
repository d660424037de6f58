/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rawprof report, a saved profile shown again:
 *
 *	report.c	from the file to the output
 *	change.c	what the options make of a profile before it is shown
 *	resolve.c	names from files that come later
 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cli/output.h"

struct report_own {
	const char *filter;  /* an expression: report_select() */
	const char *between; /* seconds since the beginning: "T1,T2" */
	const char *by;	     /* keys: report_group() */
	const char *resolve; /* files with symbols, with commas between them */
	const char *callers; /* of this function, */
	const char *callees; /* or by it */
	bool tree;	     /* a tree in place of the table */
};

/*
 * Puts another profile in the place of file->report: what --filter, --between, --callers and
 * --callees leave of it, with the names that the format wants. 0 or a negative errno after a
 * message; *usage: the options ask for what cannot be.
 */
int report_change(const struct options *opt, struct report_file *file, bool *usage);

/* The profile with names from these files. 0 or a negative errno after a message. */
int report_resolve(const char *list, const struct report *from, struct report **out);

#endif
