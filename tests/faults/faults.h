/* SPDX-License-Identifier: BSD-2-Clause */
/* faults.h: what the parts of the fault injection share: commands, points of failure, outcomes. */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sites.h"

/* ---- the table of commands (rows.c) */

enum form { TEXT, JSON, LINES, PPROF, PACKETS, SVG, HTML, SAVED, WINDOWS, NO_RESULT };

struct row {
	const char *args; /* behind "rawprof"; with @prog, @pid and @out in it */
	enum form form;
	const char *whole[3]; /* what a whole result holds, by regular expressions */
	bool cold;	      /* the cache of unwind tables is empty */
	bool tells;	      /* the result says what fails */
	bool grows;	      /* its file is written as it comes */
	int status;	      /* of a run without a fault */
};

extern const struct row rows[];
extern const unsigned int nrows;

/* ---- points of failure */

struct point {
	uint32_t row, nth; /* nth: of the calls at the site, from 1 */
	int err;
	struct site site;
};

/* What a call is named, "bpf PROG_LOAD" or "malloc". */
void kind_name(uint64_t kind, char *out, size_t size);
/* The errors that a call of that kind can have: at least one, at most three; returns how many. */
int kind_errors(uint64_t kind, int out[3]);
/* Of a call: its number and what tells it from others of that number. */
uint64_t kind_of(int number, const uint64_t *args);
bool kind_exempt(int number);
/* False for what only looks at the flags of a descriptor, for which there is no error. */
bool kind_fails(uint64_t kind);

/* ---- runs */

enum run_mode { RUN_PLAIN, RUN_COUNT_CALLS, RUN_COUNT_MEMORY, RUN_FAIL, RUN_KILL };

struct run {
	const struct row *row;
	enum run_mode mode;
	struct point point;	/* RUN_FAIL */
	unsigned int kill_usec; /* RUN_KILL */
	pid_t target;		/* for @pid */
	const char *dir;	/* where it runs and writes; the result is there as "result" */
	struct injection *shared;
};

enum verdict { RIGHT, TOLERATED, SILENT, PARTIAL, CRASHED, HUNG, LEFT, STATUS, NOT_REACHED };
enum { VERDICTS = NOT_REACHED + 1 };

struct outcome {
	enum verdict verdict;
	int status; /* as of wait(2) */
	bool hung, fired;
	char why[160];
};

/* Where things are; all of them absolute paths. */
struct places {
	char rawprof[512], build[512], work[512];
};
extern struct places places;

/* Runs it; what was left behind by it is in out->why. */
void supervise(const struct run *run, struct outcome *out);
/* What the finished run is worth. @usual: lines of messages that a run without a fault has. */
void judge(const struct run *run, struct outcome *out, const char *usual);
/* Empties what the last run left in the directory; a file that is to be written exists before. */
void judge_prepare(const struct run *run);
/* The messages of a run, without their digits, for judge(); to be freed. */
char *judge_usual(const struct row *row, const char *dir);
char *read_file(const char *dir, const char *name, size_t *size);
/* Starts the program that @pid stands for. */
pid_t target_start(const char *dir);
/* Why that program is not as it should be, or NULL. */
const char *target_harmed(pid_t pid);

#endif
