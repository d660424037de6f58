/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `rawprof offcpu` and `rawprof wall`, and which of them go together. */
#include <stddef.h>

#include "cli/commands.h"
#include "offcpu.h"
#include "sched.h"
#include "wall.h"

static const char *check_offcpu(const struct options *opt)
{
	const struct offcpu_options *own = opt->own;
	uint32_t states;

	if (own->state && !sched_states_parse(own->state, &states))
		return "--state wants letters of S D T t P I R, their names, or a number";
	if (own->runq && (own->state || own->wakers || own->min_ns || own->max_ns))
		return "--runq is about waits for a CPU: no --state, --wakers, --min-block, "
		       "--max-block";
	if (opt->record.during && (own->runq || own->wakers))
		return "--during is for stacks of waits: no --runq, --wakers";
	if (own->runq && (opt->given & TAKES_FRAMES))
		return "--runq has no stacks: no --user, --kernel, --call-graph, --lines, ...";
	if ((own->by || opt->record.interval) && !own->runq)
		return "--by and --interval are for --runq";
	if (own->sample_ns && (own->runq || own->wakers || opt->record.during))
		return "--sample is for stacks of waits: no --runq, --wakers, --during";
	if (own->min_ns && own->max_ns && own->max_ns < own->min_ns)
		return "--max-block is less than --min-block";
	return NULL;
}

#define OPTION_STRUCT struct offcpu_options

static const struct option_row offcpu_own[] = {
	FLAG("wakers", 'w', VIEW, wakers,
	     "each wait with what ended it: behind a frame '--' the waker's stack, reversed, and "
	     "its name, or [interrupt], [waker not seen]; [still waiting] if the wait outlasts the "
	     "recording; Linux 5.15 with BTF"),
	FLAG("runq", 0, VIEW, runq,
	     "in place of stacks: how long threads wait for a CPU, as histograms"),
	OPTION("by", 0, VIEW, WORD, by, "WHAT", "with --runq: a histogram for each",
	       .words = "cpu process"),
	OPTION("min-block", 'm', SAMPLING, MS, min_ns, "MS",
	       "only waits of at least so many milliseconds (0.1 is 100 us)"),
	OPTION("max-block", 'M', SAMPLING, MS, max_ns, "MS",
	       "only waits of at most so many milliseconds"),
	OPTION("sample", 0, SAMPLING, MS, sample_ns, "MS",
	       "of threads that wait for less than so many milliseconds each time take some "
	       "stacks, and count each as what it stands for: sums stay right, and cost less; the "
	       "ledger counts what was taken"),
	OPTION("state", 0, SAMPLING, TEXT, state, "LIST",
	       "only threads in these states, by the letters of ps(1): S sleeping, "
	       "D uninterruptible, T stopped, t traced, P parked, I idle, R runnable; by their "
	       "names; or by bits of the kernel (2); default: all but R",
	       .least = 1),
	{ "interval", 'i', OPTION_SAMPLING, .help = "with --runq: print every so often" },
	{ "format", 0, OPTION_OUTPUT,
	  .help = "the form of the result (with --runq table, json, prometheus)",
	  .words = "table folded svg html pprof perf speedscope json prometheus "
		   "firefox perfetto chrome otlp rawprof" },
	{ "weight", 0, OPTION_OUTPUT,
	  .help = "what the numbers are, by default delay (microseconds in folded and svg)",
	  .words = "delay contentions" },
	{ 0 },
};

const struct command offcpu_command = {
	.name = "offcpu",
	.summary = "what are threads waiting for?",
	.about = "What are threads waiting for? Measures from when a thread leaves its CPU to when "
		 "it is back on one, by the stack that it left with.",
	.examples =
		"  rawprof offcpu -p 1234 5                   one process, for five seconds\n"
		"  rawprof offcpu --min-block 10 5            only what takes 10 ms and longer\n"
		"  rawprof offcpu --state D -o disk.svg 10    uninterruptible waits\n"
		"  rawprof offcpu -f -- ./prog args           a program from start to end\n",
	.takes = TAKES_RESULT | TAKES_TARGET | TAKES_FRAMES | TAKES_ROWS | TAKES_INTERVAL |
		 TAKES_DURING,
	.own = offcpu_own,
	.own_size = sizeof(struct offcpu_options),
	.check = check_offcpu,
	.run = offcpu_run,
};

static const char *check_wall(const struct options *opt)
{
	return opt->record.idle ? "--include-idle is of no use: an idle CPU is no thread's time"
				: NULL;
}

static const struct option_row wall_own[] = {
	{ "include-idle", 'I' },
	{ "weight", 0, OPTION_OUTPUT,
	  .help = "what the numbers are, by default wall (microseconds in folded and svg)",
	  .words = "wall samples" },
	{ 0 },
};

const struct command wall_command = {
	.name = "wall",
	.summary = "where does the time of threads go, on a CPU or not?",
	.about = "Where does the time of threads go, on a CPU or not? All of it: on a CPU "
		 "(sampled), runnable (waiting for one), and waiting for a disk, the network, a "
		 "pipe, a futex, Python's interpreter lock (with who has it, and where), a lock of "
		 "the kernel, poll, sleep, a child, a signal. What is "
		 "shown for a thread adds up to the time that it lived.",
	.examples = "  rawprof wall -p 1234 5                     one process, for five seconds\n"
		    "  rawprof wall -o wall.svg -- ./prog args    a program, coloured by state\n",
	.takes = TAKES_RESULT | TAKES_TARGET | TAKES_SAMPLING | TAKES_FRAMES | TAKES_ROWS |
		 TAKES_DURING,
	.own = wall_own,
	.check = check_wall,
	.run = wall_run,
};
