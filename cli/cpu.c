/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof cpu: where is CPU time going? See record/cpu.c and programs/cpu.c. */
#include <linux/perf_event.h>

#include "commands.h"
#include "run.h"

static int run(const struct options *opt)
{
	struct rp_event event = { .type = PERF_TYPE_SOFTWARE };

	if (opt->record.event && rp_event_parse(opt->record.event, &event))
		return EXIT_FAILED;
	return run_profiler(event.type == PERF_TYPE_TRACEPOINT ? &record_cpu_event : &record_cpu,
			    opt, NULL);
}

static const struct option_row own[] = {
	{ "weight", 0, OPTION_OUTPUT,
	  .help = "what the numbers are, by default samples; cpu, or the event that was counted",
	  .words = "samples cpu" },
	{ "event", 'e', OPTION_SAMPLING, OPTION_SAYS,
	  .help = "the event to sample by, by default cycles, or cpu-clock where there is no "
		  "hardware counter: a name of perf-list(1), raw (r01c2), "
		  "cpu/event=0x3c,umask=0/, :u or :k behind it; or a tracepoint, group:event: the "
		  "stacks that come by, each or with -c every N-th",
	  .words = "cpu-clock cycles instructions cache-misses branch-misses page-faults "
		   "context-switches" },
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
		"  rawprof cpu -F 999 --format folded -- ./prog args\n"
		"  rawprof cpu -e page-faults -c 1 -- ./prog  who touches new pages\n"
		"  rawprof cpu -e block:block_rq_issue 5      who has the disks work\n",
	.takes = TAKES_RESULT | TAKES_TARGET | TAKES_CPUS | TAKES_SAMPLING | TAKES_FRAMES |
		 TAKES_SAMPLES | TAKES_ROWS | TAKES_DURING,
	.own = own,
	.run = run,
};
