/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tutorial's CPU profiler, in the three readings of readings.h, and then repaired one fault at
 * a time until the kernel accepts it, which is where its other faults begin.
 */
#include <stdlib.h>
#include <time.h>

#include "bad.h"
#include "seed/readings.h"

#define MAP_REF MAP_AS_REGISTER
static const struct asm_insn seed_cpu_a[] = {
#include "seed/cpu_profiler.inc"
};
#undef MAP_REF

#define MAP_REF MAP_AS_NUMBER
static const struct asm_insn seed_cpu_b[] = {
#include "seed/cpu_profiler.inc"
};
#undef MAP_REF

#define MAP_REF MAP_AS_MAP
static const struct asm_insn seed_cpu_c[] = {
#include "seed/cpu_profiler.inc"
};

/* The arguments of get_stackid in their order: context, map, flags. */
static const struct asm_insn seed_cpu_c4[] = {
	CALL(get_current_pid_tgid),
	MOV_REG(R6, R0),
	RSH(R6, 32),

	LD_MAP(R2, stack_traces),
	MOV(R3, 0x100 | 0x200),
	CALL(get_stackid),
	MOV_REG(R7, R0),

	LD_MAP(R2, stack_traces),
	MOV(R3, 0x200),
	CALL(get_stackid),
	MOV_REG(R8, R0),

	STX(W, R10, -16, R7),
	STX(W, R10, -12, R8),
	STX(W, R10, -8, R6),
#include "seed/cpu_count.inc"
};

/* And the context kept where calls do not reach it. */
#define SEED_CPU_C5(user_flags, kernel_flags)                                                      \
	MOV_REG(R9, R1), CALL(get_current_pid_tgid), MOV_REG(R6, R0), RSH(R6, 32),                 \
		MOV_REG(R1, R9), LD_MAP(R2, stack_traces), MOV(R3, user_flags), CALL(get_stackid), \
		MOV_REG(R7, R0), MOV_REG(R1, R9), LD_MAP(R2, stack_traces), MOV(R3, kernel_flags), \
		CALL(get_stackid), MOV_REG(R8, R0), STX(W, R10, -16, R7), STX(W, R10, -12, R8),    \
		STX(W, R10, -8, R6)
static const struct asm_insn seed_cpu_c5[] = {
	SEED_CPU_C5(0x300, 0x200),
#include "seed/cpu_count.inc"
};

/* ---- what the accepted program does */

static volatile unsigned long busy;

static __attribute__((noinline)) unsigned long dig(int depth)
{
	struct timespec start, now;

	if (depth > 0)
		return dig(depth - 1) + 1;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (int i = 0; i < 100000; i++)
			busy++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
		 300);
	return busy;
}

/* Ten frames deep in user mode for 0.3 s, sampled; empties the maps first. */
static int sample_ourselves(int prog_fd, const int *map_fds)
{
	const pid_t self = getpid();
	struct rp_perf_options opt = { .freq = 997, .tasks = &self, .ntasks = 1, .disabled = true };
	struct {
		uint32_t id[2], pid, pad;
	} key;
	struct rp_perf *perf;
	int err;

	while (!rp_map_next_key(map_fds[MAP_CPU_SAMPLES], NULL, &key))
		rp_map_delete(map_fds[MAP_CPU_SAMPLES], &key);
	err = rp_event_parse("cpu-clock", &opt.event);
	if (!err)
		err = rp_perf_open(&opt, &perf);
	if (err)
		return err;
	err = rp_perf_attach(perf, prog_fd);
	if (!err)
		err = rp_perf_enable(perf);
	if (!err)
		dig(10);
	rp_perf_close(perf);
	return err;
}

struct seed_key {
	int32_t user, kernel;
	uint32_t pid, tail;
};
struct seed_findings {
	int keys, negative_kernel, one_frame, residue;
};

static int look_at_sample(void *ctx, const void *k, const void *value)
{
	const int fd = *(const int *)((void **)ctx)[1];
	struct seed_findings *found = ((void **)ctx)[0];
	const struct seed_key *key = k;
	uint64_t frame;

	(void)value;
	found->keys++;
	found->negative_kernel += key->kernel < 0;
	found->residue += key->tail != 0;
	if (key->user >= 0 && !rp_map_lookup(fd, &key->user, &frame))
		found->one_frame += frame != 0;
	return 0;
}

static int seed_harm(int prog_fd, const int *map_fds, char *seen)
{
	struct seed_findings found = { 0 };
	void *ctx[] = { &found, (void *)&map_fds[MAP_STACK_TRACES] };
	int err = sample_ourselves(prog_fd, map_fds);

	if (err)
		BAD_MISS("it cannot be run: %s", strerror(-err));
	rp_map_each(map_fds[MAP_CPU_SAMPLES], &bad_maps[MAP_CPU_SAMPLES], look_at_sample, ctx);
	BAD_SAW("%d keys: %d with a negative kernel stack id, %d whose user stack is one frame of "
		"ten or more, %d with stack residue behind the pid",
		found.keys, found.negative_kernel, found.one_frame, found.residue);
	return found.negative_kernel && found.one_frame ? 0 : -1;
}

/* C11: the key's last 4 bytes are never written. Since 6.3 that is accepted with CAP_PERFMON, and
 * 6.1 has it too in its later releases. */
#define UNWRITTEN_KEY                                               \
	.says = { { EACCES, "invalid indirect read from stack" } }, \
	.refused_before = KERNEL(5, 10), .accepted_since = KERNEL(6, 1)

const struct bad_case bad_seed_cpu[] = {
	{ "C1", "seed cpu-profiler, reading (a): the map is register 5",
	  BAD_PROGRAM(PERF_EVENT, seed_cpu_a), .says = { { EACCES, "R5 !read_ok" } },
	  .at = "MOV_REG(R1, R5)" },
	{ "C2", "reading (b): the map is the number 5", BAD_PROGRAM(PERF_EVENT, seed_cpu_b),
	  .says = { { EACCES, "R1 type=scalar expected=ctx", KERNEL(5, 18) },
		    { EACCES, "R1 type=inv expected=ctx", 0, KERNEL(5, 18) } },
	  .at = "CALL(get_stackid)" },
	{ "C3", "reading (c): the map is a map, and stands where the context belongs",
	  BAD_PROGRAM(PERF_EVENT, seed_cpu_c),
	  .says = { { EACCES, "R1 type=map_ptr expected=ctx" } }, .at = "CALL(get_stackid)" },
	{ "C4", "its arguments in order; the first call took the context",
	  BAD_PROGRAM(PERF_EVENT, seed_cpu_c4), .says = { { EACCES, "R1 !read_ok" } },
	  .at = "CALL(get_stackid)" },
	{ "C5-C8", "the context kept in R9: accepted, and wrong",
	  BAD_PROGRAM(PERF_EVENT, seed_cpu_c5), .silent = seed_harm, UNWRITTEN_KEY },
	{ "C12", "no licence: get_stackid is for everyone in perf events",
	  .program = { .name = "seed_cpu_c12",
		       .type = BPF_PROG_TYPE_PERF_EVENT,
		       .license = "",
		       ASM_LINES(seed_cpu_c5) },
	  .silent = seed_harm, UNWRITTEN_KEY },
	{ 0 },
};
