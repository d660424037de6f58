/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LOG2, LOG_LINEAR and HIST_ADD, in the kernel, against buckets that are laid out here one after
 * the other, and against those of a histogram in user space.
 */
#include <rawprof/hist.h>

#include "macros_world.h"

/* The number in R1, its bucket in R0; R6-R8 and R5 are the program's. */
static uint64_t bucket(int fd, uint64_t value)
{
	struct isa_cell cell = world_run(fd, value, 2, 3);

	for (int r = 6; r <= 8; r++)
		ck_assert_uint_eq(cell.out[r], cell.in[r]);
	return cell.out[0];
}

/* Numbers from all over, the same each time: splitmix64, cut to any length. */
static uint64_t anything(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	z ^= z >> 31;
	return z >> (z & 63);
}

/* ---- log2 */

static uint64_t slow_log2(uint64_t value)
{
	uint64_t n = 0;

	while (value > 1) {
		value /= 2;
		n++;
	}
	return n;
}

START_TEST(log2_of_everything)
{
	static const struct asm_insn lines[] = { LOG2(R0, R1, R2, R3) };
	uint64_t state = 1;
	int fd = LOAD(lines);

	ck_assert_uint_eq(bucket(fd, 0), 0);
	ck_assert_uint_eq(bucket(fd, 1), 0);
	for (unsigned int k = 1; k < 64; k++) {
		uint64_t power = 1ULL << k;

		ck_assert_uint_eq(bucket(fd, power - 1), k - 1);
		ck_assert_uint_eq(bucket(fd, power), k);
		ck_assert_uint_eq(bucket(fd, power + 1), k);
	}
	ck_assert_uint_eq(bucket(fd, 1ULL << 63), 63);
	ck_assert_uint_eq(bucket(fd, UINT64_MAX), 63);
	for (int i = 0; i < 3000; i++) {
		uint64_t value = anything(&state);

		ck_assert_uint_eq(bucket(fd, value), slow_log2(value));
	}
	close(fd);
}
END_TEST

/* Two of them, with other registers. */
START_TEST(log2_twice)
{
	static const struct asm_insn lines[] = {
		LOG2(R4, R1, R0, R5),
		LOG2(R0, R2, R3, R5),
		LSH(R4, 8),
		OR_REG(R0, R4),
	};
	int fd = LOAD(lines);

	ck_assert_uint_eq(world_run(fd, 1000, 1ULL << 40, 0).out[0], 9 << 8 | 40);
	close(fd);
}
END_TEST

/* ---- log-linear */

/*
 * A layout with 2^bits buckets for each power of two, made by counting: the first 2^(bits+1) are 1
 * wide, the next 2^bits are 2 wide, the next 4, and so on until 2^64. At both ends of each bucket
 * the program has to say its number; the width promised is kept.
 */
static void check_layout(const struct asm_insn *lines, size_t n, unsigned int bits)
{
	int fd = world_load(lines, n);
	uint64_t lower = 0, width = 1, state = bits;
	uint64_t buckets = ASM_LOGLIN_BUCKETS(bits);

	for (uint64_t i = 0; i < buckets; i++) {
		uint64_t last;

		if (i >= 2ULL << bits && !(i & ((1ULL << bits) - 1)))
			width *= 2;
		last = lower + width - 1;
		ck_assert_msg(bucket(fd, lower) == i && bucket(fd, last) == i,
			      "%u bits: %#llx to %#llx have to be in bucket %llu", bits,
			      (unsigned long long)lower, (unsigned long long)last,
			      (unsigned long long)i);
		ck_assert(width == 1 || width <= lower >> bits);
		ck_assert_uint_eq(last == UINT64_MAX, i == buckets - 1);
		lower = last + 1;
	}
	ck_assert_uint_eq(lower, 0); /* the last bucket ends at 2^64 */

	for (int i = 0; i < 500; i++) {
		uint64_t value = anything(&state), here = bucket(fd, value);

		/* Never less for a larger number. */
		ck_assert_uint_lt(here, buckets);
		ck_assert(value == UINT64_MAX || bucket(fd, value + 1) >= here);
	}
	close(fd);
}

