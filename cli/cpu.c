/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof cpu: where is CPU time going? See record/cpu.c and programs/cpu.c. */
#include "commands.h"
#include "run.h"

static int run(const struct options *opt)
{
	return run_profiler(&record_cpu, opt, NULL);
}

static const struct option_row own[] = {
	{ "weight", 0, OPTION_OUTPUT, .help = "what the numbers are, by default samples",
	  .words = "samples cpu" },
	{ 0 },
};

const struct command cpu_command = {
	.name = "cpu",
	.summary = "where is CPU time going?",
	.about = "Where is CPU time going? Samples the stack of what runs, 99 times a second on "
		 "every CPU.",
	.examples =
		"  rawprof cpu 5                              the whole machine, for five seconds\n"
		"  rawprof cpu -p 1234 -o flame.svg 10        one process, as a flame graph\n"
		"  rawprof cpu -F 999 --format folded -- ./prog args\n",
	.takes = TAKES_RESULT | TAKES_TARGET | TAKES_CPUS | TAKES_SAMPLING | TAKES_STACKS |
		 TAKES_SAMPLES | TAKES_ROWS,
	.own = own,
	.run = run,
};
