/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a result goes: checked before the recording, written after it. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "options.h"
#include "output_file.h"
#include "record/recording.h"
#include "record/table_keeper.h"

/* What the keeper does for it, with its file as ctx: record_keeper_start(). */
enum { OUTPUT_DUTY = RECORD_DUTIES };
extern const struct record_duty output_duty;

struct output {
	FILE *stream;
	const char *path; /* NULL: standard output */
	struct report_options show;
	bool unfit;  /* the options ask for what this cannot be: bad usage */
	bool failed; /* and that has been said */
	bool begun;  /* something is written, or is about to be */
	bool grows;  /* it can be seen before it is whole */
	bool named;  /* the file has its name */
	struct output_file file;
	struct report_advice advice;  /* on what was written, said when it is closed */
	struct record_keeper *keeper; /* gives the file its name (OUTPUT_DUTY); NULL: we do */
};

/*
 * Opens a file that is to take the place of what has the name, or takes standard output; finds out
 * what the terminal can show.
 * 0 or a negative errno after a message: a directory that cannot be written, a binary format on
 * a terminal.
 */
int output_open(struct output *out, const struct options *opt, enum record_output kind);

/*
 * What is written from now on can be seen as it comes: the first output_flush() puts it in the
 * place of what the file held before. 0 or a negative errno after a message.
 */
int output_empty(struct output *out);

/*
 * Says, once, that it cannot be written, and why: err, a negative errno, which is returned. 0 and
 * -EPIPE are nothing to tell.
 */
int output_failed(struct output *out, int err);
/* What was printed has arrived: 0, or a negative errno as output_failed(). */
int output_flush(struct output *out);

/* Before the first byte is written, by those who write it themselves. 0 or a negative errno after a
 * message. */
int output_begin(struct output *out);

/* Writes the report as the options say. 0; -EPIPE, silently; else an errno after a message. */
int output_report(struct output *out, const struct options *opt, const struct report *report);

/* As output_report(), histograms and grids; of a series (show.part) each behind the one before. */
int output_hists(struct output *out, const struct options *opt, const struct report_hists *set);
int output_grid(struct output *out, const struct options *opt, const struct report_grid *grid);

/*
 * The result is complete, and the file gets its name. Tells standard error what a format without
 * room for it cannot: that a file was written, a note (or NULL), the ledger, the cost. With -q only
 * errors.
 */
int output_tell(struct output *out, const struct options *opt, const char *note,
		const struct report_ledger *ledger, const struct report_cost *cost);

/*
 * Closes; says so if what was written did not arrive. Returns err, or its own first error. After an
 * error what the file held before is still there, but for a series and what is written in place.
 */
int output_close(struct output *out, int err);

#endif
