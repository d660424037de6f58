/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `rawprof lock`, and which of them go together. */
#include <stddef.h>
#include <string.h>

#include "cli/commands.h"
#include "lock.h"

static const char *check(const struct options *opt)
{
	const struct lock_options *own = opt->own;

	if (opt->record.user_only && opt->record.kernel_only)
		return "--user and --kernel: either only locks of programs, or only the kernel's";
	if (own->types && !lock_types_known(own->types))
		return "--type wants, separated by commas, of programs: umutex, condvar, urwlock, "
		       "usemaphore, barrier, once, join, pi-mutex, gil, futex; of the kernel: "
		       "mutex, spinlock, rwlock, rwsem, semaphore, percpu-rwsem, rtmutex, "
		       "rtspinlock, rtrwlock, other; and what TYPE has behind them, rwsem:R";
	if (own->hist && (own->by || own->stacks || own->types))
		return "--hist is a view of its own: without --by, --type and --stacks";
	if (own->stacks && own->by)
		return "--by is for rows, --stacks for stacks";
	if (own->hold && opt->record.kernel_only)
		return "--hold is about mutexes of programs: not with --kernel";
	if (own->hold && !opt->record.program && !opt->record.pids.n)
		return "--hold needs a target: --pid, or a program after --";
	if (own->hold && own->by && !strcmp(own->by, "releaser"))
		return "--hold: a mutex is released by its holder, so there is no --by releaser";
	if (opt->record.interval > 0 && own->stacks)
		return "--interval is for rows and histograms";
	return NULL;
}

#define OPTION_STRUCT struct lock_options

static const struct option_row own[] = {
	OPTION("by", 0, VIEW, WORD, by, "WHAT", "what a row is, by default a lock",
	       .words = "lock caller thread type releaser outcome"),
	OPTION("hist", 0, VIEW, WORD, hist, "WHAT", "histograms of how long waits are, of each",
	       .words = "type lock"),
	FLAG("stacks", 0, VIEW, stacks,
	     "stacks, in formats that otherwise have rows (table, json)"),
	FLAG("hold", 0, VIEW, hold,
	     "how long mutexes are held and by which thread, in place of waits: by probes on every "
	     "call of pthread_mutex_lock and the like, which cost some microseconds each; of --pid "
	     "or a program"),
	OPTION("min-wait", 'm', SAMPLING, MS, min_ns, "MS",
	       "only waits of at least so many milliseconds (0.1 is 100 us)"),
	OPTION("type", 'Y', TARGET, TEXT, types, "LIST",
	       "only these types (rwsem is both rwsem:R and rwsem:W)", .least = 1,
	       .words = "umutex condvar urwlock usemaphore barrier once join pi-mutex gil futex "
			"mutex spinlock rwlock rwsem semaphore percpu-rwsem rtmutex rtspinlock "
			"rtrwlock other"),
	{ "user", 'U', OPTION_TARGET,
	  .help = "only locks of programs: mutexes, condition variables, all that is a futex" },
	{ "kernel", 'K', OPTION_TARGET, .help = "only locks of the kernel" },
	{ "interval", 'i', OPTION_SAMPLING,
	  .help = "what is new, every so often; all of it at the end" },
	{ "format", 0, OPTION_OUTPUT, .help = "the form of the result",
	  .words = "table folded svg html pprof perf speedscope json prometheus "
		   "firefox perfetto chrome otlp rawprof" },
	{ "sort", 0, OPTION_OUTPUT, .arg = "KEY",
	  .help = "order of the table, by default total (or a column of words)",
	  .words = "total waits average longest timed_out no_wait" },
	{ "weight", 0, OPTION_OUTPUT,
	  .help = "what the numbers are, by default delay (microseconds in folded and svg)",
	  .words = "delay contentions" },
	{ 0 },
};

const struct command lock_command = {
	.name = "lock",
	.summary = "who waits for which lock, and who holds it up?",
	.about = "Who waits for which lock, for how long, and who holds it up? Both the kernel's "
		 "own locks (since Linux 5.19) and those of programs, which wait for futexes. The "
		 "thread that wakes a waiter is the one that released the lock.",
	.examples =
		"  rawprof lock 5                             the whole machine, for five seconds\n"
		"  rawprof lock --user -- ./prog args         the mutexes of a program\n"
		"  rawprof lock -K --by caller --min-wait 1 10\n"
		"  rawprof lock -o lock.svg -p 1234 10        stacks that wait, releasers on top\n",
	.takes = TAKES_RESULT | TAKES_TARGET | TAKES_FRAMES | TAKES_ROWS | TAKES_INTERVAL,
	.own = own,
	.own_size = sizeof(struct lock_options),
	.check = check,
	.run = lock_run,
};
