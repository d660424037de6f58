/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `rawprof offcpu`. */
#ifndef CLI_OFFCPU_H
#define CLI_OFFCPU_H

#include <rawprof/hist.h>

#include "base/hash.h"
#include "programs/threads/offcpu.h"

#include "cli/run.h"

struct offcpu_options {
	uint64_t min_ns, max_ns; /* 0: any */
	const char *state;	 /* NULL: all in which a thread waits */
	bool wakers;		 /* and the thread that ended the wait */
	uint64_t sample_ns;	 /* shorter ones are sampled; 0: none are */
	bool runq;		 /* waits for a CPU instead, as histograms */
	const char *by;		 /* of these: "cpu", "process"; NULL: all together */
};
/* runq.c: --runq, the whole command. */
int runq_run(const struct options *opt);
/* Its parts: the recording, whose context this is, and the histograms, which runq_open() makes. */
struct runq {
	const struct offcpu_options *options;
	struct sched_config config;
	struct report_hists *set;
	uint64_t kept, last_ns; /* time of the last report */
	struct hash_map seen;	/* runq.c: what the map held at the last report */
};
extern const struct record_profiler runq_profiler;
int runq_open(struct runq *r);
void runq_close(struct runq *r);
/* Adds to the histograms what was counted since the last call. 0 or a negative errno. */
int runq_take(struct recording *rec);

int offcpu_run(const struct options *opt);	     /* the command */
extern const struct record_profiler offcpu_profiler; /* its context: a struct offcpu */

/* A wait and the stack that ended it; waker 0: none was seen. */
struct offcpu_ended {
	struct offcpu_pair pair;
	struct offcpu_pair_weights weights;
	bool waiting; /* it has not ended: there is no waker */
};
struct offcpu {
	const struct offcpu_options *options;
	struct sched_config config;
	int visitor;		    /* the program that visits those asleep, -1 */
	uint64_t end_ns;	    /* CLOCK_MONOTONIC, when counting ended */
	uint64_t shorter, longer;   /* intervals that the limits left out */
	uint64_t drawn_for;	    /* of what waits still: see struct sched_stats */
	struct offcpu_ended *ended; /* with wakers */
	size_t nended, capacity;
};

/* offcpu_wakers.c: takes what the map pairs holds; adds all samples. 0 or a negative errno. */
int offcpu_take_pairs(struct recording *rec);
/* A thread that waits still, where it left with a stack, for so long. 0 or -ENOMEM. */
/* struct stack_moment.with of these. */
#define OFFCPU_STILL_WAITING UINT64_MAX
int offcpu_add_waiting(struct recording *rec, uint64_t stack, uint64_t ns);
int offcpu_add_pairs(struct recording *rec, struct report *report, struct names *names);

#endif
