/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rawprof stat: what its files share. It counts with perf events alone: no BPF program, and thus no
 * recording.
 *
 *	stat.c		the command and its options
 *	run.c		from the first count to the last: rounds, intervals, signals
 *	target.c	what is counted: tasks, CPUs, a control group
 *	rows.c		sums over places and rounds
 *	figures.c	what follows from them
 *	table.c, json.c, csv.c	how they leave
 */
#ifndef CLI_STAT_H
#define CLI_STAT_H

#include <rawprof/loader.h>

#include "base/hash.h"
#include "cli/output.h"
#include "record/target.h"

struct stat_options {
	const char *events; /* NULL: the usual ones */
	bool all;	    /* the whole machine, also while a program runs */
	bool per_cpu, per_thread;
	uint64_t interval_ms;
	unsigned int repeat;
	const char *separator; /* of CSV; NULL: another form */
};

/* ---- figures.c */

/* One event in one row: its counts, of one round or of several. */
struct stat_sum {
	enum rp_counter_state state;
	uint64_t enabled_ns, running_ns; /* of all rounds */
	uint64_t runs;			 /* rounds in which it counted; of their scaled counts: */
	double mean, m2;		 /*   m2: sum of the squares of distances to the mean */
};

/* What is shown together: of everything, of a CPU, of a thread. */
struct stat_row {
	char label[48];	      /* "", "CPU3", "nginx-1234" */
	pid_t task;	      /* -1 */
	int cpu;	      /* -1 */
	struct stat_sum *sum; /* one for each event */
};

/* A series of one figure: seconds of rounds. */
struct stat_series {
	uint64_t n;
	double mean, m2;
};
void stat_series_add(struct stat_series *s, double value);
/* The standard error of the mean, as a part of it; 0 where it cannot be told. */
double stat_spread(uint64_t n, double mean, double m2);

struct stat_figures {
	const struct rp_event *events;
	size_t n;
	struct stat_row *rows;
	size_t nrows;
	struct stat_series elapsed, user, system; /* seconds; the last two: of a program */
	double time; /* of an interval: when it ended, in seconds from the beginning */
};

enum stat_status { STAT_COUNTED, STAT_NOT_COUNTED, STAT_NOT_SUPPORTED, STAT_NOT_PERMITTED };
enum stat_status stat_status(const struct stat_sum *sum);
const char *stat_status_name(enum stat_status status); /* "not counted" */
/* How much of the time it counted: 1 unless there were more events than counters. */
double stat_running(const struct stat_sum *sum);

/* How a count is shown: clocks in milliseconds, what has a unit in that. */
double stat_shown(const struct rp_event *event, double value, const char **unit);
bool stat_is_clock(const struct rp_event *event);

/* What follows from a count and others of its row: "0.98 CPUs utilized". */
struct stat_metric {
	double value;
	char unit[160]; /* "": there is none */
};
struct stat_metric stat_metric(const struct stat_figures *f, const struct stat_row *row,
			       size_t event);

/* ---- rows.c: an int is 0 or a negative errno */

struct stat_rows {
	struct hash_map keys; /* of rows: what places of one have in common */
	size_t capacity;      /* of the figures' rows */
	bool is_complete;

	/* of a round */
	uint32_t *row;		       /* of each place; HASH_NONE: of none */
	struct rp_perf_counts *before; /* of an interval: for each event in each place */
	struct stat_part {
		double value;
		uint64_t enabled_ns, running_ns;
	} * part; /* of each row, while an event is summed up */
};
/* A round begins; the first makes the rows. The figures' events are known. */
int stat_rows_note(struct stat_rows *r, struct stat_figures *f, const struct stat_options *own,
		   const struct rp_counters *counters);
/* It is over. */
void stat_rows_forget(struct stat_rows *r);
void stat_rows_free(struct stat_rows *r, struct stat_figures *f);
/* Adds what an event has counted since the last time. */
int stat_rows_sum(struct stat_rows *r, struct stat_figures *f, const struct rp_counters *counters,
		  size_t event);

/* ---- target.c */

/* Of those that are looked for by what they are called, for anyone may be called so. */
#define STAT_THREADS 4096
struct stat_thread {
	pid_t tid;
	uid_t uid; /* of a range of subordinate ones the first */
};
/*
 * Keeps @most of them, in their order: of each user as many as of any other, or all that it has.
 * Returns how many are left. 0 and a reason in *err: -ENOMEM.
 */
size_t stat_threads_keep(struct stat_thread *thread, size_t n, size_t most, int *err);

struct stat_target {
	struct rp_cpus cpus; /* n 0: all that there are */
	pid_t *tasks;
	size_t ntasks;
	int cgroup; /* descriptor; -1 */
};
/* 0 or a negative errno after a message. child: of the program that waits, 0: none. */
int stat_target_open(const struct options *opt, pid_t child, struct stat_target *out);
void stat_target_close(struct stat_target *t);
/* "process 1234", "./prog args", "the whole machine": malloc'd; NULL: out of memory. */
char *stat_target_name(const struct options *opt);

/* ---- run.c */

int stat_run(const struct options *opt);

/* ---- table.c, json.c, csv.c: 0 or a negative errno. first: of a series. */

struct stat_view {
	const struct options *opt;
	const struct stat_options *own;
	const char *target;
	int exit_status; /* of the program */
	bool interval;
};
int stat_write_table(FILE *f, const struct stat_view *v, const struct stat_figures *figures,
		     bool first);
int stat_write_json(FILE *f, const struct stat_view *v, const struct stat_figures *figures);
int stat_write_csv(FILE *f, const struct stat_view *v, const struct stat_figures *figures);

#endif
