/* SPDX-License-Identifier: BSD-2-Clause */
/* Two CPUs count to four million together, in three ways. */
#include <pthread.h>
#include <sched.h>

#include "../lesson.h"

static const struct asm_map maps[] = {
	{ "plain", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
	{ "atomic", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
	{ "per_cpu", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, 1 },
};
enum { PLAIN,
       ATOMIC,
       PER_CPU,
       MAPS };

/* Load, add, store: another CPU may store in between. */
static const struct asm_insn count_plain_lines[] = {
	LD_MAP_VALUE(R1, plain, 0),
	LDX(DW, R2, R1, 0),
	ADD(R2, 1),
	STX(DW, R1, 0, R2),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program count_plain = {
	.name = "count_plain",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(count_plain_lines),
};

/* One instruction: no CPU gets in between. */
static const struct asm_insn count_atomic_lines[] = {
	LD_MAP_VALUE(R1, atomic, 0),
	MOV(R2, 1),
	ATOMIC_ADD(DW, R1, 0, R2),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program count_atomic = {
	.name = "count_atomic",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(count_atomic_lines),
};

/* A counter for each CPU: the look-up gives the one of the CPU that it runs on. */
static const struct asm_insn count_per_cpu_lines[] = {
	ST(W, R10, -4, 0),
	MAP_LOOKUP(per_cpu, -4),
	JEQ(R0, 0, out),
	LDX(DW, R1, R0, 0),
	ADD(R1, 1),
	STX(DW, R0, 0, R1),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program count_per_cpu = {
	.name = "count_per_cpu",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(count_per_cpu_lines),
};

const struct lesson_program lesson_good[] = {
	[PLAIN] = { &count_plain, maps, MAPS, "load, add, store" },
	[ATOMIC] = { &count_atomic, maps, MAPS, "an atomic add" },
	[PER_CPU] = { &count_per_cpu, maps, MAPS, "load, add, store, on each CPU its own" },
	{ 0 },
};

enum { RUNS = 2000000 };
struct worker {
	pthread_barrier_t *start;
	int cpu, program;
	uint32_t ns;
};

static void *count(void *arg)
{
	struct worker *w = arg;
	unsigned char packet[64] = { 0 };
	struct rp_test_run run = {
		.data_in = packet, .data_size_in = sizeof(packet), .repeat = RUNS
	};
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(w->cpu, &cpu);
	pthread_setaffinity_np(pthread_self(), sizeof(cpu), &cpu);
	pthread_barrier_wait(w->start);
	must(rp_prog_test_run(w->program, &run), "test run");
	w->ns = run.duration_ns;
	return NULL;
}

static uint64_t total(int which, int map)
{
	unsigned char value[65536];

	must(rp_map_lookup(map, &(uint32_t){ 0 }, value), "look-up");
	return which == PER_CPU ? rp_map_cpu_sum(&maps[which], value, 0) : *(uint64_t *)value;
}

static uint64_t race(int which, const int *fds, const struct rp_cpus *cpus)
{
	struct worker worker[2];
	pthread_barrier_t start;
	pthread_t thread[2];
	uint64_t sum;

	pthread_barrier_init(&start, NULL, 2);
	for (int i = 0; i < 2; i++) {
		worker[i] = (struct worker){ &start, cpus->cpu[i % cpus->n],
					     lesson_load(&lesson_good[which], fds), 0 };
		pthread_create(&thread[i], NULL, count, &worker[i]);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(thread[i], NULL);
		close(worker[i].program);
	}
	pthread_barrier_destroy(&start);
	sum = total(which, fds[which]);
	printf("%-14s counted %llu of %d: %llu lost (%.2f %%), %u ns a run\n",
	       lesson_good[which].program->name, (unsigned long long)sum, 2 * RUNS,
	       (unsigned long long)(2 * RUNS - sum), 100.0 * (2 * RUNS - sum) / (2 * RUNS),
	       (worker[0].ns + worker[1].ns) / 2);
	return 2 * RUNS - sum;
}

int main(void)
{
	struct rp_cpus cpus;
	int fds[MAPS];

	lesson_begin("Two CPUs add 1 to a counter two million times each. What does it show?");
	must(rp_maps_create(maps, MAPS, fds), "maps");
	lesson_refused(fds);

	must(rp_cpus_online(&cpus), "CPUs");
	if (cpus.n < 2)
		printf("there is only one CPU here, so nothing will be lost\n");
	printf("--- what the verifier does not check: that nobody else counts\n");
	/* On a busy machine the two may not meet: once more, then. */
	for (int tries = 0; !race(PLAIN, fds, &cpus) && tries < 10; tries++)
		must(rp_map_update(fds[PLAIN], &(uint32_t){ 0 }, &(uint64_t){ 0 }, BPF_ANY), "reset");
	race(ATOMIC, fds, &cpus);
	race(PER_CPU, fds, &cpus);
	rp_cpus_free(&cpus);
	rp_fds_close(fds, MAPS);
	return 0;
}
