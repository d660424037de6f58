/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of a recording, the same for every profiler:
 *
 *	record_session_open	the target, the symbolizer, the side-band that tells of processes
 *	   (the subcommand makes its maps, loads its programs, attaches them)
 *	record_session_record	lets the target go; drains until time, Ctrl-C or the target's end
 *	   (the subcommand stops its events, names what it has, reports)
 *	record_session_close	ends a program that was started, and says its exit status
 *
 * A subcommand is options, a program and a view; it meets the recording through struct session_work.
 */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include <rawprof/loader.h>
#include <rawprof/symbolize.h>

#include "ksym.h"
#include "cli/options.h"
#include "base/id_set.h"
#include "target.h"
#include "unwind_feed.h"

struct session_work;

struct session {
	const struct options *opt;
	const struct session_work *work; /* from record_session_record on */
	struct target target;
	struct sym_user *user;
	struct sym_kernel *kernel;
	struct sym_demangler *demangler;
	struct ksym ksym;
	struct rp_sideband *side;
	struct unwind_feed
		*feed;	       /* the subcommand's, if its program walks stacks by tables; NULL */
	struct id_set known;   /* processes whose mappings are known: seen being made, or read */
	struct id_set family;  /* of -- PROGRAM: all that it has begotten */
	struct id_set met;     /* processes that a sample was taken of */
	struct id_set sampled; /* their process ids alone */
	size_t most_events;    /* of processes to remember, before those that ended are forgotten */
	unsigned int rereads;  /* of mappings since the last tick: a walk had lost its way */
	struct id_set fresh;   /* those of them that were met since the last drain */
	int signals;	       /* signalfd of SIGINT, SIGTERM, SIGHUP */
	int stats;	       /* holds BPF_ENABLE_STATS on; negative: not to be had */
	int caught;	       /* the signal that ended the recording, 0 */
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t busy_ns;	   /* of all CPUs, between the two */
	uint64_t wall_offset;	   /* to add to get nanoseconds since 1970 */
};

/* What a subcommand does while it is being recorded. */
struct session_work {
	void *ctx;
	int wake_fd;		 /* readable when draining is worth it */
	int (*start)(void *ctx); /* enable the events; called once, just before the target runs */
	int (*drain)(
		void *ctx); /* take what the kernel has; record_session_saw() for every process met */
	int (*drained)(void *ctx);  /* after that the processes met are known; may be NULL */
	int (*tick)(void *ctx);	    /* once a second: hot-plugged CPUs; may be NULL */
	int (*interval)(void *ctx); /* every --interval, after a drain; may be NULL */
	bool often;		    /* drain ten times a second: a person reads along */
	uint64_t (*samples)(const void *ctx); /* so far, for the progress line */
	/* The program of -- PROGRAM is being loaded, see record_target_start_watched(); may be NULL. */
	int (*loaded)(void *ctx, pid_t pid);
	/* Somebody has mapped code, a moment ago; then the side-band is read ten times a second. May be NULL. */
	int (*mapped)(void *ctx, const struct rp_side_event *e);
};

/* A session that is not open: from here on it may be closed. */
void record_session_init(struct session *s, const struct options *opt);
/* 0 or a negative errno after a message. */
int record_session_open(struct session *s);

/*
 * Records. 0 when it ended as it should; -EINTR when a signal came before the start; else a negative errno
 * after a message. A second Ctrl-C, from here on, ends the process at once.
 */
int record_session_record(struct session *s, const struct session_work *work);

/*
 * A sample of this process was met, which executes its generation-th program: the next drain sees to it that it can
 * be named after its end.
 */
void record_session_saw(struct session *s, uint32_t pid, uint64_t generation);

/* Is this process the program, or one of its descendants, also if it has ended? */
bool record_session_follows(const struct session *s, uint32_t pid);

/* A stack of this process ended where no mapping is known: it has made executable what was not. */
void record_session_lost_way(struct session *s, uint32_t pid);

/* The last of the side-band, once the events are stopped; then everything can be named. */
int record_session_settle(struct session *s);

/* Ends the target; returns the exit status to pass on. */
int record_session_finish(struct session *s);
void record_session_close(struct session *s);

#endif
