/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hardware cycles: a sample every so many of them, and a count. On a machine whose clock counts
 * instructions (qemu -icount, one cycle each) all of it is known beforehand and exact.
 */
#include "test_loader.h"

enum { PERIOD = 1000000, LOOPS = 10000000 };

struct counts {
	uint64_t samples, periods;
};

static const struct asm_map counts = { "counts", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct counts),
				       1,	 BPF_F_MMAPABLE };

/*
 * struct bpf_perf_event_data: the registers, then sample_period; how many there are is the
 * architecture's.
 */
#if defined(__aarch64__)
enum { SAMPLE_PERIOD = 272 };
#elif defined(__x86_64__)
enum { SAMPLE_PERIOD = 168 };
#else
enum { SAMPLE_PERIOD = 256 };
#endif

/* clang-format off */
static const struct asm_insn lines[] = {
	LDX(DW, R6, R1, SAMPLE_PERIOD),
	COUNT(counts, struct counts, samples),
	LD_MAP_VALUE(R1, counts, offsetof(struct counts, periods)),
	ATOMIC_ADD(DW, R1, 0, R6),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

static const struct asm_program program = { .name = "cycles",
					    .type = BPF_PROG_TYPE_PERF_EVENT,
					    .license = "Dual BSD/GPL",
					    ASM_LINES(lines) };

static struct counts *seen;

static int load(void)
{
	const int map = rp_map_create(&counts);
	const struct asm_bindings bind = { .maps = &counts, .map_fds = &map, .nmaps = 1 };
	void *at;
	size_t size;
	int prog;

	ck_assert_int_ge(map, 0);
	ck_assert_int_eq(rp_map_mmap(map, &counts, &at, &size), 0);
	seen = at;
	prog = rp_program_load(&program, &bind);
	ck_assert_int_ge(prog, 0);
	return prog;
}

/* Two instructions a round. */
static void run_loop(void)
{
#if defined(__aarch64__)
	uint64_t n = LOOPS;

	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
#elif defined(__x86_64__)
	uint64_t n = LOOPS;

	__asm__ volatile("1: sub $1, %0\n\tjnz 1b" : "+r"(n) : : "cc");
#else
	for (volatile int n = 0; n < LOOPS; n++)
		;
#endif
}

/* Our thread alone, in user mode alone: whoever else runs is not in the numbers. */
static struct rp_perf *open_cycles(uint64_t period)
{
	const pid_t self = (pid_t)syscall(SYS_gettid);
	struct rp_perf_options opt = { .period = period,
				       .tasks = &self,
				       .ntasks = 1,
				       .disabled = true,
				       .exclude_kernel = true,
				       .no_fallback = true };
	struct rp_perf *perf;

	ck_assert_int_eq(rp_event_parse("cycles", &opt.event), 0);
	ck_assert_int_eq(rp_perf_open(&opt, &perf), 0);
	return perf;
}

static uint64_t count_of(struct rp_perf *perf)
{
	struct rp_perf_counts c = { 0 };

	ck_assert_int_eq(rp_perf_disable(perf), 0);
	ck_assert_int_eq(rp_perf_read(perf, &c), 0);
	ck_assert_uint_eq(c.enabled_ns, c.running_ns);
	rp_perf_close(perf);
	return c.value;
}

START_TEST(test_count)
{
	struct rp_perf *perf;
	uint64_t cycles;

	if (!rp_has(RP_HAS_HW_EVENTS))
		skip_test("no cycles: %s", strerror(-rp_feature_errno(RP_HAS_HW_EVENTS)));
	perf = open_cycles(0);
	ck_assert_int_eq(rp_perf_enable(perf), 0);
	run_loop();
	cycles = count_of(perf);
	printf("%d rounds of two instructions: %llu cycles\n", LOOPS, (unsigned long long)cycles);
	ck_assert_uint_gt(cycles, LOOPS / 8); /* no machine is faster */
	if (getenv("VM_ICOUNT")) {
		ck_assert_uint_ge(cycles, 2 * LOOPS);
		ck_assert_uint_lt(cycles, 2 * LOOPS + 2000); /* the way in and out */
	}
}
END_TEST

START_TEST(test_a_sample_every_period)
{
	struct rp_perf *perf;
	uint64_t cycles;
	int prog;

	if (!rp_has(RP_HAS_HW_EVENTS))
		skip_test("no cycles: %s", strerror(-rp_feature_errno(RP_HAS_HW_EVENTS)));
	prog = load();
	perf = open_cycles(PERIOD);
	ck_assert_int_eq(rp_perf_attach(perf, prog), 0);
	ck_assert_int_eq(rp_perf_enable(perf), 0);
	run_loop();
	cycles = count_of(perf);
	printf("%llu cycles, %llu samples\n", (unsigned long long)cycles,
	       (unsigned long long)seen->samples);
	/*
	 * The counter runs on while an overflow is being handled, so a few may be missing, never
	 * more.
	 */
	ck_assert_uint_gt(seen->samples, 0);
	ck_assert_uint_le(seen->samples, cycles / PERIOD);
	ck_assert_uint_eq(seen->periods, seen->samples * PERIOD);
	if (getenv("VM_ICOUNT"))
		ck_assert_uint_eq(seen->samples, 2 * LOOPS / PERIOD);
	close(prog);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loader: cycles");
	TCase *tc = tcase_create("live");

	tcase_add_test(tc, test_count);
	tcase_add_test(tc, test_a_sample_every_period);
	tcase_set_timeout(tc, 30);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
