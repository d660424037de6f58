/* SPDX-License-Identifier: BSD-2-Clause */
/* The subcommands: each takes checked options and returns the exit status. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "options.h"

int command_cpu(const struct options *opt);
int command_mem(const struct options *opt);
int command_offcpu(const struct options *opt);
int command_lock(const struct options *opt);
int command_io(const struct options *opt);
int command_wall(const struct options *opt);
int command_doctor(const struct options *opt);
int command_explain(int argc, char **argv, const char *usage);

struct command {
	const char *name;
	const char *summary;	  /* one line, the question it answers */
	struct options_spec spec; /* and what it takes */
	int (*run)(const struct options *opt);
	/* Of a command that does not record and has options of its own: reads them itself. */
	int (*main)(int argc, char **argv, const char *usage);
};
extern const struct command commands[]; /* ends with a NULL name */

#endif
