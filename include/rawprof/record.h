/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recording, the whole way: programs are loaded and attached, stacks are taken until the time is
 * over, named, and handed over as a report, which leaves in any format (report.h).
 *
 *	struct recording *rec;
 *	struct report *report;
 *	int err = record_new(&record_cpu, &(struct record_options){ .duration = 5 }, &rec);
 *
 *	if (!err && !(err = record_run(rec)) && !(err = record_report(rec, &report)))
 *		err = report_write_table(report, stdout, NULL);
 *
 * The options are copied, what they point to must outlive the recording. One thread uses a
 * recording; record_stop() alone may be called by any, and by signal handlers. The loader and the
 * symbolizer below are not safe for threads either: one recording at a time.
 *
 * While it is open the process may open as many files as its hard limit allows (RLIMIT_NOFILE).
 * What goes wrong is said once, where it is known (rp_log() of loader.h); the functions return 0 or
 * a negative errno. A process needs CAP_BPF and CAP_PERFMON, and for names of other users'
 * processes CAP_SYS_PTRACE.
 */
#ifndef RAWPROF_RECORD_H
#define RAWPROF_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include <rawprof/report.h>

struct record_ids {
	uint32_t *id;
	uint32_t n;
};

/* How user stacks are walked. */
enum record_call_graph {
	RECORD_CALL_GRAPH_BEST, /* by tables where the kernel allows it, else by frame pointers */
	RECORD_CALL_GRAPH_EH,	/* by unwind tables */
	RECORD_CALL_GRAPH_FP,	/* by frame pointers */
};

/*
 * How deep stacks are. Of a user stack with more than @innermost + @outermost frames these are
 * kept, and between them is a mark; without @outermost the frames beyond @innermost are cut.
 */
struct record_depth {
	unsigned int innermost; /* 0: 1024; or 256, before Linux 5.17 and with little memory */
	unsigned int outermost; /* together at most 1024 */
};

/*
 * What to record. All zero: all processes and CPUs, 99 times a second, until a signal or
 * record_stop().
 */
struct record_options {
	/*
	 * target: these processes, threads, CPUs, this control group, commands of this name (a
	 * glob)
	 */
	struct record_ids pids, tids;
	const char *cpus; /* as the kernel writes them, "0-3,8"; NULL: all */
	const char *cgroup;
	const char *comm;
	char **program; /* a program to run, with its arguments, and its children; NULL: none */

	double duration; /* seconds; 0: until a signal, record_stop(), or the program's end */
	double interval; /* seconds between parts of a series; 0: there are none */
	/*
	 * SIGINT, SIGTERM and SIGHUP end it, and do nothing else: to be opened before threads
	 * start.
	 */
	bool signals;
	/*
	 * Once it has begun, the process gives up, for good, what it does not need to read what
	 * other users wrote: it is neither root nor can it open files for writing, execute programs
	 * or use the network. For processes that do nothing else, with one thread.
	 */
	bool confine;

	/*
	 * Only what happens inside of calls that take longer than this: "./prog:request>10ms"; the
	 * function as in record/probes/probes.h. NULL: everything.
	 */
	const char *during;

	/* sampling; freq and period 0: 99 Hz */
	uint64_t freq;	     /* Hz, or */
	uint64_t period;     /* one sample every so many events */
	const char *event;   /* as perf names it; NULL: the best there is */
	bool software_event; /* without the hardware's counters */
	bool idle;	     /* the idle task too */

	/* stacks */
	bool user_only, kernel_only;
	struct record_depth max_stack;
	enum record_call_graph call_graph;
	/* Of stacks that have functions of managed languages no other frames; or none of these. */
	bool python_only, native_only;
	/* Labels that programs of Go give goroutines (runtime/pprof), and the number of each. */
	bool go_labels, goroutines;
	/*
	 * Labels that programs publish of their threads (thread contexts of OpenTelemetry) and of
	 * themselves; and of a thread its trace and span.
	 */
	bool thread_context, trace_ids;

	/* names */
	bool lines;	     /* of source, from debug data */
	bool lines_in_names; /* in the names of frames, if a format has no other place */
	bool inlined;	     /* functions that were inlined, as frames of their own */
	bool debuginfod;     /* servers are asked for debug files that are not there */
	bool keep_mangled;   /* names of C++ and Rust as their symbol tables have them */

	/*
	 * Samples: every record is handed over, named, soon after it came; nothing is counted.
	 * sample() is called with each, and with NULL behind those that came together. What it
	 * returns below 0 ends the recording.
	 */
	bool samples;
	/* The report has a stream: when its samples were. See struct report_moment. */
	bool stream;
	int (*sample)(void *ctx, const struct report_event *event);
	/* Called once a second, and with last set at the end: how far it is. May be NULL. */
	void (*progress)(void *ctx, double seconds, uint64_t stacks, bool last);
	void *ctx; /* for both */
};

struct recording;
struct record_profiler; /* what is recorded */

/*
 * CPU time: the stacks that a perf event interrupts. Values: samples, cpu time or the event's
 * count.
 */
extern const struct record_profiler record_cpu;
/*
 * The stacks that come by the tracepoint that is the event, every period-th one on each CPU (0:
 * all). Values: samples, the events that they stand for.
 */
extern const struct record_profiler record_cpu_event;

/*
 * Checks the options, starts the program (which waits), loads and attaches. -EINVAL for options
 * that make no sense together, -ESRCH, -ENOENT, -EPERM, what the loader returns.
 */
int record_new(const struct record_profiler *profiler, const struct record_options *opt,
	       struct recording **out);

/*
 * Records until the end. 0; -EINTR when a signal came before it began; -EALREADY the second time;
 * else what went wrong.
 */
int record_run(struct recording *rec);

/* The recording ends as if its time were over. From a signal handler or another thread. */
void record_stop(struct recording *rec);

/*
 * The stacks of a recording that has ended, by name, with what each is worth, the ledger and the
 * cost; of samples, which were handed over, the ledger and the cost. Once: -EALREADY the second
 * time, -EINVAL before record_run().
 */
int record_report(struct recording *rec, struct report **out);

/*
 * Ends the program that was started, if it still runs: its exit status, 128 + N if signal N ended
 * it; else 0.
 */
int record_finish(struct recording *rec);

/* Closes everything. NULL is allowed. */
void record_free(struct recording *rec);

#endif
