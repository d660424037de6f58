/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording from the inside, for those who say what is recorded: the commands of cli/, and cpu.c
 * here.
 *
 *	record_open	the target, the symbolizer, maps, programs (open.c, config.c, attach.c)
 *	record_run	lets the target go; drains until the end (run.c, process.c)
 *	record_report	names and weighs the stacks (report.c, ledger.c)
 *	record_close
 *
 * A profiler is a struct record_profiler: its maps, what it attaches, and what a stack is worth.
 */
#ifndef RECORD_RECORDING_H
#define RECORD_RECORDING_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <rawprof/loader.h>
#include <rawprof/record.h>
#include <rawprof/symbolize.h>

#include "attach.h"
#include "base/id_set.h"
#include "keeper.h"
#include "during.h"
#include "ksym.h"
#include "name_share.h"
#include "names.h"
#include "jvm.h"
#include "languages.h"
#include "file_room.h"
#include "looks.h"
#include "python.h"
#include "published.h"
#include "rewalk.h"
#include "script.h"
#include "v8.h"
#include "stacks.h"
#include "stream.h"
#include "tables.h"
#include "target.h"

/* The ledger of a recording, while it is being written. */
#define RECORD_LEDGER_LINES 20
struct record_ledger {
	struct report_ledger_line lines[RECORD_LEDGER_LINES];
	struct report_ledger report;
	struct report_cost cost;
};
void record_ledger_add(struct record_ledger *l, const char *name, uint64_t count,
		       enum report_fate fate);

/* What comes out of a recording. */
enum record_output { RECORD_STACKS, RECORD_HISTS, RECORD_GRID, RECORD_LINES /* its own */ };

/* What makes one profiler different from another. All are called with the recording. */
struct record_profiler {
	const char *command;
	const struct rp_program *programs; /* what attach loads, unless it has more to say */
	const struct asm_map *maps;	   /* STACK_MAP_LIST and its own; NULL: those of programs */
	size_t nmaps;
	size_t ctx_size; /* of rec->ctx, zeroed at the beginning; 0: ctx is the caller's */
	/* The ring is so many times as large as samples need: a power of two; 0: once. */
	unsigned int ring_factor;

	/*
	 * The map that has an entry for each thread; 0: none. All threads have stacks of their own
	 * and show them at about the same time: there is room for those that there are, see
	 * record_stacks_open().
	 */
	unsigned int thread_map;

	/* Samples a second unless the options say so, of a profiler that takes samples; else 0. */
	unsigned int sample_freq;
	bool no_stacks; /* its programs take none */
	/* They are so deep in calls already, of 8 in all, that Java's walk has no room. */
	bool no_java;
	/* What processes do is not followed, for none of their addresses is named: no side-band. */
	bool no_names;
	bool has_regs;	/* its programs' context is a perf event's, which has registers */
	bool at_return; /* user stacks begin with a return address */
	/* Its programs may run so often that the kernel's statistics of them would be felt. */
	bool runs_often;
	bool deep;	  /* its programs send a record before they take the next: stack_deep.h */
	bool walks_later; /* its programs count in a table, a sample at a time: stack_copy.h */
	bool often; /* drains ten times a second: prints as it comes, or follows what is mapped */
	/*
	 * The program that is started stops each time that code of it is mapped while it is loaded,
	 * until its tables are known: record_target_start_watched().
	 */
	bool stop_at_loads;

	/* How it is shown: which value, unless another is asked for; */
	unsigned int weight;
	bool micros; /* times in microseconds where there is but a number; */
	/* a label that says what a weight was, and its values in order: struct report_options. */
	const char *color_by_label;
	const char *const *label_order;
	enum record_output output;
	/* Of RECORD_GRID: its table, still without rows; NULL: it was made with the profiler. */
	int (*empty_grid)(struct recording *rec, struct report_grid **out);
	/* Shows it otherwise than as stacks, where the options say so; NULL: as stacks. */
	int (*report)(struct recording *rec);

