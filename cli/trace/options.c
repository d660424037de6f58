/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `rawprof trace`, and which of them go together. */
#include <string.h>

#include "cli/commands.h"
#include "trace.h"

/* Of --syscalls, which has a table and no events. */
static const char *check_table(const struct options *opt)
{
	const struct trace_options *own = opt->own;

	if (opt->nwords)
		return "--syscalls counts all system calls: it takes no EVENT";
	if (own->stacks || own->filter || own->returns || own->max_events || own->strings ||
	    own->count || own->hist)
		return "--stacks, --filter, --max-events, --strings, --count and --hist are for "
		       "events, not for --syscalls";
	if (own->by && strcmp(own->by, "process") != 0)
		return "--syscalls is by process, or not --by anything";
	if (!strcmp(opt->format->name, "chrome"))
		return "a table has no moments to show in a timeline";
	if (opt->given & TAKES_FRAMES)
		return "options of stacks are for --stacks";
	return NULL;
}

static const char *check(const struct options *opt)
{
	const struct trace_options *own = opt->own;
	uint32_t strings;

	if (own->strings && !trace_usdt_strings(own->strings, &strings))
		return "--strings takes numbers of arguments from 1 to 12: 1,3";
	if (own->list)
		return opt->nwords ? "--list has the events that it lists: no others" : NULL;
	if (own->syscalls)
		return check_table(opt);
	if (own->alone && !opt->record.program && !opt->dry_run)
		return "--no-children is for -- PROGRAM";
	if (own->returns && own->stacks)
		return "stacks are of where a function begins: --stacks without --ret";
	if (own->errors || opt->given & TAKES_INTERVAL)
		return "--errors and --interval are for --syscalls";
	if (!opt->nwords && !opt->dry_run)
		return "which events? GROUP:EVENT, or a glob; --list GLOB shows those that there "
		       "are";
	if (own->count && own->hist)
		return "either --count or --hist";
	if (own->by && !own->hist)
		return "--by is for --hist; --count has its own list";
	if ((own->count || own->hist) && (own->stacks || own->max_events))
		return "--stacks and --max-events are for lines, --count and --hist have none";
	if (own->count || own->hist)
		return opt->given & TAKES_FRAMES ? "options of stacks are for --stacks" : NULL;
	if (opt->keep)
		return "events are no profile: -o FILE.json of trace itself keeps them, record "
		       "trace --count and --hist their figures";
	if (opt->sort || opt->show.top_functions)
		return "--sort and --top are for the table of --count";
	if (!opt->format->for_people && !opt->format->json &&
	    strcmp(opt->format->name, "chrome") != 0)
		return "events are lines of text, of JSON, or of Chrome's trace events (chrome)";
	if ((opt->given & TAKES_FRAMES) && !own->stacks)
		return "options of stacks (--user, --kernel, --call-graph, --lines, ...) are for "
		       "--stacks";
	return NULL;
}

#define OPTION_STRUCT struct trace_options

