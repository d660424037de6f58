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
	uint64_t blind_ns; /* in windows: between the last one and this */
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

/* What becomes of a recording in windows. */
struct run_windows {
	double seconds; /* so long is each; the last may be shorter */
	/*
	 * A window, as the command would show it. blind_ns: nothing was recorded before it. NULL:
	 * it is shown as ever, and there are no windows.
	 */
	int (*take)(void *ctx, struct recording *rec, const struct report *report,
		    const struct report_options *show, uint64_t blind_ns);
	bool (*is_over)(void *ctx); /* asked once a second: is the recording to end? */
	/* Of processes, and the one of a stack: struct recording.meet, label. */
	void (*meet)(struct recording *rec, uint32_t pid, uint64_t generation);
	int (*label)(struct recording *rec, const struct stack_record *r,
		     struct report_sample *sample);
	void *ctx;
};

/* Opens, records, reports, closes; returns the exit status. */
int run_profiler(const struct record_profiler *profiler, const struct options *opt, void *ctx);
/* The stacks of a recording, written as the options say. 0 or a negative errno after a message. */
int run_report(struct recording *rec);
/* Tells standard error what the output has no room for: output_tell(). */
int run_tell(struct recording *rec, const char *note, const struct record_ledger *ledger);

#endif
