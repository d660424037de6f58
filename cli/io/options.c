/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be asked of `rawprof io`. */
#include <stddef.h>
#include <string.h>

#include "io.h"

#define OWN(name, letter, kind, member)                                                            \
	{                                                                                          \
		name, letter, kind, offsetof(struct io_options, member), 0, 0                      \
	}

const struct own_option io_own_options[] = {
	OWN("by", 0, OWN_TEXT, by),
	OWN("disk", 0, OWN_TEXT, disk),
	OWN("min", 0, OWN_MS, min_ns),
	OWN("phases", 0, OWN_FLAG, phases),
	OWN("sizes", 0, OWN_FLAG, sizes),
	OWN("pattern", 0, OWN_FLAG, pattern),
	OWN("processes", 0, OWN_FLAG, processes),
	OWN("log", 0, OWN_FLAG, log),
	OWN("stacks", 0, OWN_FLAG, stacks),
	OWN("syscalls", 0, OWN_FLAG, syscalls),
	OWN("fsync", 0, OWN_FLAG, fsync),
	{ 0 },
};

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
		return "--by wants at most four words, each once: disk, op, flags, process, comm, cgroup, "
		       "phase; of system calls call, fs, process, comm";
	for (size_t i = 0; i < n; i++) {
		if (label[i] == IO_BY_PHASE && !phases)
			return "--by phase is for --phases and --fsync";
		if (label[i] != IO_BY_PHASE && !((calls ? OF_CALLS : OF_REQUESTS) & 1u << label[i]))
			return calls ? "system calls are told apart by call, fs, process, comm"
				     : "--by call and fs are for --syscalls and --fsync";
	}
	return NULL;
}

const char *io_check(const struct options *opt)
{
	const struct io_options *own = opt->own;
	const int views = own->phases + own->sizes + own->pattern + own->processes + own->log +
			  own->stacks + own->syscalls + own->fsync;

	if (views > 1)
		return "--phases, --sizes, --pattern, --processes, --log, --stacks, --syscalls and --fsync "
		       "are different views: one of them";
	if (own->disk && (own->syscalls || own->fsync))
		return "--disk is about requests, not system calls";
	if (opt->record.interval && (own->log || own->stacks))
		return "--interval is for histograms and tables of figures";
	if (!own->stacks && !opt->format->write_hists && !own->log)
		return "that format is for stacks: --stacks";
	if (own->log && !opt->format->for_people && !opt->format->json)
		return "--log is lines of text, or of JSON";
	if ((opt->show.top_functions || opt->sort) && !io_wants_processes(opt) && !own->pattern &&
	    !own->stacks)
		return "--top and --sort are for tables: --processes, --pattern, --stacks";
	if (opt->weight && !own->stacks)
		return "--weight is for --stacks";
	return own->by ? check_by(opt) : NULL;
}
