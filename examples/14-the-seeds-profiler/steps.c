/* SPDX-License-Identifier: BSD-2-Clause */
/* The tutorial's program once the kernel takes it, and what is wrong with it then. */
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "seed.h"

/* C5. The context is kept in R9: accepted. */
static const struct asm_insn accepted_lines[] = {
	MOV_REG(R9, R1),
	SEED_WHO,
	MOV_REG(R1, R9),
	LD_MAP(R2, stack_traces),
	MOV(R3, 0x100 | 0x200),
	CALL(get_stackid),
	MOV_REG(R7, R0),
	MOV_REG(R1, R9),
	LD_MAP(R2, stack_traces),
	MOV(R3, 0x200),
	CALL(get_stackid),
	MOV_REG(R8, R0),
	SEED_KEY,
	SEED_COUNT(LD_MAP),
};
const struct asm_program seed_accepted = {
	.name = "accepted",
	.type = BPF_PROG_TYPE_PERF_EVENT,
	.license = "GPL",
	ASM_LINES(accepted_lines),
};
/* C12. In a perf event get_stackid is not for GPL programs only. */
const struct asm_program seed_without_licence = {
	.name = "no_licence",
	.type = BPF_PROG_TYPE_PERF_EVENT,
	.license = "",
	ASM_LINES(accepted_lines),
};

/* C9. Its second half, always with the same key, so that it can be run by hand on two CPUs. */
static const struct asm_insn count_alone_lines[] = {
	ST(DW, R10, -16, 1),
	ST(DW, R10, -8, 1),
	SEED_COUNT(LD_MAP),
};
const struct asm_program count_alone = {
	.name = "count_alone",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	.license = "GPL",
	ASM_LINES(count_alone_lines),
};

/* C10. Two CPUs, step by step on one: both look, both find nothing, both write 1. */
#define LOOK ST(DW, R10, -16, 2), ST(DW, R10, -8, 2), MAP_LOOKUP(cpu_samples, -16)
#define WRITE_1 ST(DW, R10, -24, 1), MAP_UPDATE(cpu_samples, -16, -24, 0)
static const struct asm_insn both_miss_lines[] = {
	LOOK,
	LOOK,
	WRITE_1,
	WRITE_1,
	LOOK,
	JEQ(R0, 0, out),
	LDX(DW, R0, R0, 0),
	LABEL(out),
	EXIT(),
};
const struct asm_program both_miss = {
	.name = "both_miss",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	.license = "GPL",
	ASM_LINES(both_miss_lines),
};

static const struct lesson_program accepted_entry = { &seed_accepted, seed_maps, SEED_MAPS, "" };
static const struct lesson_program no_licence_entry = { &seed_without_licence, seed_maps, SEED_MAPS,
							"" };
static const struct lesson_program count_entry = { &count_alone, seed_maps, SEED_MAPS, "" };
static const struct lesson_program miss_entry = { &both_miss, seed_maps, SEED_MAPS, "" };

/* ---- something to sample */

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static __attribute__((noinline)) void burn(double time)
{
	const double end = seconds() + time;

	while (seconds() < end)
		;
}

/* Ten calls deep, so that a stack has ten frames and more. */
static __attribute__((noinline)) void dig(int depth, double time)
{
	if (depth)
		dig(depth - 1, time);
	else
		burn(time);
	__asm__("/* dig */");
}

/* Samples a thread of this process, or everything (tid 0), while work runs. */
static void sample(int fd, pid_t tid, uint64_t freq, void (*work)(void))
{
	struct rp_perf_options options = { .freq = freq,
					   .tasks = tid ? &tid : NULL,
					   .ntasks = !!tid };
	struct rp_perf *perf;

	must(rp_event_parse("cpu-clock", &options.event), "event");
	must(rp_perf_open(&options, &perf), "perf events");
	must(rp_perf_attach(perf, fd), "attach");
	work();
	rp_perf_close(perf);
}

/* ---- C5 to C8, C11, C12: one run of it */

static void deep_work(void)
{
	dig(10, 0.3);
}

struct look {
	int stacks; /* descriptor of the map */
	uint64_t samples, no_kernel, no_user, frames, stacks_read, residue;
	int kernel_error;
};

