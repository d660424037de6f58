/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `rawprof mem`, and which of its ways to record they mean. */
#include <stddef.h>

#include "cli/commands.h"
#include "mem.h"

#define AT(member) offsetof(struct mem_options, member)

static const struct option_row own[] = {
	{ "kernel", 'k', OPTION_VIEW, OPTION_FLAG, AT(kernel), NULL,
	  "the kernel's own memory: slab caches, kmalloc, pages; not that of a program" },
	{ "percpu", 0, OPTION_VIEW, OPTION_FLAG, AT(percpu), NULL,
	  "with --kernel: its memory for each CPU too" },
	{ "faults", 0, OPTION_VIEW, OPTION_FLAG, AT(faults), NULL,
	  "page faults, and the pages that they take; costs next to nothing" },
	{ "growth", 0, OPTION_VIEW, OPTION_FLAG, AT(growth), NULL,
	  "what mmap, mremap and brk add to a process, and munmap takes away; costs next to "
	  "nothing" },
	{ "leaks", 0, OPTION_VIEW, OPTION_FLAG, AT(leaks), NULL,
	  "only what is not freed at the end" },
	{ "older", 0, OPTION_VIEW, OPTION_MS, AT(older_ns), "MS",
	  "only what is not freed at the end and was allocated at least so many milliseconds "
	  "before" },
	{ "temporary", 0, OPTION_VIEW, OPTION_FLAG, AT(temporary), NULL,
	  "only what the next call of the same thread freed again" },
	{ "sizes", 0, OPTION_VIEW, OPTION_FLAG, AT(sizes), NULL, "a histogram of sizes" },
	{ "ages", 0, OPTION_VIEW, OPTION_FLAG, AT(ages), NULL,
	  "a histogram of the ages of what has not been freed" },
	{ "processes", 0, OPTION_VIEW, OPTION_FLAG, AT(processes), NULL,
	  "totals, rates and memory in use, by process" },
	{ "trace", 0, OPTION_VIEW, OPTION_FLAG, AT(trace), NULL,
	  "each call as it comes: its arguments, its result, its caller" },
	{ "obj", 0, OPTION_TARGET, OPTION_TEXT, AT(obj), "PATH",
	  "only the allocator in this file, from the start, whichever process maps it",
	  .least = 1 },
	{ "symbols-prefix", 0, OPTION_TARGET, OPTION_TEXT, AT(prefix), "P",
	  "the functions are called Pmalloc, Pfree and so on: je_", .least = 1 },
	{ "no-mmap", 0, OPTION_TARGET, OPTION_FLAG, AT(no_mmap), NULL,
	  "the allocator alone, without what is mapped" },
	{ "sample-bytes", 0, OPTION_SAMPLING, OPTION_BYTES, AT(sample_bytes), "N",
	  "one sample in so many bytes (512K), weighed so that sums are right; Linux 5.12",
	  .least = 1 },
	{ "max-overhead", 0, OPTION_SAMPLING, OPTION_NUMBER, AT(max_overhead), "PCT",
	  "when the probes cost more than so much of what the program does without them: a sample "
	  "in 512 KiB from then on; if that still costs too much, no probes",
	  .least = 1, .most = 100000 },
	{ "blocks", 0, OPTION_SAMPLING, OPTION_NUMBER, AT(blocks), "N",
	  "follow at most so many blocks at a time; default: by memory, at most a million",
	  .least = 1, .most = 1u << 28 },
	{ "all", 'a' },
	{ "interval", 'i', OPTION_SAMPLING,
	  .help = "with --processes of programs: every so often what is new, and what is in use" },
	{ "user", 'U', OPTION_SAMPLING, .help = "with -k, only the program's side of the stacks" },
	{ "kernel", 'K', OPTION_SAMPLING, .help = "with -k, only the kernel's side of the stacks" },
	{ "sort", 0, OPTION_OUTPUT, .arg = "KEY",
	  .help = "order of the table (of stacks self or total, of --processes a column)",
	  .words = "self total pid comm allocations bytes rate inuse inuse_bytes outstanding "
		   "outstanding_bytes" },
	{ "weight", 0, OPTION_OUTPUT,
	  .help = "what the numbers are (of --faults resident, faults, major_faults; of "
		  "--growth grown, calls, returned)",
	  .words = "alloc_space alloc_objects inuse_space inuse_objects" },
	{ 0 },
};

static const char *check(const struct options *opt)
{
	const struct mem_options *mem = opt->own;

	if (mem->kernel + mem->faults + mem->growth > 1)
		return "--kernel, --faults and --growth are recordings of different things";
	if (mem->percpu && !mem->kernel)
		return "--percpu is about the kernel: with -k";
	if ((mem->faults || mem->growth) &&
	    (mem->leaks || mem->older_ns || mem->temporary || mem->sample_bytes))
		return "--faults and --growth do not follow blocks: no --leaks, --older, "
		       "--temporary, --sample-bytes";
	if (mem->no_mmap && (mem->kernel || mem->faults || mem->growth))
		return "--no-mmap is about allocations of programs: not with --kernel, --faults, "
		       "--growth";
	if (mem->sizes + mem->ages + mem->processes + mem->trace + mem->temporary > 1)
		return "--sizes, --ages, --processes, --trace and --temporary are different views";
	if (mem->sample_bytes && (mem->sizes || mem->ages || mem->trace || mem->temporary))
		return "--sample-bytes is for stacks and --processes";
	if (mem->temporary && (mem->leaks || mem->older_ns))
		return "--temporary is about what was freed, --leaks and --older about what is not "
		       "freed";
	if ((mem->sizes || mem->trace) && (mem->leaks || mem->older_ns))
		return "--sizes and --trace do not follow blocks: not with --leaks or --older";
	if (opt->interval && (!mem->processes || mem->kernel || mem->older_ns))
		return "--interval is for --processes of programs, and not with --older";
	return NULL;
}

static int run(const struct options *opt)
{
	const struct mem_options *mem = opt->own;

	if (mem->faults || mem->growth)
		return mem_faults(opt);
	return mem->kernel ? mem_kernel(opt) : mem_user(opt);
}

const struct command mem_command = {
	.name = "mem",
	.summary = "who allocates, who grows, who leaks?",
	.about = "Who allocates, who grows, who leaks? Counts each call of the allocator (malloc, "
		 "calloc, realloc, free and the like, in any library) by the stack that made it, "
		 "and follows each block until it is freed. What the program has from the kernel "
		 "itself, by mmap, mremap and brk, is followed until it is unmapped. Without an "
		 "option for a view: the allocator of a program or process.",
	.examples =
		"  rawprof mem --leaks -p 1234 60             what a process keeps of a minute\n"
		"  rawprof mem --format pprof -o mem.pb.gz -- ./prog\n"
		"  rawprof mem -k 10                          the kernel, by slab cache and stack\n"
		"  rawprof mem -k --processes --sort rate 10  which process makes it allocate\n"
		"  rawprof mem --faults -p 1234 -o grows.svg 60\n",
	.takes = TAKES_RESULT | TAKES_TARGET | TAKES_STACKS | TAKES_ROWS | TAKES_INTERVAL,
	.own = own,
	.own_size = sizeof(struct mem_options),
	.check = check,
	.run = run,
};
