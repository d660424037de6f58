/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `rawprof io`, and which of them go together. */
#include <stddef.h>
#include <string.h>

#include "cli/commands.h"
#include "io.h"

const char *const io_label_names[IO_LABELS] = {
	[IO_BY_DISK] = "disk",	     [IO_BY_OP] = "op",	    [IO_BY_FLAGS] = "flags",
	[IO_BY_PROCESS] = "process", [IO_BY_COMM] = "comm", [IO_BY_CGROUP] = "cgroup",
	[IO_BY_PHASE] = "phase",     [IO_BY_CALL] = "call", [IO_BY_FS] = "fs",
};

static int label_by_name(const char *word, size_t len)
{
	for (int i = 0; i < IO_LABELS; i++)
		if (strlen(io_label_names[i]) == len && !strncmp(io_label_names[i], word, len))
			return i;
	return -1;
}

size_t io_labels_parse(const char *text, enum io_label *out)
{
	size_t n = 0;

	for (;;) {
		size_t len = strcspn(text, ",");
		int label = label_by_name(text, len);

		if (label < 0 || n == REPORT_HISTS_MAX_KEYS)
			return 0;
		for (size_t i = 0; i < n; i++)
			if (out[i] == (enum io_label)label)
				return 0;
		out[n++] = (enum io_label)label;
		if (!text[len])
			return n;
		text += len + 1;
	}
}

/* Labels of system calls; all others but the last two are of requests. */
#define OF_CALLS (1u << IO_BY_CALL | 1u << IO_BY_FS | 1u << IO_BY_PROCESS | 1u << IO_BY_COMM)
#define OF_REQUESTS ((1u << IO_BY_CALL) - 1)

bool io_wants_processes(const struct options *opt)
{
	const struct io_options *own = opt->own;
	const bool other = own->phases || own->sizes || own->pattern || own->log || own->stacks ||
			   own->syscalls || own->fsync;

	return own->processes || (!other && (opt->show.top_functions || opt->sort));
}

static const char *check_by(const struct options *opt)
{
	const struct io_options *own = opt->own;
	const bool calls = own->syscalls || own->fsync, phases = own->phases || own->fsync;
	enum io_label label[REPORT_HISTS_MAX_KEYS];
	size_t n = io_labels_parse(own->by, label);

	if (own->pattern || io_wants_processes(opt) || own->log || own->stacks)
		return "--by is for histograms";
	if (!n)
		return "--by wants at most four words, each once: disk, op, flags, process, comm, "
		       "cgroup, phase; of system calls call, fs, process, comm";
	for (size_t i = 0; i < n; i++) {
		if (label[i] == IO_BY_PHASE && !phases)
			return "--by phase is for --phases and --fsync";
		if (label[i] != IO_BY_PHASE && !((calls ? OF_CALLS : OF_REQUESTS) & 1u << label[i]))
			return calls ? "system calls are told apart by call, fs, process, comm"
				     : "--by call and fs are for --syscalls and --fsync";
	}
	return NULL;
}

static const char *check(const struct options *opt)
{
	const struct io_options *own = opt->own;
	const int views = own->phases + own->sizes + own->pattern + own->processes + own->log +
			  own->stacks + own->syscalls + own->fsync;

	if (views > 1)
		return "--phases, --sizes, --pattern, --processes, --log, --stacks, --syscalls and "
		       "--fsync are different views: one of them";
	if (own->disk && (own->syscalls || own->fsync))
		return "--disk is about requests, not system calls";
	if (opt->record.interval && (own->log || own->stacks))
		return "--interval is for histograms and tables of figures";
	if (!own->stacks && !opt->format->write_hists && !own->log)
		return "that format is for stacks: --stacks";
	if (own->log && !opt->format->for_people && !opt->format->json &&
	    strcmp(opt->format->name, "chrome"))
		return "--log is lines of text, of JSON, or of Chrome's trace events (chrome)";
	if ((opt->show.top_functions || opt->sort) && !io_wants_processes(opt) && !own->pattern &&
	    !own->stacks)
		return "--top and --sort are for tables: --processes, --pattern, --stacks";
	if (opt->weight && !own->stacks)
		return "--weight is for --stacks";
	if ((opt->given & TAKES_FRAMES) && !own->stacks)
		return "options of stacks (--user, --kernel, --call-graph, --lines, ...) are for "
		       "--stacks";
	return own->by ? check_by(opt) : NULL;
}

