/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What fills the windows of `rawprof top`: recordings as the commands of the same names have them,
 * side by side, and what /proc says of the machine.
 *
 *	sources.c	all of them: opened, drained, read
 *	budget.c	what they may cost: what is dear is measured in slices, or stopped
 *	slices.c	a source that runs for a part of each window
 *	source_*.c	one each, or two
 *	machine.c	the figures of the machine
 */
#ifndef CLI_TOP_SOURCES_H
#define CLI_TOP_SOURCES_H

#include "cli/options.h"
#include "model.h"
#include "record/recording.h"

struct top_source;

struct top_source_kind {
	const char *name;
	enum top_panel panel; /* that it fills */
	bool at_once;	      /* else when its panel is opened */
	bool needed;	      /* it is not stopped for what it costs */
	size_t size;	      /* of state */
	/* Fills s->profiler, s->options and s->ctx. 0 or a negative errno after a message. */
	int (*open)(struct top_source *s);
	/* Adds what happened since the last call. 0 or a negative errno. */
	int (*read)(struct top_source *s, struct top_window *w);
	/*
	 * Nothing has fired for a while: what its maps know of threads is not so any more. NULL: it
	 * cannot be measured in slices, for what it counts begins long before it ends.
	 */
	int (*forget)(struct top_source *s);
	void (*close)(struct top_source *s); /* the recording is closed already; may be NULL */
};
extern const struct top_source_kind top_source_cpu, top_source_queue, top_source_waits,
	top_source_disks, top_source_locks, top_source_memory, top_source_syscalls;

enum top_source_state {
	TOP_SOURCE_OFF,	    /* its panel has not been opened */
	TOP_SOURCE_WAITING, /* it is opened when the first window is there */
	TOP_SOURCE_ON,
	TOP_SOURCE_FAILED,
	TOP_SOURCE_STOPPED, /* it cost too much */
	TOP_SOURCE_REFUSED, /* by a person */
};

/* What a stack was worth at the last look, and what is said of it. */
struct top_known_stack {
	uint64_t value[STACK_VALUES];
	const char *text; /* constant */
	char *name, *module;
};

/* How a source is measured that would cost too much: slices.c. */
struct top_slice {
	bool on, fires;
	uint64_t edge;		 /* CLOCK_MONOTONIC: when one begins or ends; UINT64_MAX: never */
	uint64_t begun;		 /* the last one, or the source itself; */
	uint64_t length_ns;	 /*   how long it was, */
	struct top_window *kept; /*   and what was counted; NULL: there was none yet */
	uint64_t planned_ns;	 /* how long the next one is */
	uint64_t period_ns;	 /* from one beginning to the next, as a mean */
	uint64_t fixed_ns;	 /* CPU time to attach, to detach, to read; */
	uint64_t paid_ns;	 /* of the programs, before the last one; */
	double rate;		 /*   while they run, as a part of a CPU; 0: not known */
};

struct top_source {
	const struct top_source_kind *kind;
	struct top_sources *all;
	enum top_source_state state;
	bool asked;	/* by a person: whatever it costs */
	char why[96];	/* of a failure, or a stop */
	uint64_t again; /* of one that cost too much: the window in which it is tried again */
	struct record_profiler profiler;
	struct record_options options;
	void *state_of_kind, *ctx; /* ctx: the recording's */
	struct recording rec;
	uint64_t ticked, rested; /* CLOCK_MONOTONIC */
	struct record_runs runs;
	struct program_stats stats;
	uint64_t cost[3]; /* ns by the second in the last windows, for the budget */
	struct top_known_stack *known;
	size_t nknown, known_capacity;

	struct top_slice slice;
};

#define TOP_SOURCES 7
struct top_sources {
	const struct options *opt;
	struct top_source source[TOP_SOURCES];
	struct top_window *window; /* being filled */
	struct record_whose whose; /* who pays for rows and names */
	uint64_t since;		   /* CLOCK_MONOTONIC, of its beginning */
	uint64_t windows;	   /* so far */
	int stats;		   /* BPF_ENABLE_STATS, or negative */
	struct top_machine *machine;
	struct top_bpf *bpf; /* NULL: not wanted */
};

/*
 * at_once: all of them are open when it returns, else what is needed,
 * and the others one by one once there is something to be seen. 0, or a negative errno after a
 * message if what is needed does not open. always: all of them, all the time, whatever they cost.
 */
int top_sources_open(struct top_sources *s, const struct options *opt, bool bpf, bool always,
		     bool at_once);
void top_sources_close(struct top_sources *s);
/* A panel has been opened for the first time. */
void top_sources_want(struct top_sources *s, enum top_panel panel);
/* What fills it is to run all the time, whatever it costs; or not at all. */
void top_sources_ask(struct top_sources *s, enum top_panel panel, bool wanted);
/* Waits until then (CLOCK_MONOTONIC, ns) or until one of these has something; drains meanwhile. 0
 * or a negative errno. */
int top_sources_wait(struct top_sources *s, uint64_t then, int terminal, int signals);
/* The window so far, complete; *out is the caller's. 0 or a negative errno. */
int top_sources_read(struct top_sources *s, struct top_window **out);

/* ---- sources.c, for slices.c and budget.c */

/* An empty one, in which users have shares; NULL: out of memory. */
struct top_window *top_sources_window(struct top_sources *s);

int top_source_open(struct top_source *s, bool quiet);
void top_source_close(struct top_source *s);

/* ---- budget.c */

/* A window is complete: what costs too much is sliced or stopped, what stopped is tried again. */
void top_budget_keep(struct top_sources *s);

/* ---- slices.c: an int is 0 or a negative errno */

bool top_slice_can(const struct top_source *s);
/* From now on it is measured in slices; it has just been opened, or has cost too much. */
int top_slice_first(struct top_source *s);
/* Its edge has come: it begins, or it ends and is read. */
int top_slice_turn(struct top_source *s);
/* All the time from now on. */
int top_slice_none(struct top_source *s);
void top_slice_free(struct top_source *s);
/* Adds what the last one stands for to a window, whose ns is known. */
int top_slice_add(const struct top_source *s, struct top_window *w);
/* Which part of the time it is measured; 0: it has not been yet. */
double top_slice_part(const struct top_source *s, uint64_t window_ns);

/* ---- what several sources need */

/* Reads the totals of all stacks: fn is called with each that is worth more than at the last look,
 * and by how much. name() has been called with it before. */
struct top_stacks {
	/* Fills text, or name and module, of a stack that is new. 0 or -ENOMEM. */
	int (*name)(struct top_source *s, const struct stack *stack, struct top_known_stack *out);
	/* Adds what is going on to the totals; may be NULL. */
	int (*going_on)(struct top_source *s, struct stack_total *total, size_t n);
	int (*add)(struct top_source *s, struct top_window *w, const struct stack *stack,
		   const struct top_known_stack *known, const uint64_t *value);
};
int top_stacks_read(struct top_source *s, struct top_window *w, const struct top_stacks *how);

/* ---- machine.c */

struct top_machine;
int top_machine_open(struct top_machine **out);
void top_machine_close(struct top_machine *m);
/* Fills the figures, of the time since the last call. */
void top_machine_read(struct top_machine *m, struct top_window *w);

/* ---- bpf.c: all BPF programs of the machine */

struct top_bpf;
int top_bpf_open(struct top_bpf **out);
void top_bpf_close(struct top_bpf *b);
/* A sample in the kernel, by the addresses of its frames, leaf first. */
void top_bpf_sample(struct top_bpf *b, const struct report_frame *frames, size_t n);
int top_bpf_read(struct top_bpf *b, struct top_window *w);

#endif
