/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line, the same in every command: what is asked for, checked and in one struct. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <rawprof/report.h>

/* Exit statuses (sysexits are of no use to a shell script that looks for 0, 1, 2). */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_SIGNAL = 128 };

struct id_list {
	uint32_t *id;
	uint32_t n;
};

struct options {
	const char *command;

	/* whom */
	struct id_list pids, tids;
	const char *cpus; /* a list as the kernel writes them, NULL: all */
	const char *cgroup;
	const char *comm;
	char **program; /* to run, with its arguments; NULL: none */

	/* how long; seconds, 0: until Ctrl-C or the program's end */
	double duration;

	/* sampling */
	uint64_t freq;	   /* Hz, or */
	uint64_t period;   /* one sample every so many events */
	const char *event; /* NULL: the best there is */
	bool software_event;
	bool user_only, kernel_only; /* stacks */
	bool idle;
	unsigned int max_stack;
	enum { CALL_GRAPH_BEST, CALL_GRAPH_FP, CALL_GRAPH_EH } call_graph; /* of user stacks */

	/* how it leaves */
	const struct report_format *format;
	const char *output; /* NULL: standard output */
	struct report_options show;
	const char *weight; /* name of a value type, NULL: the first */
	bool lines;	    /* of source */
	bool inlined;	    /* functions too */
	bool keep_mangled;  /* names of C++ and Rust as their symbol tables have them */
	bool samples;	    /* each as it comes */
	bool folded_samples;
	bool color_off;
	int verbosity; /* -1 with -q, 0, 1 with -v, ... */
};

/*
 * Reads the arguments after the command's name. Returns -1 to go on, else the exit status: 0 after --help, 2
 * with a message for what makes no sense. Free with options_free() in any case.
 */
int options_parse(struct options *opt, int argc, char **argv, const char *usage);
void options_free(struct options *opt);

#endif
