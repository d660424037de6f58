/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording of stacks, whatever makes them: what the profilers that look at tasks have in common.
 *
 *	record_open	the output, the session, the maps; whom to look at, and how deep
 *	   (the subcommand loads its programs with record_load, and attaches them)
 *	record_run	until the end, when the subcommand's events are stopped and all is collected
 *	record_report	names the stacks, weighs them as the subcommand says, writes them; the books
 *	record_close
 *
 * record_command() is all of it for a subcommand that fits in a struct profiler.
 */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include <sys/utsname.h>

#include "programs/shared/profile.h"

#include "names.h"
#include "cli/output.h"
#include "session.h"

/* The books of a run, while they are being written. */
#define BOOKS_LINES 20
struct books {
	struct report_ledger_line lines[BOOKS_LINES];
	struct report_ledger ledger;
	struct report_cost cost;
};
void record_ledger_add(struct books *b, const char *name, uint64_t count, enum report_fate fate);

struct profile;

/* What makes one profiler different from another. All are called with the profile whose ctx is the subcommand's. */
struct profiler {
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
	int (*configure)(struct profile *p);
	/* Loads and attaches its programs; what fires must wait for start, or not matter before. */
	int (*attach)(struct profile *p);
	int (*start)(struct profile *p); /* events on, just before the target runs; may be NULL */
	int (*stop)(
		struct profile *p); /* events off, before the last drain; NULL: links are closed */
	/* Stacks came whose walk had no tables, which have been read since. NULL: they are as they are. */
	int (*walk_again)(struct profile *p);
	int (*tick)(struct profile *p);	    /* once a second; may be NULL */
	int (*interval)(struct profile *p); /* every --interval, after a drain; may be NULL */
	int (*drain)(struct profile *p);    /* takes what is in rings of its own; may be NULL */
	bool often;			    /* ten times a second, for who prints as it comes */
	/* For who probes the files of processes; may be NULL, see struct session_work. */
	int (*loaded)(struct profile *p, pid_t pid);
	int (*mapped)(struct profile *p, const struct rp_side_event *e);
	/* When all has been drained and before any of it is shown: what else the maps tell. May be NULL. */
	int (*collect)(struct profile *p);
	/* Shows it otherwise than as stacks, where the options say so; NULL: record_report(). */
	int (*report)(struct profile *p);
	enum output_kind output; /* and what that writes */

	/* Value types, from the first: what the stacks are weighed by. They may depend on the event. */
	const struct report_value_type *(*types)(const struct profile *p, size_t *n);
	/* From the weights of the kernel to values of these types; false: not to be shown. NULL: as they are. */
	bool (*values)(const struct profile *p, const struct stack *stack, uint64_t *values);
	/* Adds everything to the report by itself; NULL: each stack is a sample, as the following two have it. */
	int (*samples)(struct profile *p, struct report *report, struct names *names);
	/* Labels and frames of its own (a state, a lock); may be NULL. */
	int (*decorate)(struct profile *p, const struct stack *stack, struct report_sample *sample);
	/* The event that one record is about, for --samples; NULL: "samples". */
	const char *(*event)(const struct profile *p);
	/* Event, rate, period: what the reader is told beside. May be NULL. */
	void (*describe)(struct profile *p, struct report_info *info);
	/* A line of how well the recording went, malloc'd; NULL: nothing to say. May be NULL. */
	char *(*note)(struct profile *p);
	/* Adds lines to the books; kept is the sum of the first value. NULL: kept is what the report holds. */
	int (*books)(struct profile *p, uint64_t kept, struct books *b);
};

#define PROFILE_PROGRAMS 24

struct profile {
	const struct profiler *profiler;
	void *ctx; /* the subcommand's */
	const struct options *opt;
	struct session session;
	struct profile_config config;
	struct stacks *stacks;
	struct output output;
	const char *comm_glob; /* a --comm that the program cannot match by itself; NULL */

	/* Programs that run, for their cost, and what holds them; closed with the profile. */
	int program[PROFILE_PROGRAMS];
	size_t nprograms;
	struct rp_link *link[PROFILE_PROGRAMS];
	size_t nlinks;

	uint64_t seen; /* records so far */
	bool lost_way; /* among them some whose walk had no tables, since the last drain */

	/* --samples: records that wait until their processes are known */
	struct profile_queue {
		struct stack_record **records;
		size_t n, room;
	} queue;
	uint64_t printed, not_wanted; /* by comm_glob */
};

/* A profile that is not open: from here on it may be closed. */
void record_init(struct profile *p, const struct profiler *profiler, const struct options *opt,
		 void *ctx);
/* All below: 0 or a negative errno after a message. */
int record_open(struct profile *p);
/* Loads a program with the maps of the profile; config begins with p->config. Its descriptor, the profile's. */
int record_load(struct profile *p, const struct asm_program *program, const void *config);
/* Keeps a link until the events are to stop. */
int record_hold(struct profile *p, struct rp_link *link);
/* Both for a BTF raw tracepoint program. */
int record_attach(struct profile *p, const struct asm_program *program, const void *config);
int record_run(struct profile *p);
int record_report(struct profile *p);
/* Which value the options want shown. 0, or -EINVAL after a message: bad usage. */
int record_choose_weight(struct profile *p);
void record_close(struct profile *p);

/* All of it; returns the exit status. */
int record_command(const struct profiler *profiler, const struct options *opt, void *ctx);

/* ---- what its parts share */

struct name_owner record_owner(const struct stack_record *record);
/* False: --comm has a pattern that it does not match. */
bool record_comm_wanted(const struct profile *p, const char *comm);
/* The record that has the kernel's side of a stack: the same, or one that was made when it was still all there. */
const struct stack_record *record_kernel_record(const struct profile *p,
						const struct stack_record *record);
/* Adds the frames of a stack, leaf first: of the kernel, then of the program. */
int record_frames(struct profile *p, struct names *names, const struct stack_record *record,
		  struct name_ids *ids);
/* The lines that all profilers have, and the cost. */
int record_ledger(struct profile *p, uint64_t kept, struct books *b);

/* What was recorded, of whom, when; note: a line of how well it went, or NULL. What it says lives as long as *out. */
struct profile_info {
	struct report_info info;
	char *target;
	char build_id[41];
	struct utsname name;
};
int record_info(struct profile *p, const char *note, struct profile_info *out);
void record_info_free(struct profile_info *info);

/* Looks up the kernel's frames of all stacks, so that sym_kernel_lookup() knows them. -ENOMEM. */
int record_prepare_kernel(struct profile *p);

/* profile_samples.c: keeps a record; prints and frees those that wait; the end, with the books. */
int record_samples_keep(struct profile *p, const struct stack_record *record);
int record_samples_print(struct profile *p);
int record_samples_end(struct profile *p);

#endif
