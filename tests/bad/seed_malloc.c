/* SPDX-License-Identifier: BSD-2-Clause */
/* The tutorial's malloc probe, in the three readings of readings.h, and repaired. */
#include "bad.h"
#include "seed/readings.h"

/* As written: the map in R1, and R2 a copy of it. */
#define STACKID_ARGUMENTS MAP_REF(R1, stack_traces), MOV_REG(R2, R1)

#define MAP_REF MAP_AS_REGISTER
static const struct asm_insn seed_malloc_a[] = {
#include "seed/malloc_probe.inc"
};
#undef MAP_REF

#define MAP_REF MAP_AS_NUMBER
static const struct asm_insn seed_malloc_b[] = {
#include "seed/malloc_probe.inc"
};
#undef MAP_REF

#define MAP_REF MAP_AS_MAP
static const struct asm_insn seed_malloc_c[] = {
#include "seed/malloc_probe.inc"
};
#undef STACKID_ARGUMENTS

/* In order. R1 still is the context here: get_stackid is the first call. */
#define STACKID_ARGUMENTS LD_MAP(R2, stack_traces)
static const struct asm_insn seed_malloc_m3[] = {
#include "seed/malloc_probe.inc"
};

/* ---- what the accepted program does */

static __attribute__((noinline, used)) long asked_for(long size)
{
	__asm__("/* asked_for */");
	return size;
}

/* The offset in our own file of a function of ours, from /proc/self/maps. */
static uint64_t file_offset(const void *function)
{
	const uint64_t addr = (uintptr_t)function;
	uint64_t start, end, offset, found = 0;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && addr >= start &&
		    addr < end)
			found = addr - start + offset;
	if (maps)
		fclose(maps);
	return found;
}

struct alloc_sum {
	uint64_t keys, count, bytes, shallow;
	int stacks;
};

static int add_alloc(void *ctx, const void *key, const void *value)
{
	const uint64_t *v = value;
	struct alloc_sum *sum = ctx;
	uint64_t frame;

	sum->keys++;
	sum->count += v[0];
	sum->bytes += v[1];
	sum->shallow += !rp_map_lookup(sum->stacks, key, &frame) && frame;
	return 0;
}

/* Attached where it can be attached: to a function of a program, at its offset in the file. */
static int probe_harm(int prog_fd, const int *map_fds, char *seen)
{
	const struct rp_uprobe probe = { .path = "/proc/self/exe",
					 .offset = file_offset((void *)asked_for),
					 .pid = getpid() };
	struct alloc_sum sum = { .stacks = map_fds[MAP_STACK_TRACES] };
	struct rp_link *link;
	int err;

#ifndef __x86_64__
	BAD_MISS("pt_regs are read as x86-64 has them, and this is another machine");
#endif
	err = rp_attach_uprobe(prog_fd, &probe, &link);
	if (err)
		BAD_MISS("it cannot be attached: %s", strerror(-err));
	for (long i = 0; i < 100; i++)
		asked_for(1000);
	rp_link_close(link);
	rp_map_each(map_fds[MAP_MEM_ALLOCS], &bad_maps[MAP_MEM_ALLOCS], add_alloc, &sum);
	BAD_SAW("%lu calls, %lu bytes, from %lu stacks, each of them one frame deep", sum.count,
		sum.bytes, sum.keys);
	return sum.count == 100 && sum.bytes == 100000 && sum.keys && sum.shallow == sum.keys ? 0
											      : -1;
}

/* The verifier took it for a tracepoint program: it reads a pt_regs that no tracepoint has. */
static int misattached(int prog_fd, const int *map_fds, char *seen)
{
	struct rp_link *link;
	int err = rp_attach_tracepoint(prog_fd, "raw_syscalls", "sys_exit", 0, &link);

	(void)map_fds;
	if (!err) {
		rp_link_close(link);
		BAD_MISS("it could be attached to raw_syscalls:sys_exit");
	}
	BAD_SAW("attaching it to raw_syscalls:sys_exit: %s", strerror(-err));
	return err == -EACCES ? 0 : -1;
}

const struct bad_case bad_seed_malloc[] = {
	{ "M2a", "seed malloc-probe, reading (a): the map is register 5",
	  BAD_PROGRAM(KPROBE, seed_malloc_a), .says = { { EACCES, "R5 !read_ok" } },
	  .at = "MOV_REG(R1, R5)" },
	{ "M2b", "reading (b): the map is the number 5", BAD_PROGRAM(KPROBE, seed_malloc_b),
	  .says = { { EACCES, "R1 type=scalar expected=ctx", KERNEL(5, 18) },
		    { EACCES, "R1 type=inv expected=ctx", 0, KERNEL(5, 18) } },
	  .at = "CALL(get_stackid)" },
	{ "M2", "reading (c): the map is a map, and stands where the context belongs",
	  BAD_PROGRAM(KPROBE, seed_malloc_c),
	  .says = { { EACCES, "R1 type=map_ptr expected=ctx" } }, .at = "CALL(get_stackid)" },
	{ "M3", "its arguments in order: accepted, for no call came before",
	  BAD_PROGRAM(KPROBE, seed_malloc_m3), .silent = probe_harm },
	{ "M5b", "the same without a GPL licence",
	  .program = { .name = "seed_malloc_m5",
		       .type = BPF_PROG_TYPE_KPROBE,
		       .license = "",
		       ASM_LINES(seed_malloc_m3) },
	  .says = { { EINVAL,
		      "cannot call GPL-restricted function from non-GPL compatible program" } },
	  .at = "CALL(get_stackid)" },
	{ "M6", "the same for a tracepoint: accepted, and refused when it is attached",
	  BAD_PROGRAM(TRACEPOINT, seed_malloc_m3), .silent = misattached },
	{ 0 },
};
