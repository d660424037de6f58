/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof mem: who allocates, who grows, who leaks? Its options, and which of the ways to record they mean. */
#include <stddef.h>

#include "cli/commands.h"
#include "mem.h"

#define OWN(name, letter, kind, member)                                                            \
	{                                                                                          \
		name, letter, kind, offsetof(struct mem_options, member), 0, 0                     \
	}

const struct own_option mem_own_options[] = {
	OWN("kernel", 'k', OWN_FLAG, kernel),
	OWN("percpu", 0, OWN_FLAG, percpu),
	OWN("faults", 0, OWN_FLAG, faults),
	OWN("growth", 0, OWN_FLAG, growth),
	OWN("leaks", 0, OWN_FLAG, leaks),
	OWN("older", 0, OWN_MS, older_ns),
	OWN("temporary", 0, OWN_FLAG, temporary),
	OWN("sizes", 0, OWN_FLAG, sizes),
	OWN("ages", 0, OWN_FLAG, ages),
	OWN("processes", 0, OWN_FLAG, processes),
	OWN("trace", 0, OWN_FLAG, trace),
	OWN("no-mmap", 0, OWN_FLAG, no_mmap),
	OWN("obj", 0, OWN_TEXT, obj),
	OWN("symbols-prefix", 0, OWN_TEXT, prefix),
	{ "sample-bytes", 0, OWN_BYTES, offsetof(struct mem_options, sample_bytes), 1, 0 },
	{ "blocks", 0, OWN_NUMBER, offsetof(struct mem_options, blocks), 1, 1u << 28 },
	{ "max-overhead", 0, OWN_NUMBER, offsetof(struct mem_options, max_overhead), 1, 100000 },
	{ 0 },
};

const char *mem_check(const struct options *opt)
{
	const struct mem_options *mem = opt->own;

	if (mem->kernel + mem->faults + mem->growth > 1)
		return "--kernel, --faults and --growth are recordings of different things";
	if (mem->percpu && !mem->kernel)
		return "--percpu is about the kernel: with -k";
	if ((mem->faults || mem->growth) &&
	    (mem->leaks || mem->older_ns || mem->temporary || mem->sample_bytes))
		return "--faults and --growth know nothing of blocks, when they are freed or how old they are";
	if (mem->no_mmap && (mem->kernel || mem->faults || mem->growth))
		return "--no-mmap is about the allocations of programs: not with --kernel, --faults or --growth";
	if (mem->sizes + mem->ages + mem->processes + mem->trace + mem->temporary > 1)
		return "--sizes, --ages, --processes, --trace and --temporary are different views";
	if (mem->sample_bytes && (mem->sizes || mem->ages || mem->trace || mem->temporary))
		return "--sample-bytes is for stacks and --processes";
	if (mem->temporary && (mem->leaks || mem->older_ns))
		return "--temporary is about what was freed, --leaks and --older about what was not";
	if ((mem->sizes || mem->trace) && (mem->leaks || mem->older_ns))
		return "--sizes and --trace do not follow blocks: not with --leaks or --older";
	if (opt->record.interval && (!mem->processes || mem->kernel || mem->older_ns))
		return "--interval is for --processes of programs, and not with --older";
	return NULL;
}

int command_mem(const struct options *opt)
{
	const struct mem_options *mem = opt->own;

	if (mem->faults || mem->growth)
		return mem_faults(opt);
	return mem->kernel ? mem_kernel(opt) : mem_user(opt);
}