static int look_at(void *ctx, const void *key, const void *value)
{
	const struct seed_key *k = key;
	const uint64_t count = *(const uint64_t *)value;
	struct look *l = ctx;
	uint64_t frame;

	l->samples += count;
	if (k->kernel_stack < 0) {
		l->no_kernel += count;
		l->kernel_error = -k->kernel_stack;
	}
	l->no_user += k->user_stack < 0 ? count : 0;
	l->residue += k->nobody != 0;
	if (k->user_stack >= 0 && !rp_map_lookup(l->stacks, &k->user_stack, &frame)) {
		l->stacks_read++;
		l->frames += frame != 0;
	}
	return 0;
}

static void run_as_it_is(void)
{
	int fds[SEED_MAPS], fd;
	struct look look = { 0 };

	must(rp_maps_create(seed_maps, SEED_MAPS, fds), "maps");
	fd = lesson_load(&accepted_entry, fds);
	printf("C5  the context kept in R9: ACCEPTED, %zu lines\n",
	       sizeof(accepted_lines) / sizeof(accepted_lines[0]));
	sample(fd, getpid(), 997, deep_work);
	look.stacks = fds[STACK_TRACES];
	must(rp_map_each(fds[CPU_SAMPLES], &seed_maps[CPU_SAMPLES], look_at, &look), "map");
	close(fd);
	printf("C6  its flag 0x200 is %s; REUSE_STACKID is 0x%x\n",
	       BPF_F_FAST_STACK_CMP == 0x200 ? "FAST_STACK_CMP" : "something else",
	       (unsigned)BPF_F_REUSE_STACKID);
	printf("C7  %llu samples eleven calls deep, %llu user stacks of %.1f frames\n",
	       (unsigned long long)look.samples, (unsigned long long)look.stacks_read,
	       look.stacks_read ? (double)look.frames / look.stacks_read : 0);
	printf("C8  %llu of them have a kernel stack id below 0: %s\n",
	       (unsigned long long)look.no_kernel, strerror(look.kernel_error));
	printf("C11 %llu keys have something in the 4 bytes that nobody writes\n",
	       (unsigned long long)look.residue);
	close(lesson_load(&no_licence_entry, fds));
	printf("C12 the same program with no licence at all: ACCEPTED\n");
	rp_fds_close(fds, SEED_MAPS);
}

/* ---- C9, C10: counting */

enum { RUNS = 1000000 };
struct counter {
	pthread_barrier_t *start;
	int fd, cpu;
};

