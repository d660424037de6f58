/* SPDX-License-Identifier: BSD-2-Clause */
/* LOG2 and LOG_LINEAR, in the kernel, against buckets that are laid out here one after the other. */
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
