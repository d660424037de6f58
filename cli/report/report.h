/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rawprof report, a saved profile shown again:
 *
 *	report.c	from the file to the output
 *	change.c	what the options make of a profile before it is shown
 *	serve.c		a profile for the browser
 *	resolve.c	names from files that come later
 *	annotate.c	instructions of a function
 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <rawprof/report.h>

#include "cli/output.h"

struct report_own {
	const char *filter;   /* an expression: report_select() */
	const char *between;  /* seconds since the beginning: "T1,T2" */
	const char *by;	      /* keys: report_group() */
	const char *resolve;  /* files with symbols, with commas between them */
	bool inlined;	      /* with it: functions that are inlined, too */
	const char *annotate; /* a function: its instructions in place of stacks, or beside them */
	const char *callers;  /* of this function, */
	const char *callees;  /* or by it */
	bool tree;	      /* a tree in place of the table */
	bool serve;	      /* to profiler.firefox.com */
};

/*
 * Puts another profile in the place of file->report: what --filter, --between, --callers and
 * --callees leave of it, with the names that the format wants. 0 or a negative errno after a
 * message; *usage: the options ask for what cannot be.
 */
int report_change(const struct options *opt, struct report_file *file, bool *usage);

/* Prints the address that shows this document in a browser, and hands it out until SIGINT or
 * SIGTERM. 0 or a negative errno after a message. */
int report_serve(const char *data, size_t size, bool quiet);

/* The profile with names from these files. 0 or a negative errno after a message. */
int report_resolve(const char *list, bool inlined, const struct report *from, struct report **out);

/* Functions of a name, taken apart. Their names are the report's. */
struct report_annotated {
	struct report_code *code;
	size_t n, capacity;
	uint64_t whole; /* of the weight, in the profile */
	uint64_t bytes; /* of all lines */
};
/*
 * The instructions of a function with what was at each, to be freed in any case. 0 or a negative
 * errno after a message; *usage: there is none of that name.
 */
int report_annotate(const struct report *r, const char *function, unsigned int weight,
		    struct report_annotated *out, bool *usage);
void report_annotated_print(const struct report_annotated *a, FILE *out);
void report_annotated_free(struct report_annotated *a);

#endif
