/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof stat: how many events of each kind? See run.c. */
#include <string.h>

#include "cli/commands.h"
#include "stat.h"

static const char *check(const struct options *opt)
{
	const struct stat_options *own = opt->own;
	const struct record_options *r = &opt->record;
	const bool tasks = r->program || r->pids.n || r->tids.n || r->comm;

	if (opt->keep)
		return "counts are no profile: -o FILE.json of stat itself keeps them";
	if (!opt->format->json && opt->format != report_format_by_name("table"))
		return "it has the formats table and json, and --csv";
	if (own->separator && opt->format->json)
		return "either --csv or --format json";
	if (own->interval_ms && r->interval)
		return "either -i or -I";
	if (own->repeat > 1 && !r->program)
		return "--repeat runs a program again: it wants one behind --";
	if (own->repeat > 1 && (own->interval_ms || r->interval))
		return "either --repeat or an interval";
	if (r->comm && (r->program || r->pids.n || r->tids.n))
		return "--comm chooses among the threads that there are: no --pid, --tid or "
		       "program";
	if (r->cgroup && (r->pids.n || r->tids.n || r->comm || own->per_thread))
		return "either --cgroup, or --pid, --tid and --comm; a control group is not "
		       "counted by thread";
	if (own->all && (r->pids.n || r->tids.n || r->comm))
		return "either --all, or --pid, --tid and --comm";
	if (own->per_thread && own->per_cpu)
		return "either --per-thread or --per-cpu";
	if (own->per_thread && (r->program || !tasks))
		return "--per-thread wants threads that there are: --pid, --tid or --comm";
	return NULL;
}

#define OPTION_STRUCT struct stat_options
static const struct option_row own[] = {
	FLAG("per-cpu", 'A', VIEW, per_cpu, "the counts of each CPU"),
	FLAG("per-thread", 0, VIEW, per_thread,
	     "the counts of each thread that there is, of --pid, --tid or --comm"),
	FLAG("all", 'a', TARGET, all,
	     "the whole machine, which is the default; with a program: while it runs"),
	{ "cgroup", 0, OPTION_TARGET, OPTION_SAYS,
	  .help = "what runs in this control group (version 2, or perf_event of version 1)" },
	{ "comm", 0, OPTION_TARGET, OPTION_SAYS,
	  .help = "threads whose command name matches at the beginning, and what they start" },
	OPTION("event", 'e', SAMPLING, TEXT, events, "LIST",
	       "events with commas between them: those of perf-list(1), raw (r01c2), a tracepoint "
	       "(sched:sched_switch, also sched:*), cpu/event=0x3c,umask=0/ and names as sysfs has "
	       "them; {a,b} is a group; :u, :k behind it",
	       .words = "task-clock context-switches cpu-migrations page-faults minor-faults "
			"major-faults cycles instructions branches branch-misses cache-references "
			"cache-misses",
	       .least = 1),
	OPTION("interval-ms", 'I', SAMPLING, NUMBER, interval_ms, "MS",
	       "print the counts every so often, as -i, in milliseconds",
	       .wrong = "is no interval: milliseconds, from 10 on", .least = 10,
	       .most = 86400 * 1000),
	OPTION("repeat", 'r', SAMPLING, UINT, repeat, "N",
	       "run the program so often: the mean of each count, and its standard error",
	       .least = 1, .most = 1000000),
	OPTION("csv", 'x', OUTPUT, TEXT, separator, "SEP",
	       "lines of fields with SEP between them, as perf stat -x has them", .least = 1),
	{ "format", 0, OPTION_OUTPUT, OPTION_SAYS, .help = "the form of the result",
	  .words = "table json" },
	{ "output", 'o', OPTION_OUTPUT, OPTION_SAYS,
	  .help = "write to FILE; .json chooses that format" },
	{ 0 },
};
#undef OPTION_STRUCT

const struct command stat_command = {
	.name = "stat",
	.summary = "how many cycles, cache misses, page faults, switches?",
	.about =
		"How many? Counts events from beginning to end, of a program, of processes, of "
		"CPUs: CPU time, context switches, migrations, page faults, and where the machine "
		"has counters for them, cycles, instructions, branches and cache misses; and says "
		"what follows: instructions per cycle, misses in percent, events a second.\n\n"
		"It needs no BPF, and no rights for programs of one's own where "
		"kernel.perf_event_paranoid is 1 or less; at 2, only user mode is counted. Where "
		"there are fewer counters than events, these take turns: a count is then scaled up "
		"by the part of the time that is shown beside it. Of threads that --comm finds "
		"4,096 are counted, as many of each user.",
	.examples = "  rawprof stat -- ./prog args               a program, from start to end\n"
		    "  rawprof stat -r 10 -- ./prog              ten times, with the spread\n"
		    "  rawprof stat -p 1234 -i 1                 a process, every second\n"
		    "  rawprof stat -A -e page-faults,cs 5       each CPU, for five seconds\n"
		    "  rawprof stat -e '{cycles,instructions}:u' -- ./prog\n",
	.takes = TAKES_RESULT | TAKES_TARGET | TAKES_CPUS | TAKES_INTERVAL,
	.own = own,
	.own_size = sizeof(struct stat_options),
	.check = check,
	.run = stat_run,
};
