/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `rawprof func`, in parts:
 *
 *	options.c	the options
 *	list.c	--list: what would be probed, and why not
 *	func.c	the recording
 *	sums.c	what the calls come to, read from the kernel
 *	under_way.c	calls that go on at the end
 *	view.c	tables and histograms of it
 *	values.c	what was returned
 *	log.c	calls as they end
 *	graph.c	calls as they begin and end, nested
 *	stacks.c	who called
 */
#ifndef CLI_FUNC_H
#define CLI_FUNC_H

#include "base/hash.h"
#include "programs/func/func.h"
#include "record/probes/probes.h"

#include "cli/run.h"

struct func_options {
	uint64_t slower_us;
	const char *by;	    /* what a row is of, beside the function; NULL: of the function alone */
	const char *attach; /* the way for functions of the kernel; NULL: the best */
	uint64_t limit;	    /* most functions; 0: RECORD_PROBE_LIMIT */
	uint64_t args;	    /* how many are shown; 0: as many as are known, else 3 */
	bool at_returns;
	bool alone; /* of a program that is run, without the processes that it starts */
	bool list, count, values, hist, stacks, graph;
};
/* Slow calls are shown one by one: no other view is asked for. */
static inline bool func_is_log(const struct func_options *own)
{
	return own->slower_us && !own->by && !own->hist && !own->values && !own->stacks;
}
int func_run(const struct options *opt); /* the command */
/* Calls of functions, without a view of their own; rec->ctx begins with a struct func. */
extern const struct record_profiler func_profiler;
/* --list. Returns the exit status. */
int func_list(const struct options *opt);

/* Where the functions are looked for, as the options say. 0 or a negative errno after a message. */
struct record_probes;
int func_find(const struct options *opt, struct record_probes **out);

/* What the calls of a row come to. */
struct func_row {
	uint32_t function, who;
	char comm[17];
	uint64_t entered, left, untimed, inner_ns;
	uint64_t under_way; /* at the end; by function alone */
	struct {
		uint64_t count, sum, least, greatest;
	} all;
	uint64_t slots[FUNC_HIST_SLOTS];
};
struct func_rows {
	struct func_row *row;
	size_t n, capacity;
};

/* Calls that go on at the end: counted, their time is not known. */
struct func_going {
	uint32_t function;
	uint64_t calls;
};

/* What was in the map at the last interval, as what it holds only grows. */
struct func_seen {
	struct func_key key;
	uint64_t entered, left, untimed, inner_ns, sum, not_least, greatest;
	uint64_t slots[FUNC_HIST_SLOTS];
};

struct func_graph;

struct func {
	const struct func_options *own;
	struct record_probes *probes;
	struct func_config config;
	struct asm_map maps[FUNC_MAPS];
	enum func_by by;
	/* With stacks: the label "class" of a function's samples; NULL: they have none. */
	const char *(*class_of)(const struct record_probe *p);
	uint64_t end_ns;    /* CLOCK_MONOTONIC, when counting ended */
	uint64_t under_way; /* calls that went on then */
	uint64_t printed;
	struct rp_ring *ring; /* of log and graph */
	struct func_graph *graph;
	struct record_call **calls; /* system calls that are shown, by number; NULL: none */
	struct hash_map going;	    /* struct func_going */
	struct hash_map seen;	    /* --interval: struct func_seen */
	uint64_t earlier_ns;
	uint32_t ready; /* functions from 0 on whose sums have room in the kernel */
};

/* A function's name; with the file, if there are several of that name. */
const char *func_name(const struct func *f, uint32_t function);

/* The calls that have begun, where entries alone are counted. 0 or a negative errno. */
int func_entered(struct recording *rec, uint64_t *out);
/* Room for those of new functions, if rows are by function alone. 0 or a negative errno. */
int func_ready_sums(struct recording *rec);
/* The rows that are in the kernel's map; new_only: what is new since the last such call. */
int func_rows(struct recording *rec, bool new_only, struct func_rows *out);
void func_rows_free(struct func_rows *rows);

/* How many calls of a function go on; NULL: no memory. */
uint64_t *func_under_way(struct func *f, uint32_t function);
/* At the end: counts them. */
int func_count_under_way(struct recording *rec);

/* Ways out, as struct record_profiler has them. */
int func_empty_grid(struct recording *rec, struct report_grid **out);
int func_report_grid(struct recording *rec);
int func_report_interval(struct recording *rec);
int func_report_hists(struct recording *rec);
int func_report_hists_interval(struct recording *rec);
int func_empty_values(struct recording *rec, struct report_grid **out);
int func_report_values(struct recording *rec);

int func_samples(struct recording *rec, struct report *report, struct names *names);

int func_log_begin(struct recording *rec);
void func_log_free(struct func *f);
int func_log_drain(struct recording *rec);
int func_log_report(struct recording *rec);

/* Of a line about a call: "name(1, 0x7ffe1000)", "openat(AT_FDCWD, 0x7ffe1000, O_RDONLY)"; " = -2
 * ENOENT"; "    12.345 us". */
int func_print_call(struct recording *rec, const struct func_event *e);
void func_print_value(struct recording *rec, const struct func_event *e);
void func_print_time(FILE *out, uint64_t ns);
double func_seconds(const struct recording *rec, uint64_t time);
/* The name of the error code that it is, where functions return such: "ENOENT"; NULL. */
const char *func_error(const struct func *f, uint32_t function, int64_t value);

/* --graph: one event; what waits at the end. 0 or a negative errno. */
int func_graph_event(struct recording *rec, const struct func_event *e);
int func_graph_end(struct recording *rec);
void func_graph_free(struct func_graph *graph);

#endif
