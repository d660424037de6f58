/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `rawprof func`, and which of them go together. */
#include <stddef.h>
#include <string.h>

#include "cli/commands.h"
#include "func.h"

/* Calls as they come, stacks and figures leave in different forms. */
static const char *check_format(const struct options *opt)
{
	const struct func_options *own = opt->own;
	const bool lines = own->graph || func_is_log(own);

	if (lines && !opt->format->for_people && !opt->format->write_grid)
		return "calls as they come are lines of text or of JSON (json)";
	if (!lines && !own->stacks && !opt->format->write_grid)
		return "a format of stacks: with --stacks";
	return NULL;
}

static const char *check(const struct options *opt)
{
	const struct func_options *own = opt->own;

	if (!opt->nwords && !opt->dry_run)
		return "which function? 'vfs_read', 'libc:malloc', './prog:name', 'syscall:read'; "
		       "globs too: 'vfs_*'";
	if (own->alone && !opt->record.program && !opt->dry_run)
		return "--no-children is for -- PROGRAM";
	if (own->list)
		return NULL;
	if (own->count + own->values + own->hist + own->stacks + own->graph > 1)
		return "one of --count, --ret, --hist, --stacks and --graph at a time";
	if (own->count && own->slower_us)
		return "--count sees calls begin and not return: not with --slower";
	if (own->graph && own->slower_us)
		return "--graph shows calls as they begin, before it is known how long they are: "
		       "not with --slower";
	if (own->by && (own->values || own->stacks || own->graph))
		return "--by is for the table, --hist and --count";
	if (opt->record.interval > 0 &&
	    (own->values || own->stacks || own->graph || func_is_log(own)))
		return "--interval is for the table, --hist and --count";
	if (own->args && !own->graph && !own->slower_us)
		return "--args is for --slower and --graph";
	return check_format(opt);
}

#define OPTION_STRUCT struct func_options

static const struct option_row own[] = {
	FLAG("count", 0, VIEW, count, "only how often: the cheapest, as returns are not probed"),
	FLAG("hist", 0, VIEW, hist, "histograms of how long calls are"),
	FLAG("ret", 0, VIEW, values, "what is returned, how often, after how long"),
	FLAG("stacks", 0, VIEW, stacks, "who calls: stacks, by calls and their time"),
	FLAG("graph", 0, VIEW, graph,
	     "each call as it begins and ends, those inside it indented, with its time"),
	OPTION("by", 0, VIEW, WORD, by, "WHAT", "a row for each, beside the function",
	       .words = "function thread process comm"),
	FLAG("list", 0, VIEW, list, "what would be probed, and what would not, and why; no more"),
	OPTION("slower", 0, SAMPLING, NUMBER, slower_us, "US",
	       "only calls of at least so many microseconds; without another view each of them, as "
	       "it returns, with arguments and what it returned",
	       .least = 1, .most = 1ull << 40),
	OPTION("args", 0, OUTPUT, NUMBER, args, "N",
	       "arguments in a line of --slower or --graph: as many as the kernel knows, else 3",
	       .least = 1, .most = FUNC_ARGS),
	OPTION("attach", 0, SAMPLING, WORD, attach, "HOW",
	       "how functions of the kernel are probed, by default the first that it has",
	       .words = "fentry kprobe-multi kprobe"),
	FLAG("at-returns", 0, SAMPLING, at_returns,
	     "probe functions of programs at their return instructions: dearer, but calls may be "
	     "inside each other however deep, and exceptions may pass"),
	FLAG("no-children", 0, TARGET, alone,
	     "of -- PROGRAM its own process alone, not what it starts: no other that uses the same "
	     "library is slowed down, and memcpy or strlen can be probed"),
	OPTION("max-functions", 0, TARGET, NUMBER, limit, "N",
	       "the most functions that patterns may name (1000)", .least = 1, .most = 100000),
	{ "user", 'U', OPTION_TARGET, .help = "only functions of programs" },
	{ "kernel", 'K', OPTION_TARGET, .help = "only functions of the kernel, and system calls" },
	{ "interval", 'i', OPTION_SAMPLING,
	  .help = "what is new, every so often; all of it at the end" },
	{ "format", 0, OPTION_OUTPUT, .help = "the form of the result",
	  .words = "table folded svg html pprof perf speedscope json prometheus firefox perfetto "
		   "chrome otlp rawprof" },
	{ "sort", 0, OPTION_OUTPUT, .arg = "KEY",
	  .help = "order of the table, by default total (or a column of words)",
	  .words = "total self calls average max p50 p90 p99 left" },
	{ 0 },
};

const struct command func_command = {
	.name = "func",
	.summary = "how long does this function take, how often, from where?",
	.about = "How long do calls of a function take, and how often is it called? PATTERN names "
		 "functions of the kernel (vfs_read, 'vfs_*'), of a program or library "
		 "(libc:malloc, /path/file:name, 'python3:Py*'; C++ as in the source), of whatever "
		 "the target executes from (:name), system calls (syscall:read), or the time from "
		 "one tracepoint to another in a thread "
		 "(irq:irq_handler_entry..irq_handler_exit) or from one USDT probe to another "
		 "(usdt:./prog:begin..end). Calls that are left without a return "
		 "(longjmp, an exception) are counted apart; recursion is told apart.",
	.examples = "  rawprof func ./prog:compute -- ./prog    a function of a program\n"
		    "  rawprof func 'vfs_*' 5                   of the kernel, for five seconds\n"
		    "  rawprof func libc:malloc --hist -p 1234 10\n"
		    "  rawprof func syscall:futex --slower 1000 10\n"
		    "  rawprof func --list 'libc:pthread_*'     what would be probed\n",
	.takes = TAKES_RESULT | TAKES_TARGET | TAKES_FRAMES | TAKES_ROWS | TAKES_INTERVAL |
		 TAKES_WORDS,
	.own = own,
	.own_size = sizeof(struct func_options),
	.check = check,
	.run = func_run,
};
