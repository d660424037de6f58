/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `rawprof mem`, and which of its ways to record they mean. */
#include <stddef.h>
#include <unistd.h>

#include "base/budget.h"

#include "cli/commands.h"
#include "mem.h"

#define MIN_BLOCKS (1u << 16)
#define MAX_BLOCKS (1u << 20) /* the slots alone of the hash table are 16 MiB */

#define OPTION_STRUCT struct mem_options

static const struct option_row own[] = {
	FLAG("kernel", 'k', VIEW, kernel,
	     "the kernel's own memory: slab caches, kmalloc, pages; not that of a program"),
	FLAG("percpu", 0, VIEW, percpu, "with --kernel: its memory for each CPU too"),
	FLAG("faults", 0, VIEW, faults,
	     "page faults, and the pages that they take; costs next to nothing"),
	FLAG("growth", 0, VIEW, growth,
	     "what mmap, mremap and brk add to a process, and munmap takes away; costs next to "
	     "nothing"),
	FLAG("leaks", 0, VIEW, leaks, "only what is not freed at the end"),
	OPTION("older", 0, VIEW, MS, older_ns, "MS",
	       "only what is not freed at the end and was allocated at least so many milliseconds "
	       "before"),
	FLAG("peak", 0, VIEW, peak,
	     "what was in use at the moment of highest use, also if it was freed later; "
	     "Linux 5.15 with BTF"),
	FLAG("pinned", 0, VIEW, pinned,
	     "resident pages of which live blocks fill less than a quarter, by the stack that "
	     "allocated them"),
	FLAG("temporary", 0, VIEW, temporary,
	     "only what was freed before its thread allocated again"),
	FLAG("sizes", 0, VIEW, sizes, "a histogram of sizes"),
	FLAG("lifetimes", 0, VIEW, lifetimes,
	     "histograms of how long blocks lived that were freed, by size"),
	FLAG("ages", 0, VIEW, ages, "a histogram of the ages of what has not been freed"),
	FLAG("processes", 0, VIEW, processes, "totals, rates and memory in use, by process"),
	FLAG("trace", 0, VIEW, trace,
	     "each call as it comes: its arguments, its result, its caller"),
	OPTION("obj", 0, TARGET, TEXT, obj, "PATH",
	       "only the allocator in this file, from the start, whichever process maps it",
	       .least = 1),
	OPTION("symbols-prefix", 0, TARGET, TEXT, prefix, "P",
	       "the functions are called Pmalloc, Pfree and so on: je_", .least = 1),
	FLAG("no-mmap", 0, TARGET, no_mmap, "the allocator alone, without what is mapped"),
	OPTION("sample-bytes", 0, SAMPLING, BYTES, sample_bytes, "N",
	       "one sample in so many bytes (512K), weighed so that sums are right; Linux 5.12",
	       .least = 1),
	OPTION("max-overhead", 0, SAMPLING, NUMBER, max_overhead, "PCT",
	       "when the probes cost more than so much of what the program does without them: a "
	       "sample in 512 KiB from then on; if that still costs too much, no probes",
	       .least = 1, .most = 100000),
	OPTION("blocks", 0, SAMPLING, NUMBER, blocks, "N",
	       "follow at most so many blocks at a time; default: by memory, at most a million",
	       .least = 1, .most = 1u << 28),
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
		  "--growth grown, calls, returned; of --pinned wasted_space, live_space, "
		  "pinned_pages, pinned_blocks)",
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
	if (mem->sizes + mem->ages + mem->processes + mem->trace + mem->temporary + mem->peak +
		    mem->pinned + mem->lifetimes >
	    1)
		return "--peak, --pinned, --temporary, --sizes, --lifetimes, --ages, --processes "
		       "and --trace are different views";
	if (mem->peak || mem->pinned || mem->lifetimes) {
		if (mem->kernel || mem->faults || mem->growth)
			return "--peak, --pinned and --lifetimes are about allocations of "
			       "programs: not with --kernel, --faults, --growth";
		if (mem->leaks || mem->older_ns || mem->sample_bytes || mem->max_overhead)
			return "--peak, --pinned and --lifetimes are about all blocks: no --leaks, "
			       "--older, --sample-bytes, --max-overhead";
	}
	if (mem->sample_bytes && (mem->sizes || mem->ages || mem->trace || mem->temporary))
		return "--sample-bytes is for stacks and --processes";
	if (mem->temporary && (mem->leaks || mem->older_ns))
		return "--temporary is about what was freed, --leaks and --older about what is not "
		       "freed";
	if ((mem->sizes || mem->trace) && (mem->leaks || mem->older_ns))
		return "--sizes and --trace do not follow blocks: not with --leaks or --older";
	if (opt->record.interval && (!mem->processes || mem->kernel || mem->older_ns))
		return "--interval is for --processes of programs, and not with --older";
	return NULL;
}

uint32_t mem_blocks_wanted(uint64_t share, uint64_t bytes)
{
	uint64_t blocks = rp_memory_part(share, UINT64_MAX) / bytes;

	return blocks < MIN_BLOCKS   ? MIN_BLOCKS
	       : blocks > MAX_BLOCKS ? MAX_BLOCKS
				     : (uint32_t)blocks;
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
		"  rawprof mem --peak -- ./prog               what makes it as large as it gets\n"
		"  rawprof mem --format pprof -o mem.pb.gz -- ./prog\n"
		"  rawprof mem -k 10                          the kernel, by slab cache and stack\n"
		"  rawprof mem -k --processes --sort rate 10  which process makes it allocate\n"
		"  rawprof mem --faults -p 1234 -o grows.svg 60\n",
	.takes = TAKES_RESULT | TAKES_TARGET | TAKES_FRAMES | TAKES_ROWS | TAKES_INTERVAL,
	.own = own,
	.own_size = sizeof(struct mem_options),
	.check = check,
	.run = run,
};