	/* May change rec->config, before the maps are made. NULL: nothing to change. */
	int (*configure)(struct recording *rec);
	/*
	 * Loads and attaches its programs; what fires must wait for start, or not matter before.
	 * NULL: those of the list, with rec->config.
	 */
	int (*attach)(struct recording *rec);
	/*
	 * With rec->languages_wait attach has left out the walks of languages, which from here on
	 * are walked too. NULL: they are there from the start. See languages.h.
	 */
	int (*languages)(struct recording *rec);
	/* Events on, just before the target runs; may be NULL. */
	int (*start)(struct recording *rec);
	/* Confined: reads what others have, before the first drain; may be NULL. */
	int (*begin)(struct recording *rec);
	/* Events off, before the last drain; NULL: links are closed. */
	int (*stop)(struct recording *rec);
	/* Walks had no tables, which have been read since. NULL: their stacks stay as they are. */
	int (*walk_again)(struct recording *rec);
	int (*tick)(struct recording *rec);	/* once a second; may be NULL */
	int (*interval)(struct recording *rec); /* every --interval, after a drain; may be NULL */
	int (*drain)(struct recording *rec);	/* takes what is in rings of its own; may be NULL */
	/* With stop_at_loads: the program has code mapped that has not run yet; may be NULL. */
	int (*loaded)(struct recording *rec, pid_t pid);
	/* A process has mapped code, a moment ago; may be NULL. */
	int (*mapped)(struct recording *rec, const struct rp_side_event *e);
	/* All has been drained, nothing is shown yet: what else the maps hold. May be NULL. */
	int (*collect)(struct recording *rec);
	/*
	 * A part of it is over, and nothing fires: what it has counted by itself, and maps of its
	 * own, begin anew. For record_window(), which NULL does not go together with.
	 */
	int (*restart)(struct recording *rec);
	bool attaches_again; /* start() after stop() does */
	/* Releases what it opened; may be NULL. */
	void (*close)(struct recording *rec);

	/* Value types: what the stacks are weighed by. They may depend on the event. */
	const struct report_value_type *(*types)(const struct recording *rec, size_t *n);
	/* From the kernel's weights to these values; false: not to be shown. NULL: as they are. */
	bool (*values)(const struct recording *rec, const struct stack *stack, uint64_t *values);
	/* Adds all samples by itself; NULL: each stack is a sample, with what decorate adds. */
	int (*samples)(struct recording *rec, struct report *report, struct names *names);
	/*
	 * Adds a moment to the weights of its stack, as the kernel's programs would have: for
	 * --during, which NULL does not go together with.
	 */
	void (*add_moment)(const struct stack_moment *m, uint64_t value[STACK_VALUES]);
	/* Labels and frames of its own (a state, a lock); may be NULL. */
	int (*decorate)(struct recording *rec, const struct stack *stack,
			struct report_sample *sample);
	/* The event that one record is about, for --samples; NULL: "samples". */
	const char *(*event)(const struct recording *rec);
	/* Event, rate, period: what the reader sees beside. May be NULL. */
	void (*describe)(struct recording *rec, struct report_info *info);
	/* A line of how well the recording went, malloc'd; NULL: nothing to say. May be NULL. */
	char *(*note)(struct recording *rec);
	/* Adds lines to the ledger; kept: the sum of the first value. NULL: there are no others. */
	int (*ledger)(struct recording *rec, uint64_t kept, struct record_ledger *l);
};

/* Mostly few; a trace has one for each event, with a filter three for each system call. */
#define RECORD_PROGRAMS 1200

struct recording {
	const struct record_profiler *profiler;
	void *ctx;			  /* the profiler's */
	const struct record_options *opt; /* a copy of those that it was opened with: */
	struct record_options options;
	struct target target;
	struct sym_user *user;
	struct sym_kernel *kernel;
	struct sym_demangler *demangler;
	struct ksym ksym;
	struct rp_sideband *side; /* NULL: processes are not followed */
	struct program_config config;
	struct stacks *stacks;
	struct record_stream *stream; /* NULL: no times were asked for */
	struct record_during *during; /* NULL: everything is kept, whatever it is inside of */
	struct record_rewalk *rewalk; /* NULL: no stacks are walked later */
	struct record_keeper *keeper; /* writes for it once it is confined; NULL: it is not */
	struct record_tables
		*tables; /* of the unwinder; NULL: stacks are walked by frame pointers */
	struct name_share *name_share;	    /* of all languages; NULL: none of them is */
	struct record_python *python;	    /* NULL: its frames are not looked for */
	struct record_v8 *v8;		    /* NULL: neither */
	struct record_jvm *jvm;		    /* of Java */
	struct record_script *script;	    /* of PHP, Ruby and Perl */
	struct record_published *published; /* labels that programs give; NULL: not asked for */
	bool languages_wait;		    /* walks of languages are not loaded yet; */
	bool language_met;		    /*   but there is somebody to walk, or a deep stack */
	uint64_t mapped_ns;		    /* while they wait: when a process last mapped code */
	const char *comm_glob; /* a --comm that the program cannot match by itself; NULL */

	/* Programs that were loaded (attach.c): descriptors, and what attaches them or NULL. */
	const struct rp_program *loaded[RECORD_PROGRAMS];
	uint32_t attach_type[RECORD_PROGRAMS]; /* of probes that of the way they are made */
	int program[RECORD_PROGRAMS];
	struct rp_link *link[RECORD_PROGRAMS];
	size_t nprograms;
	int stats; /* holds BPF_ENABLE_STATS on; negative: not to be had, or not any more */
	struct {
		struct record_runs runs; /* at the last look, of those that run often; and */
		uint64_t fired; /*   what had fired when statistics were left; 0: they were not */
	} measured;

