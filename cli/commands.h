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
	const struct option_row *own; /* NULL: none */
	size_t own_size;
	/* What is wrong with these options together, for a person; NULL: nothing. */
	const char *(*check)(const struct options *opt);
	/* Takes checked options, returns the exit status. */
	int (*run)(const struct options *opt);
};

extern const struct command cpu_command, offcpu_command, wall_command, lock_command, mem_command,
	io_command, doctor_command, explain_command;

extern const struct command *const commands[]; /* ends with NULL */

/* `rawprof help COMMAND`. */
void help_print(const struct command *command, FILE *out);
/* The command's own options for the man page, in roff; NULL: the common ones. */
void help_man(const struct command *command, FILE *out);
/* For completion, a line for each option: "-n --top:N:", names, value, words that it may be. */
void help_words(const struct command *command, FILE *out);

#endif
