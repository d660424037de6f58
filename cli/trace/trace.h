/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of `rawprof trace` share.
 *
 *	trace.c		the command
 *	options.c	what can be asked for
 *	select.c	words of the command line -> events
 *	filter.c	--filter: an expression over the fields of an event
 *	explain.c	the program of an event, for `rawprof explain trace`
 *	list.c		events and their fields, for --list
 *	record.c	records: programs, maps, the ledger
 *	held.c		records in the order of their times
 *	lines.c		a line for each: text and JSON
 *	syscalls.c	--syscalls: a table of all system calls; see syscalls.h
 *	usdt.c		USDT probes as events, with what reads their arguments
 *	usdt_args.c	what these arguments were; and the list of probes
 *	func.c		functions of programs and of the kernel as events
 *	calls.c		system calls: what is asked of the programs, and their lines
 *	tally.c		--count, --hist: counted in the kernel
 *	stacks.c	the stack below it
 */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include <string.h>

#include <rawprof/grid.h>
#include <rawprof/hist.h>

#include "cli/run.h"
#include "filter.h"
#include "programs/trace/trace.h"
#include "record/events/call.h"
#include "record/events/event.h"
#include "record/probes/probes.h"

struct trace_options {
	uint64_t max_events;
	uint64_t string_bytes; /* of texts of system calls; 0: TRACE_STRING_BYTES */
	bool stacks;
	bool returns; /* functions are events when they return, not when they begin */
	bool alone;   /* functions in the program that is run, not in what it starts */
	const char *list;
	const char *strings;	       /* numbers of USDT arguments */
	const char *count, *hist, *by; /* counted by these; a histogram of a field, by these */
	const char *filter;	       /* NULL: every event */
	bool syscalls;		       /* not events but a table of all system calls: syscalls.h; */
	bool errors;		       /*   of those that failed, by error */
};
#define TRACE_STRING_BYTES 256
int trace_run(const struct options *opt);

/* So many tracepoints at a time; each has a program of its own. */
#define TRACE_MOST_EVENTS 256

enum trace_kind {
	TRACE_TRACEPOINT,
	TRACE_ENTER, /* the beginning of a system call, */
	TRACE_EXIT,  /*   its end, */
	TRACE_WHOLE, /*   and both as one, when it ends */
	TRACE_USDT,
	TRACE_FUNC,
};
/* Programs know it by its number in the list. */
struct trace_event {
	enum trace_kind kind;
	char *name;		     /* "sched:sched_switch", "syscall:openat" */
	struct record_event *record; /* of all but system calls */
	struct record_call *call;    /* of a system call */
};
struct trace_events {
	struct trace_event *event;
	size_t n, capacity;
	size_t ncalls; /* of them */
};
/*
 * Adds the events that a word means: group:event, or event alone where there is one of that name;
 * syscall:name. All may be globs. 0 or a negative errno after a message.
 */
int trace_select(struct trace_events *events, const char *word);
void trace_events_free(struct trace_events *events);
/* Prints what trace_select() finds, with the fields. */
int trace_list(const char *word);

/* Records that wait until none can come that is older. */
struct trace_held {
	struct trace_held_record {
		uint64_t time;
		size_t at; /* in bytes */
	} * records;
	size_t n, capacity;
	unsigned char *bytes;
	size_t nbytes, bytes_capacity;
};
int trace_hold(struct trace_held *held, const void *record, size_t size);
/*
 * Hands over those before a time, in order, and forgets them. Every so often between them more() is
 * called, which may hold others. 0 or what one of the two returned below 0.
 */
struct trace_release_to {
	int (*fn)(void *ctx, const struct trace_record *record);
	int (*more)(void *ctx);
	void *ctx;
};
int trace_release(struct trace_held *held, uint64_t before, const struct trace_release_to *to);
void trace_held_free(struct trace_held *held);

/* USDT probes: events of the list from number first on, one for each of probes. */
struct trace_usdts {
	struct record_probes *probes; /* NULL: there are none */
	size_t first;
	uint32_t strings; /* bit i: argument i is the address of a string */
	struct record_usdt_links links;
	struct trace_usdt_program {
		struct rp_usdt_code *values, *texts;
		struct asm_insn *lines;
	} * programs; /* as long as they may be quoted */
	size_t nprograms, programs_capacity;
	int *fds; /* of programs, by probe: from the first_fd of each */
	size_t nfds, fds_capacity;
	size_t *first_fd;
};
/* Functions: events of the list from number first on, one for each of probes, and more later. */
struct trace_funcs {
	struct record_probes *probes; /* NULL: there are none */
	size_t first;
	struct rp_program program; /* with the filter in it */
};
/* Where the words are that say where data of variable length lie, how long a record is. 0, or a
 * negative errno after a message. */
int trace_describe(const struct record_event *event, struct trace_config *c);

/* What --count and --hist are by. */
#define TRACE_MOST_KEYS 4
#define TRACE_KEY_NAME 48
enum trace_key_kind {
	TRACE_BY_EVENT,
	TRACE_BY_COMM,
	TRACE_BY_PID,
	TRACE_BY_TID,
	TRACE_BY_CPU,
	TRACE_BY_FIELD
};
struct trace_tally_view {
	struct trace_key_part {
		enum trace_key_kind kind;
		char name[TRACE_KEY_NAME];
	} keys[TRACE_MOST_KEYS];
	size_t nkeys;
	char value[TRACE_KEY_NAME]; /* the field that has a histogram; "": events are counted */
	struct report_grid *grid;
	struct report_hists *set;
	uint64_t kept;
};

