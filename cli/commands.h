/* SPDX-License-Identifier: BSD-2-Clause */
/* The subcommands: each takes checked options and returns the exit status. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "options.h"

int command_cpu(const struct options *opt);
int command_doctor(const struct options *opt);

struct command {
	const char *name;
	const char *summary; /* one line, the question it answers */
	const char *usage;   /* all of --help */
	int (*run)(const struct options *opt);
};
extern const struct command commands[]; /* ends with a NULL name */

#endif
