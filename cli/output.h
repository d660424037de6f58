/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a result goes: checked before the recording, written after it. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "options.h"

struct output {
	FILE *stream;
	const char *path; /* NULL: standard output */
	struct report_options show;
	bool unfit; /* the options ask for what this cannot be: bad usage */
	bool told;  /* that it cannot be written */
	bool begun; /* one of a series is written, or is about to be */
};

/* Not every format is fit for everything. */
enum output_kind { OUTPUT_STACKS, OUTPUT_HISTS, OUTPUT_GRID };

/*
 * Opens the file, without emptying it yet, or takes standard output; finds out what the terminal can show.
 * 0 or a negative errno after a message: a directory that cannot be written, a binary format on a terminal.
 */
int output_open(struct output *out, const struct options *opt, enum output_kind kind);

/* Throws away what the file held before. 0 or a negative errno after a message. */
int output_empty(struct output *out);
/* The same before the first of a series, and nothing before the others. */
int output_begin(struct output *out);

/*
 * Says, once, that it cannot be written, and why: err, a negative errno, which is returned. 0 and -EPIPE are nothing to
 * tell.
 */
int output_failed(struct output *out, int err);
/* What was printed has arrived: 0, or a negative errno as output_failed(). */
int output_flush(struct output *out);

/* Writes the report as the options say. 0; -EPIPE when the reader has gone, silently; else after a message. */
int output_report(struct output *out, const struct options *opt, const struct report *report);

/* The same for histograms and for grids. */
int output_hists(struct output *out, const struct options *opt, const struct report_hists *set);
int output_grid(struct output *out, const struct options *opt, const struct report_grid *grid);

/*
 * Tells standard error what a format without room for it cannot: that a file was written, a note (or NULL), the ledger, the cost.
 * Nothing with -q.
 */
int output_tell(const struct output *out, const struct options *opt, const char *note,
		const struct report_ledger *ledger, const struct report_cost *cost);

/* Closes, and says so if what was written did not arrive. Returns err, or the first error of its own. */
int output_close(struct output *out, int err);

#endif