	/* processes (process.c) */
	struct id_set known;	 /* whose mappings are known: seen being made, or read */
	struct id_set family;	 /* the program that was started, and all its descendants */
	struct id_set threaded;	 /* that may have threads which outlive the main one */
	struct id_set met;	 /* that a sample was taken of, by generation; */
	struct id_set fresh;	 /*   those that were met since the last drain; */
	struct id_set read;	 /*   those of which all has just been read beforehand */
	bool read_is_new;	 /*   and no sample of theirs has been drained yet */
	struct id_set waiting;	 /*   those of `fresh` that need not be read yet */
	struct id_set again;	 /*   those that have come with new stacks since the last look */
	struct id_set in_vain;	 /* processes and places that were read for, in a window */
	struct hash_map mappers; /* that have mapped code since something was forgotten */
	struct record_looks looks;
	struct record_whose whose;
	struct record_share report_memory;
	struct record_room file_room;
	size_t max_events;    /* to remember, before processes that ended are forgotten */
	size_t used;	      /* stacks that the symbolizer knows to keep what names them */
	uint64_t lost;	      /* records of processes, so far; */
	bool missed;	      /*   and since the last tick */
	unsigned int rereads; /* of mappings since the last tick: a walk had no tables, */
	unsigned int astray;  /*   or led nowhere */
	bool no_tables;	      /* records of such walks have come since the last drain */

	/* time (run.c) */
	bool begun; /* what processes map is of interest from then on */
	bool reported;
	sigset_t blocked;	   /* signals, before these were taken */
	struct rlimit files;	   /* before it was raised; rlim_max 0: it was not */
	int signals;		   /* signalfd; -1 */
	int wake;		   /* eventfd of record_stop() */
	int rings;		   /* epoll: the profiler's own rings that wake us; -1: none does */
	unsigned long errors;	   /* as of rp_log_errors() at its beginning */
	int caught;		   /* the signal that ended the recording, 0; */
	uint64_t caught_ns;	   /*   and when it was seen */
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t busy_ns;	   /* of all CPUs, between the two */
	uint64_t wall_offset;	   /* to add to get nanoseconds since 1970 */

	uint64_t seen;	     /* records so far */
	uint64_t not_wanted; /* by comm_glob */

	/* samples: records that wait until their processes are known */
	struct record_queue {
		struct stack_record **records;
		size_t n, capacity;
	} queue;
	uint64_t handed_over;

	/* windows (window.c) */
	unsigned int windows;	 /* that there were so far, */
	struct report_cost paid; /*   and what they have cost */
	bool sparing;		 /* it stays on: what may never be asked for is not read */
	/* A process was met for the first time, or with its next program; NULL: no matter. */
	void (*meet)(struct recording *rec, uint32_t pid, uint64_t generation);
	/*
	 * Adds labels of the process to a sample of the report, whose own come first; they live
	 * until the next call. 0 or a negative errno. NULL: none.
	 */
	int (*label)(struct recording *rec, const struct stack_record *r,
		     struct report_sample *sample);

	/* what record_report() has found out beside the report */
	char *note; /* how well it went; NULL: nothing to say */
	struct record_ledger ledger;
};

/* A recording that is not open: from here on it may be closed. */
void record_init(struct recording *rec, const struct record_profiler *profiler,
		 const struct record_options *opt, void *ctx);
/* All below: 0 or a negative errno after a message. */
int record_open(struct recording *rec);
void record_close(struct recording *rec);
/*
 * Says what could not be had since the last time, if it had no message: rp_log_errors() is still
 * @errors. record_close() does so.
 */
void record_report_lacks(unsigned long errors);

/* ---- check.c */

/* -EINVAL after a message, for options that make no sense together. */
int record_check(const struct record_profiler *profiler, const struct record_options *opt);

/* ---- config.c */

/* At most so many processes of a program that was started are followed at a time. */
#define RECORD_FOLLOWED 16384

int record_configure(struct recording *rec);
/* Frames of a user stack: as many as were asked for, or as there is room for. */
uint32_t record_most_frames(const struct record_options *opt);

/* ---- process.c */

/*
 * A sample of this process was met, which executes its generation-th program: the next drain sees
 * to it that it can be named after its end.
 */
void record_saw(struct recording *rec, uint32_t pid, uint64_t generation);
/*
 * The same, with its stack. In a recording that stays on most processes are sampled once: one that
 * was walked by what the kernel says is read when it comes with another stack.
 */