static const struct option_row own[] = {
	OPTION("list", 0, VIEW, TEXT, list, "GLOB",
	       "the events that there are, with their fields, and nothing else", .least = 1),
	FLAG("syscalls", 0, VIEW, syscalls,
	     "no events: a table of all system calls, how many, how long, how many failed"),
	FLAG("errors", 0, VIEW, errors, "with --syscalls: those that failed, by error"),
	OPTION("count", 0, VIEW, TEXT, count, "LIST",
	       "how many, by at most four of event, comm, pid, tid, cpu and the names of fields; "
	       "counted in the kernel, nothing is printed before the end",
	       .least = 1),
	OPTION("hist", 0, VIEW, TEXT, hist, "FIELD",
	       "a histogram of this field, a number (of system calls also ret, duration); for each "
	       "of what --by says, or the words \"by LIST\" behind it",
	       .least = 1),
	OPTION("by", 0, VIEW, TEXT, by, "LIST",
	       "what histograms are by, as --count; with --syscalls: process", .least = 1),
	FLAG("ret", 0, VIEW, returns,
	     "functions when they return, with the result and how long the call was; else when "
	     "they begin"),
	FLAG("no-children", 0, TARGET, alone,
	     "functions in the process of -- PROGRAM alone, not in what it starts: no other that "
	     "uses the same library is slowed down"),
	FLAG("stacks", 0, VIEW, stacks, "below each event where it happened"),
	OPTION("strings", 0, VIEW, TEXT, strings, "N[,N...]",
	       "these arguments of USDT probes are addresses of strings", .least = 1),
	OPTION("filter", 0, TARGET, TEXT, filter, "EXPRESSION",
	       "only events of which it holds, decided in the kernel: 'prev_pid == 1 && comm ~ "
	       "\"ssh*\"'",
	       .least = 1),
	OPTION("max-events", 0, TARGET, NUMBER, max_events, "N",
	       "end when so many have been printed", .least = 1),
	OPTION("string-bytes", 0, OUTPUT, NUMBER, string_bytes, "BYTES",
	       "of a text of a system call are shown (256)", .least = 2, .most = 2048),
	{ "format", 0, OPTION_OUTPUT,
	  .help = "the form of the lines (prometheus: of --count and --hist)",
	  .words = "table json chrome prometheus" },
	{ "output", 'o', OPTION_OUTPUT,
	  .help = "write to FILE; .json and .chrome.json choose that format" },
	{ "interval", 'i', OPTION_SAMPLING,
	  .help = "with --syscalls: what is new, every so often; all of it at the end" },
	{ "top", 'n', OPTION_OUTPUT,
	  .help = "rows of the table of --count (all), of --syscalls (30)" },
	{ "sort", 0, OPTION_OUTPUT, .arg = "COLUMN",
	  .help = "order of the table of --count (count, or a word of LIST), of --syscalls (total)",
	  .words = "count calls errors total share average p50 p99 max" },
	{ 0 },
};

const struct command trace_command = {
	.name = "trace",
	.summary = "what happens? events of the kernel, one by one",
	.about =
		"Prints events of the kernel as they happen: when, in which process and thread, "
		"on which CPU, and what the event says: its fields, by name, as people read them. "
		"An EVENT is a tracepoint, GROUP:EVENT (sched:sched_switch), or its name alone "
		"where only one has it; both may be globs ('block:*'). A system call is "
		"syscall:NAME, a line with arguments, result and duration when it ends; "
		"syscalls:sys_enter_NAME "
		"and syscalls:sys_exit_NAME are its beginning and its end alone. usdt:FILE:NAME is "
		"a USDT probe that was compiled into a program or library, with its arguments; "
		"usdt::NAME one of the target. FILE:FUNCTION, LIBRARY:FUNCTION, :FUNCTION of the "
		"target and kernel:FUNCTION are functions as they are called, with their first "
		"arguments; with --ret as they return. Filters know arg0 to arg5, and with --ret "
		"ret (an int's is ret32) and duration.",
	.examples = "  rawprof trace sched:sched_process_exec       each program that is started\n"
		    "  rawprof trace 'block:*' --max-events 20      the block layer, twenty lines\n"
		    "  rawprof trace sched_switch -p 1234 --stacks 5  with where it happened\n"
		    "  rawprof trace syscall:openat -- ls           what it opens, and the errors\n"
		    "  rawprof trace --syscalls -- ls               all its system calls, by time\n"
		    "  rawprof trace --list 'sched:*'               events and their fields\n"
		    "  rawprof trace usdt:libstdc++:throw           C++ exceptions\n"
		    "  rawprof trace ./prog:get --ret --filter 'duration > 1ms' -- ./prog\n"
		    "  rawprof trace --list 'usdt:*' -p 1234        USDT probes of a process\n",
	.takes = TAKES_RESULT | TAKES_TARGET | TAKES_CPUS | TAKES_STACKS | TAKES_ROWS |
		 TAKES_INTERVAL | TAKES_WORDS,
	.words = "EVENT...",
	.own = own,
	.own_size = sizeof(struct trace_options),
	.check = check,
	.run = trace_run,
};
