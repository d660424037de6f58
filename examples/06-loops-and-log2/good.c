/* SPDX-License-Identifier: BSD-2-Clause */
/* The number of the highest bit set, in three ways, and a histogram that needs it. */
#include "../lesson.h"

struct slices {
	uint64_t last;	    /* when this CPU switched tasks */
	uint64_t count[64]; /* by the log2 of the ns since */
};
static const struct asm_map maps[] = {
	{ "number", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
	{ "slices", BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct slices), 1 },
};

#define LD_NUMBER(dst) LD_MAP_VALUE(dst, number, 0), LDX(DW, dst, dst, 0)

/* Shift until 1 is left. Each round is a round for the verifier too. */
static const struct asm_insn by_loop_lines[] = {
	LD_NUMBER(R1),
	MOV(R0, 0),
	LABEL(next),
	JLE(R1, 1, out),
	RSH(R1, 1),
	ADD(R0, 1),
	JLT(R0, 63, next),
	LABEL(out),
	EXIT(),
};
static const struct asm_program by_loop = {
	.name = "by_loop",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(by_loop_lines),
};

/* Is there a bit in the upper half? In the upper half of what is left? Six questions. */
#define HALF(bits)                                                                   \
	SCOPE("HALF(" #bits ")"), MOV_REG(R2, R1), RSH(R2, bits), JEQ(R2, 0, .none), \
		MOV_REG(R1, R2), ADD(R0, bits), LABEL(.none), END
static const struct asm_insn by_halves_lines[] = {
	LD_NUMBER(R1),
	MOV(R0, 0),
	HALF(32),
	HALF(16),
	HALF(8),
	HALF(4),
	HALF(2),
	HALF(1),
	EXIT(),
};
static const struct asm_program by_halves = {
	.name = "by_halves",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(by_halves_lines),
};

/* The same questions without a jump: (t | -t) >> 63 is 1 unless t is 0. LOG2 is in macros.h. */
static const struct asm_insn branch_free_lines[] = {
	LD_NUMBER(R1),
	LOG2(R0, R1, R2, R3),
	EXIT(),
};
static const struct asm_program branch_free = {
	.name = "branch_free",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(branch_free_lines),
};

/* How long does a task stay on its CPU? At every switch: the time since the switch before. */
static const struct asm_insn on_switch_lines[] = {
	CALL(ktime_get_ns),
	MOV_REG(R6, R0),
	ST(W, R10, -4, 0),
	MAP_LOOKUP(slices, -4),
	JEQ(R0, 0, out),
	LDX(DW, R1, R0, offsetof(struct slices, last)),
	STX(DW, R0, offsetof(struct slices, last), R6),
	JEQ(R1, 0, out), /* the first of this CPU */
	SUB_REG(R6, R1),
	LOG2(R1, R6, R2, R3), /* no AND(R1, 63): the verifier can see that it is at most 63 */
	LSH(R1, 3),
	ADD_REG(R0, R1),
	LDX(DW, R1, R0, offsetof(struct slices, count)),
	ADD(R1, 1),
	STX(DW, R0, offsetof(struct slices, count), R1),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program on_switch = {
	.name = "on_switch",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	ASM_LINES(on_switch_lines),
};

const struct lesson_program lesson_good[] = {
	{ &by_loop, maps, 2, "log2 by a loop" },
	{ &by_halves, maps, 2, "log2 by six comparisons" },
	{ &branch_free, maps, 2, "log2 without a jump" },
	{ &on_switch, maps, 2, "a histogram of time slices" },
	{ 0 },
};

static uint32_t log2_of(int fd, int map, uint64_t number, struct rp_test_run *run)
{
	must(rp_map_update(map, &(uint32_t){ 0 }, &number, BPF_ANY), "number");
	must(rp_prog_test_run(fd, run), "test run");
	return run->retval;
}

/* All powers of two, and their neighbours. */
static int count_wrong(int fd, int map, struct rp_test_run *run)
{
	int wrong = log2_of(fd, map, 0, run) != 0;

	for (uint32_t bit = 0; bit < 64; bit++) {
		const uint64_t power = 1ULL << bit;

		wrong += log2_of(fd, map, power, run) != bit;
		wrong += log2_of(fd, map, power | 1, run) != bit;
		wrong += bit > 0 && log2_of(fd, map, power - 1, run) != bit - 1;
	}
	return wrong;
}

static void compare(const int *fds)
{
	unsigned char packet[64] = { 0 };

	printf("%-12s %12s %10s %8s %6s\n", "log2", "instructions", "processed", "ns a run",
	       "wrong");
	for (int i = 0; i < 3; i++) {
		struct rp_test_run once = { .data_in = packet, .data_size_in = sizeof(packet) };
		struct rp_test_run many = once;
		struct rp_prog_stats stats;
		int fd = lesson_load(&lesson_good[i], fds), wrong;

		must(rp_prog_stats(fd, &stats), "statistics");
		wrong = count_wrong(fd, fds[0], &once);
		many.repeat = 1000000;
		log2_of(fd, fds[0], 1ULL << 40, &many);
		printf("%-12s %12u %10u %8u %6d\n", stats.name,
		       stats.xlated_bytes / (uint32_t)sizeof(struct bpf_insn), stats.verified_insns,
		       many.duration_ns, wrong);
		close(fd);
	}
}

static void histogram(const int *fds)
{
	unsigned char value[65536];
	struct rp_link *link;
	int fd = lesson_load(&lesson_good[3], fds);
	uint64_t count[64], most = 1;

	must(rp_attach_raw_tracepoint(fd, "sched_switch", &link), "attach");
	sleep(1);
	rp_link_close(link);
	close(fd);
	must(rp_map_lookup(fds[1], &(uint32_t){ 0 }, value), "look-up");
	printf("\ntime slices of one second on this machine:\n");
	for (unsigned i = 0; i < 64; i++) {
		count[i] = rp_map_cpu_sum(&maps[1], value, 1 + i);
		most = count[i] > most ? count[i] : most;
	}
	for (int i = 0; i < 64; i++)
		if (count[i])
			printf("%12llu ns .. %12llu ns: %6llu %.*s\n", 1ULL << i, 2ULL << i,
			       (unsigned long long)count[i], (int)(count[i] * 40 / most),
			       "****************************************");
}

int main(void)
{
	int fds[2];

	lesson_begin("Seven lines find the highest bit set. How many lines does the verifier read?");
	must(rp_maps_create(maps, 2, fds), "maps");
	lesson_refused(fds);
	compare(fds);
	histogram(fds);
	rp_fds_close(fds, 2);
	return 0;
}
