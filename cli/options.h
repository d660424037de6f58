/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line, the same in every command: what is asked for, checked and in one struct. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rawprof/record.h>

/* Exit statuses (sysexits are of no use to a shell script that looks for 0, 1, 2). */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_SIGNAL = 128 };

struct options;
struct dry_run;

/* Which of the common options a command takes; the others are told apart from typing errors. */
enum {
	TAKES_TARGET = 1 << 0,	 /* -p -t --cgroup --comm -- PROGRAM */
	TAKES_CPUS = 1 << 1,	 /* -C */
	TAKES_SAMPLING = 1 << 2, /* -F -c -e --sw-event -I */
	TAKES_STACKS = 1 << 3,	 /* -U -K --max-stack --call-graph, and how frames are shown */
	TAKES_SAMPLES = 1 << 4,	 /* --samples -E */
	TAKES_INTERVAL = 1 << 5, /* -i */
	TAKES_ROWS = 1 << 6,	 /* -n --sort */
};

/* An option of one command alone: where its value lies in the struct that options.own points to. */
struct own_option {
	const char *name; /* "min", as in --min; NULL ends the list */
	char letter;	  /* 0: none */
	enum own_kind {
		OWN_FLAG,   /* bool */
		OWN_NUMBER, /* uint64_t, from least to most */
		OWN_MS, /* uint64_t, nanoseconds; given in milliseconds, with a fraction if need be */
		OWN_BYTES, /* uint64_t; 4096, 4K, 512KiB, 1M */
		OWN_TEXT   /* const char * */
	} kind;
	size_t offset;
	uint64_t least, most; /* most 0: UINT64_MAX */
};

/* What a command takes. */
struct options_spec {
	const char *usage;
	unsigned int takes;	      /* TAKES_... */
	const struct own_option *own; /* NULL: none */
	size_t own_size;
	/* What is wrong with these options together, for a person; NULL: nothing. May be NULL itself. */
	const char *(*check)(const struct options *opt);
};

struct options {
	const char *command;
	struct dry_run *dry_run; /* NULL: for real */
	void *own;		 /* the command's own; own_size bytes, 0 where nothing was given */

	struct record_options record; /* what is recorded */

	/* how it leaves */
	const struct report_format *format;
	const char *output; /* NULL: standard output */
	struct report_options show;
	const char *sort;   /* a column of a command that has its own; NULL */
	const char *weight; /* name of a value type, NULL: the first */
	bool folded_samples;
	bool color_off;
	int verbosity; /* -1 with -q, 0, 1 with -v, ... */
};

/*
 * Reads the arguments after the command's name. Returns -1 to go on, else the exit status: 0 after --help, 2
 * with a message for what makes no sense. Free with options_free() in any case.
 */
int options_parse(struct options *opt, int argc, char **argv, const struct options_spec *spec);
void options_free(struct options *opt);

#endif
