/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof record: another command whose result is saved, for `rawprof report`. */
#include <string.h>

#include "commands.h"

static bool asks_for_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h");
}

/* The first word says which command, if it is one that records; else it is `cpu`. */
static const struct command *recorder(struct options *opt, int *argc, char ***argv)
{
	const char *word = *argc > 1 ? (*argv)[1] : "";
	const struct command *c = command_by_name(word);

	if (asks_for_help(word))
		return NULL;
	opt->keep = true;
	if (!c || !(c->takes & TAKES_TARGET) || c == &record_command)
		return &cpu_command;
	++*argv;
	--*argc;
	return c;
}

/* Another command runs in its place. */
static int run(const struct options *opt)
{
	(void)opt;
	return EXIT_FAILED;
}

static const struct option_row own[] = {
	{ "output", 'o', OPTION_OUTPUT, OPTION_SAYS,
	  .help = "the file that is written (" SAVED_PROFILE ")" },
	{ "format", 0, OPTION_OUTPUT, OPTION_SAYS,
	  .help = "nothing else than rawprof, which need not be said", .words = "rawprof" },
	{ 0 },
};

const struct command record_command = {
	.name = "record",
	.summary = "keep a profile, to look at it later or elsewhere",
	.about = "rawprof record [cpu|offcpu|wall|lock|mem|io|func|gpu] does what that command "
		 "does, cpu if none is named, takes its options, and saves the result: everything "
		 "that any format needs, with times and names. rawprof report shows it, in all "
		 "formats, on any machine and without root.\n\n"
		 "-o FILE.rawprof of the command itself does the same. lock saves stacks, unless "
		 "--hist or --by ask for figures; func saves its table, with --stacks the stacks; "
		 "gpu its table. The options below are those of cpu.",
	.examples = "  rawprof record -- ./prog                   to " SAVED_PROFILE "\n"
		    "  rawprof record offcpu -p 1234 -o wait.rawprof 10\n"
		    "  rawprof report -o flame.svg wait.rawprof\n",
	.takes = TAKES_RESULT | TAKES_TARGET | TAKES_CPUS | TAKES_SAMPLING | TAKES_FRAMES,
	.own = own,
	.instead = recorder,
	.run = run,
};