START_TEST(log_linear)
{
	static const struct asm_insn bits0[] = { LOG_LINEAR(R0, R1, 0, R2, R3, R4) };
	static const struct asm_insn bits1[] = { LOG_LINEAR(R0, R1, 1, R2, R3, R4) };
	static const struct asm_insn bits3[] = { LOG_LINEAR(R0, R1, 3, R2, R3, R4) };
	static const struct asm_insn bits5[] = { MOV_REG(R5, R1), LOG_LINEAR(R4, R5, 5, R0, R1, R2),
						 MOV_REG(R0, R4) };

	ck_assert_int_eq(ASM_LOGLIN_BUCKETS(0), 65);
	check_layout(bits0, COUNT_OF(bits0), 0);
	check_layout(bits1, COUNT_OF(bits1), 1);
	check_layout(bits3, COUNT_OF(bits3), 3);
	check_layout(bits5, COUNT_OF(bits5), 5);
}
END_TEST

/* With 0 bits it is LOG2 but for 0, which has a bucket of its own. */
START_TEST(log_linear_of_0_bits_is_log2)
{
	static const struct asm_insn lines[] = { LOG_LINEAR(R0, R1, 0, R2, R3, R4) };
	uint64_t state = 2;
	int fd = LOAD(lines);

	ck_assert_uint_eq(bucket(fd, 0), 0);
	for (int i = 0; i < 500; i++) {
		uint64_t value = anything(&state);

		if (value)
			ck_assert_uint_eq(bucket(fd, value), slow_log2(value) + 1);
	}
	close(fd);
}
END_TEST

/* ---- the buckets of a report, and a histogram for it */

static void check_slot(int fd, uint64_t value, unsigned int bits)
{
	ck_assert_msg(bucket(fd, value) == report_hist_slot(value, bits), "%u bits: %#llx", bits,
		      (unsigned long long)value);
}

static void check_slots(const struct asm_insn *lines, size_t n, unsigned int bits)
{
	int fd = world_load(lines, n);
	uint64_t state = 77;

	ck_assert_uint_eq(report_hist_slots(bits), ASM_LOGLIN_BUCKETS(bits));
	check_slot(fd, 0, bits);
	for (unsigned int k = 0; k < 64; k++)
		for (int d = -1; d <= 1; d++)
			check_slot(fd, (1ULL << k) + (uint64_t)d, bits);
	check_slot(fd, UINT64_MAX, bits);
	for (int i = 0; i < 2000; i++)
		check_slot(fd, anything(&state), bits);
	close(fd);
}

START_TEST(reports_have_the_same_buckets)
{
	static const struct asm_insn bits0[] = { LOG_LINEAR(R0, R1, 0, R2, R3, R4) };
	static const struct asm_insn bits3[] = { LOG_LINEAR(R0, R1, 3, R2, R3, R4) };
	static const struct asm_insn bits4[] = { LOG_LINEAR(R0, R1, 4, R2, R3, R4) };
	static const struct asm_insn bits5[] = { LOG_LINEAR(R0, R1, 5, R2, R3, R4) };
	static const struct asm_insn bits6[] = { LOG_LINEAR(R0, R1, 6, R2, R3, R4) };

	check_slots(bits0, COUNT_OF(bits0), 0);
	check_slots(bits3, COUNT_OF(bits3), 3);
	check_slots(bits4, COUNT_OF(bits4), 4);
	check_slots(bits5, COUNT_OF(bits5), REPORT_HIST_BITS);
	check_slots(bits6, COUNT_OF(bits6), REPORT_HIST_MAX_BITS);
}
END_TEST

