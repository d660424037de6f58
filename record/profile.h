/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording of stacks, whatever makes them: what the profilers that look at tasks have in common.
 *
 *	record_open	the output, the session, the maps; whom to look at, and how deep
 *	   (the subcommand loads and attaches its programs, see attach.h)
 *	record_run	until the end, when the subcommand's events are stopped and all is collected
 *	record_report	names the stacks, weighs them as the subcommand says, writes them; the ledger
 *	record_close
 *
 * record_command() is all of it for a subcommand that fits in a struct record_profiler.
 */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include <sys/utsname.h>

#include "stacks.h"

#include "attach.h"
#include "names.h"
#include "cli/output.h"
#include "session.h"

/* The ledger of a run, while they are being written. */
#define BOOKS_LINES 20
struct record_ledger {
	struct report_ledger_line lines[BOOKS_LINES];
	struct report_ledger report;
	struct report_cost cost;
};
void record_ledger_add(struct record_ledger *b, const char *name, uint64_t count,
		       enum report_fate fate);

struct recording;

/* What makes one profiler different from another. All are called with the profile whose ctx is the subcommand's. */
struct record_profiler {
	const char *command;
	const struct asm_map *maps; /* STACK_MAP_LIST and its own */
	size_t nmaps;
	/* The ring is so many times as large as samples need: a power of two; 0: once. */
	unsigned int ring_factor;

	unsigned int weight; /* which value is shown unless --weight says otherwise */
	bool no_stacks;	     /* its programs take none */
	bool has_regs;	     /* its programs' context is a perf event's, which has registers */
	bool at_return;	     /* user stacks begin with a return address */
	bool micros;	     /* and if it is a time, in microseconds where there is but a number */

	/* A label that tells what a stack's weight was, and its values in order; as in struct report_options. */
	const char *color_by_label;
	const char *const *label_order;

	/* May change p->config, before the maps are made. NULL: nothing to change. */
	int (*configure)(struct recording *rec);
	/* Loads and attaches its programs; what fires must wait for start, or not matter before. */
	int (*attach)(struct recording *rec);
	int (*start)(
		struct recording *rec); /* events on, just before the target runs; may be NULL */
	int (*stop)(struct recording
			    *rec); /* events off, before the last drain; NULL: links are closed */
	/* Stacks came whose walk had no tables, which have been read since. NULL: they are as they are. */
	int (*walk_again)(struct recording *rec);
	int (*tick)(struct recording *rec);	/* once a second; may be NULL */
	int (*interval)(struct recording *rec); /* every --interval, after a drain; may be NULL */
	int (*drain)(struct recording *rec);	/* takes what is in rings of its own; may be NULL */
	bool often;				/* ten times a second, for who prints as it comes */
	/* For who probes the files of processes; may be NULL, see struct session_work. */
	int (*loaded)(struct recording *rec, pid_t pid);
	int (*mapped)(struct recording *rec, const struct rp_side_event *e);
	/* When all has been drained and before any of it is shown: what else the maps tell. May be NULL. */
	int (*collect)(struct recording *rec);
	/* Shows it otherwise than as stacks, where the options say so; NULL: record_report(). */
	int (*report)(struct recording *rec);
	enum output_kind output; /* and what that writes */

	/* Value types, from the first: what the stacks are weighed by. They may depend on the event. */
	const struct report_value_type *(*types)(const struct recording *rec, size_t *n);
	/* From the weights of the kernel to values of these types; false: not to be shown. NULL: as they are. */
	bool (*values)(const struct recording *rec, const struct stack *stack, uint64_t *values);
	/* Adds everything to the report by itself; NULL: each stack is a sample, as the following two have it. */
	int (*samples)(struct recording *rec, struct report *report, struct names *names);
	/* Labels and frames of its own (a state, a lock); may be NULL. */
	int (*decorate)(struct recording *rec, const struct stack *stack,
			struct report_sample *sample);
	/* The event that one record is about, for --samples; NULL: "samples". */
	const char *(*event)(const struct recording *rec);
	/* Event, rate, period: what the reader is told beside. May be NULL. */
	void (*describe)(struct recording *rec, struct report_info *info);
	/* A line of how well the recording went, malloc'd; NULL: nothing to say. May be NULL. */
	char *(*note)(struct recording *rec);
	/* Adds lines to the ledger; kept is the sum of the first value. NULL: kept is what the report holds. */
	int (*ledger)(struct recording *rec, uint64_t kept, struct record_ledger *b);
};

#define RECORD_PROGRAMS 32

struct recording {
	const struct record_profiler *profiler;
	void *ctx; /* the subcommand's */
	const struct options *opt;
	struct session session;
	struct program_config config;
	struct stacks *stacks;
	struct output output;
	const char *comm_glob; /* a --comm that the program cannot match by itself; NULL */

	/* Programs that were loaded (attach.c): descriptors, and what attaches them or NULL. */
	const struct rp_program *loaded[RECORD_PROGRAMS];
	uint32_t attach_type[RECORD_PROGRAMS]; /* of probes that of the way they are made */
	int program[RECORD_PROGRAMS];
	struct rp_link *link[RECORD_PROGRAMS];
	size_t nprograms;

	uint64_t seen; /* records so far */
	bool lost_way; /* among them some whose walk had no tables, since the last drain */

	/* --samples: records that wait until their processes are known */
	struct record_queue {
		struct stack_record **records;
		size_t n, capacity;
	} queue;
	uint64_t printed, not_wanted; /* by comm_glob */
};

/* A profile that is not open: from here on it may be closed. */
void record_init(struct recording *rec, const struct record_profiler *profiler,
		 const struct options *opt, void *ctx);
/* All below: 0 or a negative errno after a message. */
int record_open(struct recording *rec);
int record_run(struct recording *rec);
int record_report(struct recording *rec);
/* Which value the options want shown. 0, or -EINVAL after a message: bad usage. */
int record_choose_weight(struct recording *rec);
void record_close(struct recording *rec);

/* All of it; returns the exit status. */
int record_command(const struct record_profiler *profiler, const struct options *opt, void *ctx);

/* ---- what its parts share */

struct name_owner record_owner(const struct stack_record *record);
/* False: --comm has a pattern that it does not match. */
bool record_comm_wanted(const struct recording *rec, const char *comm);
/* The record that has the kernel's side of a stack: the same, or one that was made when it was still all there. */
const struct stack_record *record_kernel_record(const struct recording *rec,
						const struct stack_record *record);
/* Adds the frames of a stack, leaf first: of the kernel, then of the program. */
int record_frames(struct recording *rec, struct names *names, const struct stack_record *record,
		  struct name_ids *ids);
/* The lines that all profilers have, and the cost. */
int record_ledger(struct recording *rec, uint64_t kept, struct record_ledger *b);

/* What was recorded, of whom, when; note: a line of how well it went, or NULL. What it says lives as long as *out. */
struct record_info {
	struct report_info info;
	char *target;
	char build_id[41];
	struct utsname name;
};
int record_info(struct recording *rec, const char *note, struct record_info *out);
void record_info_free(struct record_info *info);

/* Looks up the kernel's frames of all stacks, so that sym_kernel_lookup() knows them. -ENOMEM. */
int record_prepare_kernel(struct recording *rec);

/* profile_samples.c: keeps a record; prints and frees those that wait; the end, with the ledger. */
int record_samples_keep(struct recording *rec, const struct stack_record *record);
int record_samples_print(struct recording *rec);
int record_samples_end(struct recording *rec);

#endif
