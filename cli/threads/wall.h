/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of `rawprof wall`: wall.c records, wall_report.c adds up. */
#ifndef CLI_WALL_H
#define CLI_WALL_H

#include "base/hash.h"
#include "programs/threads/wall.h"

#include "cli/run.h"

int wall_run(const struct options *opt); /* the command */

/* What became of a thread. */
struct wall_thread {
	uint64_t pid_tgid;
	char comm[16];
	uint64_t on_cpu, queued, lost; /* ns, as in struct sched_thread */
	uint64_t samples;	       /* where it was on the CPU */
	uint64_t shared, given; /* samples that have got their part of on_cpu, and how much */
};
/* The thread's entry, made if it is new. NULL: no memory. */
struct wall_thread *wall_thread(struct hash_map *threads, uint64_t pid_tgid);

struct wall {
	struct sched_config config;
	struct rp_perf *perf;
	uint64_t freq, period;
	int visitor;		 /* the program that visits threads, -1 */
	uint64_t end_ns;	 /* CLOCK_MONOTONIC, when counting ended */
	struct hash_map threads; /* of struct wall_thread */
	uint64_t lifetime_ns;	 /* of all threads, within the recording */
	uint64_t shown_ns;	 /* of it, what the report holds */
	uint64_t lost_ns;	 /* of that, without a stack */
	uint64_t samples;	 /* that the report holds; its counts are of waits too */
};

/* Adds all samples to the report. 0 or -ENOMEM. */
int wall_samples(struct recording *rec, struct report *report, struct names *names);
/* States in the order of the report. */
extern const char *const wall_states[];

#endif
