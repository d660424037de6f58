/* SPDX-License-Identifier: BSD-2-Clause */
/* main.h: what is asked for on the command line, and the processes that do it. */
#ifndef FAULTS_MAIN_H
#define FAULTS_MAIN_H

#include "faults.h"

extern struct options {
	unsigned int sample, jobs, kills, seed, row;
	bool list, keep, all;
	const char *point, *findings, *rawprof, *only, *at;
} options;

struct worker {
	unsigned int number;
	char dir[600];
	struct injection *shared;
	pid_t target;
};

typedef void worker_fn(struct worker *w, unsigned int i, void *ctx);
void in_parallel(unsigned int n, worker_fn *each, void *ctx);
/* The run gets its directory and its target from the worker. */
void worker_run(struct worker *w, struct run *run, struct outcome *out, const char *usual);
void *shared_memory(size_t size);
bool row_chosen(unsigned int row);

int points_main(void);
int point_main(void);
int kills_main(void);

#endif