/* Counts values in the kernel and in user space, until both have counted the same ones. */
static void check_hist(const struct asm_insn *lines, size_t n, unsigned int nslots)
{
	static uint64_t value[3 + WORLD_SLOTS];
	const struct report_hists_spec spec = { "t", "t", "values", REPORT_UNIT_NS, 5 };
	struct report_hist_summary want, is;
	struct report_hist *here, *there;
	struct report_hists *set[2];
	uint64_t state = nslots, slots[WORLD_SLOTS] = { 0 };
	int fd = world_load(lines, n);

	ck_assert_int_eq(report_hists_new(&spec, &set[0]), 0);
	ck_assert_int_eq(report_hists_new(&spec, &set[1]), 0);
	ck_assert_int_eq(report_hists_get(set[0], NULL, &here), 0);
	ck_assert_int_eq(report_hists_get(set[1], NULL, &there), 0);
	memset(value, 0, sizeof(value));
	ck_assert_int_eq(rp_map_update(world_fds[HIST], &(uint32_t){ 0 }, value, BPF_ANY), 0);
	for (int i = 0; i < 1000; i++) {
		/* Not so large that the sum, which wraps there and saturates here, overflows. */
		uint64_t v = i == 500 ? 0 : i == 501 ? 1ULL << 62 : anything(&state) >> 11;
		unsigned int slot = report_hist_slot(v, 5);

		world_run(fd, v, 0, 0);
		report_hist_add(here, v, 1);
		slots[slot < nslots ? slot : nslots - 1]++;
		if (i == 0) { /* one value is its own least and greatest */
			ck_assert_int_eq(rp_map_lookup(world_fds[HIST], &(uint32_t){ 0 }, value),
					 0);
			ck_assert_uint_eq(value[0], v);
			ck_assert_uint_eq(value[1], ~v);
			ck_assert_uint_eq(value[2], v);
		}
	}
	ck_assert_int_eq(rp_map_lookup(world_fds[HIST], &(uint32_t){ 0 }, value), 0);
	for (unsigned int i = 0; i < WORLD_SLOTS; i++)
		ck_assert_uint_eq(value[3 + i], slots[i]);
	ck_assert_int_eq(
		report_hist_merge(there, &(struct report_hist_counts){ .sum = value[0],
								       .not_least = value[1],
								       .greatest = value[2],
								       .slots = value + 3,
								       .nslots = nslots }),
		0);
	report_hist_summary(here, &want);
	report_hist_summary(there, &is);
	ck_assert_uint_eq(is.count, 1000);
	ck_assert_uint_eq(is.sum, want.sum);
	ck_assert_uint_eq(is.least, 0);
	ck_assert_uint_eq(is.greatest, 1ULL << 62);
	if (nslots == WORLD_SLOTS) {
		ck_assert_uint_eq(is.p50, want.p50);
		ck_assert_uint_eq(is.p999, want.p999);
	}
	report_hists_free(set[0]);
	report_hists_free(set[1]);
	close(fd);
}

START_TEST(histograms_in_maps)
{
	static const struct asm_insn whole[] = {
		LD_MAP_VALUE(R6, hist, 0),
		MOV_REG(R7, R1),
		HIST_ADD(R6, R7, 5, WORLD_SLOTS),
		MOV(R0, 0),
	};
	static const struct asm_insn fewer[] = {
		LD_MAP_VALUE(R8, hist, 0),
		MOV_REG(R6, R1),
		HIST_ADD(R8, R6, 5, 1000),
		MOV(R0, 0),
	};

	_Static_assert(offsetof(struct asm_hist, slots) == 3 * 8, "three figures, then the slots");
	check_hist(whole, COUNT_OF(whole), WORLD_SLOTS);
	check_hist(fewer, COUNT_OF(fewer), 1000);
}
END_TEST

START_TEST(nothing_is_left_out)
{
	coverage_check("histograms");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("macros: histograms");
	TCase *tc = tcase_create("histograms");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, world_setup, world_teardown);
	if (!isa_lacks("test runs of raw tracepoints", 5, 10)) {
		tcase_add_test(tc, log2_of_everything);
		tcase_add_test(tc, log2_twice);
		tcase_add_test(tc, log_linear);
		tcase_add_test(tc, log_linear_of_0_bits_is_log2);
		tcase_add_test(tc, reports_have_the_same_buckets);
		tcase_add_test(tc, histograms_in_maps);
		tcase_add_test(tc, nothing_is_left_out);
	}
	suite_add_tcase(suite, tc);
	srunner_set_fork_status(runner,
				CK_NOFORK); /* what was covered is counted in this process */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
