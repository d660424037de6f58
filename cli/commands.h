/* SPDX-License-Identifier: BSD-2-Clause */
/* A subcommand as one value: what help says of it, what it takes, how it is run. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include <stdio.h>

#include "options.h"

struct command {
	const char *name;
	const char *summary;	      /* one line, the question it answers */
	const char *about;	      /* paragraphs, with an empty line between them */
	const char *examples;	      /* lines of the help */
	unsigned int takes;	      /* TAKES_... */
	const char *words;	      /* what words it takes, "EVENT..."; NULL: as TAKES_ says */
	const char *many;	      /* with TAKES_SECOND: how to name more than two; NULL */
	const struct option_row *own; /* NULL: none */
	size_t own_size;
	/* What is wrong with these options together, for a person; NULL: nothing. */
	const char *(*check)(const struct options *opt);
	/*
	 * Another command that runs in its place, told by the words, of which it may take some
	 * away; NULL: none does. May be NULL.
	 */
	const struct command *(*instead)(struct options *opt, int *argc, char ***argv);
	/* It only reads files of the user who runs it: rights of rawprof's file are given up. */
	bool only_reads;
	/* Takes checked options, returns the exit status. */
	int (*run)(const struct options *opt);
};

/* All of them, in the order of the help: a new one is one more word here. */
#define COMMANDS(X)                                                                                \
	X(cpu)                                                                                     \
	X(offcpu)                                                                                  \
	X(lock)                                                                                    \
	X(wall)                                                                                    \
	X(mem)                                                                                     \
	X(io)                                                                                      \
	X(func)                                                                                    \
	X(trace) X(stat) X(gpu) X(top) X(agent) X(record) X(report) X(diff) X(doctor) X(explain)

#define DECLARE_COMMAND(name) extern const struct command name##_command;
COMMANDS(DECLARE_COMMAND)

extern const struct command *const commands[]; /* ends with NULL */

/* The command of this name; NULL: there is none. */
const struct command *command_by_name(const char *name);

/* `rawprof help COMMAND`. */
void help_print(const struct command *command, FILE *out);
/*
 * `rawprof help --list [COMMAND]`, for completion and the man page: a line for each option, "-n
 * --top:N:::Output:rows of the table (20)". The fields: names, value, words that it may be, "own"
 * if the command has or describes it itself, group, help. command NULL: all common options.
 */
void help_list(const struct command *command, FILE *out);

#endif