#define OPTION_STRUCT struct io_options

static const struct option_row own[] = {
	FLAG("phases", 0, VIEW, phases,
	     "where the time goes: queue (before the scheduler), scheduler, requeue, device, "
	     "flush"),
	FLAG("sizes", 0, VIEW, sizes, "how large requests are"),
	FLAG("pattern", 0, VIEW, pattern,
	     "random or sequential, by disk and process; sequential begins where the last one "
	     "ended"),
	FLAG("processes", 0, VIEW, processes, "totals and rates of processes"),
	FLAG("log", 0, VIEW, log, "a line for each request"),
	FLAG("stacks", 0, VIEW, stacks, "stacks that start requests, in any format for stacks"),
	FLAG("syscalls", 0, VIEW, syscalls,
	     "how long read, write, fsync, open and the like take, by file system; costs a little "
	     "with every system call of the machine"),
	FLAG("fsync", 0, VIEW, fsync,
	     "fsync and fdatasync, and how much of them is the flush of the disk's cache"),
	OPTION("by", 0, VIEW, TEXT, by, "LIST",
	       "at most four words that histograms are by, by default disk,op (call and fs are for "
	       "system calls, phase is for --phases and --fsync)",
	       .words = "disk op flags process comm cgroup phase call fs", .least = 1),
	OPTION("disk", 0, TARGET, TEXT, disk, "NAME", "only requests to this disk", .least = 1),
	OPTION("min", 0, TARGET, MS, min_ns, "MS",
	       "only what takes at least so many milliseconds (0.1 is 100 us)"),
	{ "format", 0, OPTION_OUTPUT,
	  .help = "the form of the result (from folded on with --stacks, --log as table, json or "
		  "chrome)",
	  .words = "table json prometheus folded svg html pprof perf speedscope "
		   "firefox perfetto chrome otlp rawprof" },
	{ "top", 'n', OPTION_OUTPUT,
	  .help = "rows of a table (20); without a view: of --processes, with -i on a terminal in "
		  "place" },
	{ "sort", 0, OPTION_OUTPUT, .arg = "COLUMN", .help = "order of --processes and --pattern",
	  .words = "pid comm disk requests request_rate read written throughput mean device max "
		   "bytes mean_size sequential random" },
	{ "weight", 0, OPTION_OUTPUT,
	  .help = "of --stacks: what the numbers are, by default delay (microseconds in folded "
		  "and svg)",
	  .words = "delay requests size" },
	{ 0 },
};

const struct command io_command = {
	.name = "io",
	.summary = "how slow is storage?",
	.about = "How slow is storage? Follows every request to a block device from the task that "
		 "starts it to its end, and shows how long requests take: p50, p90, p99, p99.9, "
		 "the greatest, and a histogram, by disk and operation; or another view.",
	.examples =
		"  rawprof io -i 1                            every second\n"
		"  rawprof io --top 10 -i 1                   what keeps disks busy, every second\n"
		"  rawprof io --phases --disk nvme0n1 10      one disk, for ten seconds\n"
		"  rawprof io --log --min 10                  each that takes 10 ms and longer\n"
		"  rawprof io --stacks -o io.svg -- ./prog    what in a program waits for disks\n",
	.takes = TAKES_RESULT | TAKES_TARGET | TAKES_FRAMES | TAKES_ROWS | TAKES_INTERVAL,
	.own = own,
	.own_size = sizeof(struct io_options),
	.check = check,
	.run = io_run,
};