static void *count(void *arg)
{
	const struct counter *c = arg;
	unsigned char packet[64] = { 0 };
	struct rp_test_run run = { .data_in = packet, .data_size_in = 64, .repeat = RUNS };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(c->cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	pthread_barrier_wait(c->start);
	must(rp_prog_test_run(c->fd, &run), "test run");
	return NULL;
}

static uint64_t count_on_two_cpus(void)
{
	const struct seed_key key = { 1, 0, 1, 0 };
	struct counter counter[2];
	pthread_barrier_t start;
	pthread_t thread[2];
	int fds[SEED_MAPS];
	struct rp_cpus cpus;
	uint64_t counted;

	must(rp_cpus_online(&cpus), "CPUs");
	must(rp_maps_create(seed_maps, SEED_MAPS, fds), "maps");
	pthread_barrier_init(&start, NULL, 2);
	for (int i = 0; i < 2; i++) {
		counter[i] = (struct counter){ &start, lesson_load(&count_entry, fds),
					       cpus.cpu[i % cpus.n] };
		pthread_create(&thread[i], NULL, count, &counter[i]);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(thread[i], NULL);
		close(counter[i].fd);
	}
	pthread_barrier_destroy(&start);
	must(rp_map_lookup(fds[CPU_SAMPLES], &key, &counted), "look-up");
	rp_fds_close(fds, SEED_MAPS);
	rp_cpus_free(&cpus);
	return counted;
}

/* On a busy machine the two may not meet: then once more. */
static void lose_counts(void)
{
	uint64_t counted = 2 * RUNS;

	for (int tries = 0; counted == 2 * RUNS && tries < 10; tries++)
		counted = count_on_two_cpus();
	printf("C9  two CPUs, %d samples: %llu counted\n", 2 * RUNS, (unsigned long long)counted);
}

static void miss_on_two_cpus(void)
{
	unsigned char packet[64] = { 0 };
	struct rp_test_run run = { .data_in = packet, .data_size_in = 64 };
	int fds[SEED_MAPS], fd;

	must(rp_maps_create(seed_maps, SEED_MAPS, fds), "maps");
	fd = lesson_load(&miss_entry, fds);
	must(rp_prog_test_run(fd, &run), "test run");
	printf("C10 two CPUs meet a new key, 2 samples: %u counted\n", run.retval);
	close(fd);
	rp_fds_close(fds, SEED_MAPS);
}

/* ---- C13: time */

/* An idle CPU may not tick, and then nobody could tell; so each has something to do. */
static void wait_a_second(void)
{
	int ncpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	pid_t pids[64];
	int n = 0;

	while (n < ncpus && n < 64) {
		pids[n] = fork();
		if (pids[n] == 0)
			for (;;)
				burn(1);
		if (pids[n] < 0)
			break;
		n++;
	}
	sleep(1);
	while (n-- > 0) {
		kill(pids[n], SIGKILL);
		waitpid(pids[n], NULL, 0);
	}
}

static void tell_the_time(void)
{
	int fds[SEED_MAPS], fd;
	struct look look = { 0 };

	must(rp_maps_create(seed_maps, SEED_MAPS, fds), "maps");
	fd = lesson_load(&accepted_entry, fds);
	look.stacks = fds[STACK_TRACES];
	sample(fd, 0, 99, wait_a_second);
	must(rp_map_each(fds[CPU_SAMPLES], &seed_maps[CPU_SAMPLES], look_at, &look), "map");
	printf("C13 one second at 99 Hz, %llu samples: \"Duration: %.1f seconds\"\n",
	       (unsigned long long)look.samples, look.samples / 99.0);
	close(fd);
	rp_fds_close(fds, SEED_MAPS);
}

/* ---- C15: who was that? */

/* A process with a pid of our choice, which works for 0.1 s under a name. */
static pid_t work_as(const char *name, pid_t pid)
{
	struct clone_args args = { .exit_signal = SIGCHLD };

	if (pid) {
		args.set_tid = (uintptr_t)&pid;
		args.set_tid_size = 1;
	}
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		prctl(PR_SET_NAME, name);
		burn(0.1);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return pid;
}

static pid_t first, second;

static void work_twice(void)
{
	first = work_as("alice", 0);
	second = work_as("bob", first);
}

struct of_pid {
	uint32_t pid;
	uint64_t samples;
	int pids;
};

static int add_pid(void *ctx, const void *key, const void *value)
{
	const struct seed_key *k = key;
	struct of_pid *of = ctx;

	if (k->pid == of->pid)
		of->samples += *(const uint64_t *)value;
	return 0;
}

static void meet_twice(void)
{
	struct of_pid of = { 0 };
	int fds[SEED_MAPS], fd;

	must(rp_maps_create(seed_maps, SEED_MAPS, fds), "maps");
	fd = lesson_load(&accepted_entry, fds);
	sample(fd, 0, 997, work_twice);
	of.pid = (uint32_t)first;
	must(rp_map_each(fds[CPU_SAMPLES], &seed_maps[CPU_SAMPLES], add_pid, &of), "map");
	if (second == first)
		printf("C15 process %d was alice and then bob: %llu samples of pid %d, whoever it "
		       "was\n",
		       first, (unsigned long long)of.samples, first);
	else
		printf("C15 needs the right to choose a pid, which we have not: %s\n",
		       strerror(errno));
	close(fd);
	rp_fds_close(fds, SEED_MAPS);
}

void show_silent_faults(void)
{
	printf("--- what the verifier does not check: all the rest\n");
	run_as_it_is();
	lose_counts();
	miss_on_two_cpus();
	tell_the_time();
	printf("C14 \"kernel;user\": its folded stacks begin with the kernel; see below\n");
	meet_twice();
}