struct trace {
	const struct trace_options *own;
	struct record_profiler profiler;
	struct asm_map maps[TRACE_MAPS];
	struct trace_config config;
	struct trace_events events;
	struct trace_usdts usdt;
	struct trace_funcs funcs;
	struct trace_tally_view tally;
	struct rp_program *programs; /* one for each tracepoint, and a last row */
	size_t nprograms;
	struct trace_filter *filters; /* of each event that there is at first; NULL: none */
	size_t nfilters;
	struct rp_ring *ring;
	struct trace_held held;
	struct trace_stats stats;
	struct record_out line;	  /* that is put together */
	struct id_set named;	  /* threads that have a name in Chrome's trace */
	struct hash_map stacks;	  /* texts of stacks by hash: stacks.c */
	size_t stack_bytes;	  /* of these texts */
	struct rp_cpus cpus;	  /* with --cpu */
	int name_width;		  /* of events */
	uint32_t started_bytes;	  /* of a value of the map started */
	uint64_t under_way;	  /* calls at the end that are not shown */
	uint64_t printed, beyond; /* lines; records behind --max-events */
	uint64_t drained;	  /* with --stacks: CLOCK_MONOTONIC, when the last drain began */
	uint64_t missed;	  /* events at which the kernel did not run the program */
};

static inline bool trace_is_usdt(const char *word)
{
	return !strncmp(word, "usdt:", 5);
}
/* Numbers of arguments, from 1, as bits; false: they are none. */
bool trace_usdt_strings(const char *text, uint32_t *out);
/* Adds the probes that words of the command line mean, behind all other events. */
int trace_usdt_select(struct trace *trace, const struct options *opt);
int trace_usdt_list(const struct options *opt, const char *word);
/* The probe that an event is; NULL: it is another event. */
const struct record_probe *trace_usdt_probe(const struct trace *trace, size_t number);
/* "usdt:libstdc++.so.6.0.30:libstdcxx:throw", printable whatever the file is called. */
void trace_usdt_label(const struct record_probe *p, char *text, size_t size);
int trace_usdt_load(struct recording *rec, uint32_t number);
int trace_usdt_attach(struct recording *rec);
void trace_usdt_free(struct trace_usdts *usdt);
/* The arguments that a record has: " arg1=5 arg2=..", or members of JSON. */
void trace_usdt_put(const struct trace *trace, const struct record_probe *probe,
		    const struct trace_record *r, bool json, struct record_out *out);

/* ---- func.c */

/* The word names functions: FILE:F, :F, LIBRARY:F, kernel:F. */
bool trace_is_func(const char *word);
/* Adds them, behind all other events. */
int trace_func_select(struct trace *trace, const struct options *opt);
const struct record_probe *trace_func_probe(const struct trace *trace, size_t number);
int trace_func_filter(struct trace *trace);
void trace_func_configure(struct trace *trace);
int trace_func_attach(struct recording *rec);
int trace_func_loaded(struct recording *rec, pid_t pid);
int trace_func_mapped(struct recording *rec, const struct rp_side_event *e);
int trace_func_collect(struct recording *rec);
/* The arguments that a record has, and the result: " arg0=5 = 3 <0.000012>", or members of JSON. */
void trace_func_put(const struct trace *trace, const struct record_probe *probe,
		    const struct trace_record *r, bool json, struct record_out *out);
void trace_func_free(struct trace_funcs *funcs);

int trace_setup(struct trace *trace, const struct options *opt);
void trace_free(struct trace *trace);
/* 0 or a negative errno. */
void trace_begin_lines(struct recording *rec);
/* A member that lines of JSON have themselves: a field of that name gets a prefix. */
bool trace_is_taken(const char *name);
int trace_put_line(struct recording *rec, const struct trace_record *record);
int trace_end_lines(struct recording *rec);

/* ---- tally.c */

/* It is --count or --hist. */
static inline bool trace_is_tally(const struct trace *trace)
{
	return trace->own->count || trace->own->hist;
}
int trace_tally_setup(struct trace *trace, const struct options *opt);
void trace_tally_free(struct trace *trace);
/* Where in the records of an event its fields are. -ENOENT after a message: it has no such one. */
int trace_tally_describe(const struct trace *trace, const struct trace_event *event,
			 struct trace_tally *out);
/* The same of all system calls, into the configuration. */
int trace_tally_calls(struct trace *trace);

/* ---- calls.c */

/* Sizes of what calls need, in the configuration and the maps. */
void trace_calls_configure(struct trace *trace);
/* Loads the programs, and says which calls are to be seen. 0 or a negative errno. */
int trace_calls_attach(struct recording *rec);
/* Makes the filter of the event with this number, a system call. 0 or a negative errno. */
int trace_calls_filter(struct trace *trace, size_t number);
/* At the end: those that are under way are events too, without a result. */
int trace_calls_collect(struct recording *rec);
/* Arguments and result: " dfd=3 ... = 0 <1.2 us>", or members of an object of JSON. */
void trace_call_text(const struct trace *trace, const struct trace_record *record,
		     struct record_out *out);
void trace_call_json(const struct trace *trace, const struct trace_record *record,
		     struct record_out *out);

/* Appends the stack of a record: indented lines, or an array of JSON. */
int trace_put_stack(struct recording *rec, const struct trace_record *record, bool json,
		    struct record_out *out);
void trace_stacks_free(struct trace *trace);

#endif