void record_saw_stack(struct recording *rec, const struct stack_record *record);
/* Is this process the program that was started, or one of its descendants, also if it has ended? */
bool record_follows(const struct recording *rec, uint32_t pid);
/* After a drain: processes with new stacks may have written a perf map by now. 0 or -ENOMEM. */
int record_look_again(struct recording *rec);
/*
 * Reads what all processes that there are have mapped, before the next drain: for programs that
 * are about to meet all of them. 0 or -ENOMEM.
 */
int record_read_all(struct recording *rec);
/* Takes what the kernel has: samples first, then what processes did. */
int record_drain(struct recording *rec);
/* What processes did, and those that were met since the last drain. */
int record_meet(struct recording *rec);
/* After a drain: forgets processes that ended, when there are many of them. */
void record_forget_ended(struct recording *rec);
/* Until all tables that were asked for are there, three seconds at most, or a signal comes; drains
 * meanwhile. */
int record_await_tables(struct recording *rec);
/* The last of what processes did, once the events are stopped; then everything can be named. */
int record_settle(struct recording *rec);
void record_processes_free(struct recording *rec);

/* ---- run.c */

/*
 * Opens the ring that is the map with this number, one of the profiler's own: its drain() is called
 * when the ring wakes us (programs/shared/wake.h), too. 0 or a negative errno after a message.
 */
int record_open_ring(struct recording *rec, unsigned int map, struct rp_ring **out);
/* Attaches what is attached at the start, and calls the profiler's own. */
int record_start_events(struct recording *rec);
/*
 * For a loop of the caller's own, in place of record_run(): several recordings at a time, of which
 * none has a program to run, confines itself or takes signals. It begins; is drained, by
 * record_drain() and record_forget_ended(), when a descriptor of its has something, and before its
 * maps are read; and is told once a second. 0 or a negative errno after a message.
 */
int record_begin(struct recording *rec);
int record_tick(struct recording *rec);
/* SIGINT, SIGTERM and SIGHUP, if the options say so, come through rec->signals from then on. */
int record_take_signals(struct recording *rec);
void record_release_signals(struct recording *rec);

/* ---- window.c */

/*
 * In the middle of a recording, from profiler->interval(): what was recorded since the last window,
 * or since the beginning, as record_report() would have it if the recording had ended now; and the
 * next one begins. Between the two, while the maps are read, nothing is recorded: *blind_ns. 0 or
 * a negative errno after a message.
 */
int record_window(struct recording *rec, struct report **out, uint64_t *blind_ns);

/* ---- samples.c: keeps a record; hands over those that wait, named */

int record_samples_keep(struct recording *rec, const struct stack_record *record);
int record_samples_hand_over(struct recording *rec);
void record_samples_free(struct recording *rec);

/* ---- report.c, ledger.c */

struct name_owner record_owner(const struct stack_record *record);
/* False: --comm has a pattern that it does not match. */
bool record_comm_wanted(const struct recording *rec, const char *comm);
/* The stacks as they are now, named; then they are forgotten. 0 or a negative errno. */
int record_report_stacks(struct recording *rec, struct report **out);
/* Calls rec->label, if there is one: for profilers that add samples by themselves. */
int record_label(struct recording *rec, const struct stack_record *r, struct report_sample *sample);
/* The record that has the kernel's side of a stack: itself, or one that was made earlier. */
const struct stack_record *record_kernel_record(const struct recording *rec,
						const struct stack_record *record);
/* Adds the frames of a stack, leaf first: of the kernel, then of the program. */
int record_frames(struct recording *rec, struct names *names, const struct stack_record *record,
		  struct name_ids *ids);
/* Looks up the kernel's frames of all stacks, so that sym_kernel_lookup() knows them. -ENOMEM. */
int record_prepare_kernel(struct recording *rec);
/*
 * With runs_often, every so often: whether the programs run so often that the kernel is not to
 * measure them any more. What they have cost is estimated by what they had until then.
 */
int record_watch_runs(struct recording *rec);
/* The lines that all profilers have, the profiler's own, and the cost. */
int record_ledger(struct recording *rec, uint64_t kept, struct record_ledger *l);

/* What was recorded, of what, when. note: how well it went, or NULL. Texts live as long as *out. */
struct record_info {
	struct report_info info;
	char *target;
	char build_id[41];
	struct utsname name;
};
int record_info(struct recording *rec, const char *note, struct record_info *out);
/* Of the time since *since (CLOCK_MONOTONIC, ns; 0: the beginning), which becomes the present. */
int record_info_since(struct recording *rec, uint64_t *since, struct record_info *out);
void record_info_free(struct record_info *info);

#endif
