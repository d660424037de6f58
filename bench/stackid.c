/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stackid HZ SECONDS: samples stacks as profilers did before rawprof, with bpf_get_stackid, so that
 * the cost of a sample can be compared where no such profiler is installed.
 *
 * The program makes the same calls of the kernel as profile of bcc's libbpf-tools, in the same
 * order, with maps of the same types and sizes: the id of the process, its name, two stack ids of
 * at most 127 frames in a table for 1,024, and a count by all of that in a hash for 10,240. It
 * prints how many samples it counted, and how many of them kept no user stack.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rawprof/loader.h>
#include <rawprof/macros.h>

struct key {
	uint32_t pid;
	int32_t user_stack, kernel_stack;
	char comm[16];
};

enum { DEPTH = 127, STACKS = 1024, COUNTS = 10240 };

static const struct asm_map maps[] = {
	{ "stacks", BPF_MAP_TYPE_STACK_TRACE, 4, DEPTH * 8, STACKS },
	{ "counts", BPF_MAP_TYPE_HASH, sizeof(struct key), 8, COUNTS },
};
enum { MAPS = sizeof(maps) / sizeof(maps[0]) };

struct frame {
	uint64_t one;
	struct key key;
	uint32_t pad;
};
enum {
	ONE = FRAME(struct frame, one),
	KEY = FRAME(struct frame, key),
	PID = FRAME(struct frame, key.pid),
	USER = FRAME(struct frame, key.user_stack),
	KERNEL = FRAME(struct frame, key.kernel_stack),
	COMM = FRAME(struct frame, key.comm),
};

static const struct asm_insn sample_lines[] = {
	MOV_REG(R6, R1),
	CALL(get_current_pid_tgid),
	JEQ(R0, 0, out), /* idle */
	RSH(R0, 32),
	STX(W, R10, PID, R0),
	FRAME_PTR(R1, COMM),
	MOV(R2, 16),
	CALL(get_current_comm),
	MOV_REG(R1, R6),
	LD_MAP(R2, stacks),
	MOV(R3, 0),
	CALL(get_stackid),
	STX(W, R10, KERNEL, R0),
	MOV_REG(R1, R6),
	LD_MAP(R2, stacks),
	MOV(R3, BPF_F_USER_STACK),
	CALL(get_stackid),
	STX(W, R10, USER, R0),
	ST(DW, R10, ONE, 1),
	MAP_ADD(counts, KEY, ONE),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};

static const struct asm_program sample = {
	.name = "stackid",
	.type = BPF_PROG_TYPE_PERF_EVENT,
	.license = "Dual BSD/GPL",
	ASM_LINES(sample_lines),
};

struct sums {
	uint64_t samples, without_stack, keys;
};

static int add(void *ctx, const void *key, const void *value)
{
	const struct key *k = key;
	struct sums *s = ctx;

	s->keys++;
	s->samples += *(const uint64_t *)value;
	/* -EFAULT: it was in the kernel and has no user side. */
	if (k->user_stack < 0 && k->user_stack != -EFAULT)
		s->without_stack += *(const uint64_t *)value;
	return 0;
}

int main(int argc, char **argv)
{
	struct rp_perf_options options = { .freq = argc > 1 ? strtoul(argv[1], NULL, 10) : 99 };
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 5;
	struct timespec wait = { .tv_sec = (time_t)seconds,
				 .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) };
	struct asm_bindings bind = { .maps = maps, .nmaps = MAPS };
	struct sums sums = { 0 };
	struct rp_perf *perf = NULL;
	int fds[MAPS], prog, err;

	err = rp_maps_create(maps, MAPS, fds);
	if (err)
		return 1;
	bind.map_fds = fds;
	prog = rp_program_load(&sample, &bind);
	err = prog < 0 ? prog : rp_event_parse("cpu-clock", &options.event);
	if (!err)
		err = rp_perf_open(&options, &perf);
	if (!err)
		err = rp_perf_attach(perf, prog);
	if (!err) {
		nanosleep(&wait, NULL);
		rp_perf_disable(perf);
		err = rp_map_each(fds[1], &maps[1], add, &sums);
	}
	printf("%" PRIu64 " samples under %" PRIu64 " keys, %" PRIu64 " without a user stack\n",
	       sums.samples, sums.keys, sums.without_stack);
	rp_perf_close(perf);
	return err < 0;
}
