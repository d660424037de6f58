/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A command that records: the recording (record/), with the options as they were given and what it
 * writes to. The profilers of cli/ get at these two by way of their recording.
 */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "output.h"
#include "record/recording.h"

struct run {
	struct recording rec; /* the first: run_of() */
	const struct options *opt;
	struct output output;
	bool progress_shown;
};

static inline struct run *run_of(struct recording *rec)
{
	return (struct run *)rec;
}
static inline const struct options *options_of(const struct recording *rec)
{
	return ((const struct run *)rec)->opt;
}
static inline struct output *output_of(struct recording *rec)
{
	return &run_of(rec)->output;
}

/* Opens, records, reports, closes; returns the exit status. */
int run_profiler(const struct record_profiler *profiler, const struct options *opt, void *ctx);
/* The stacks of a recording, written as the options say. 0 or a negative errno after a message. */
int run_report(struct recording *rec);
/* Tells standard error what the output has no room for: output_tell(). */
int run_tell(struct recording *rec, const char *note, const struct record_ledger *ledger);

#endif
