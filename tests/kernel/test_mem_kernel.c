/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `mem -k` makes of an address that is told of again: of kmalloc's large blocks some kernels
 * tell twice; else it was freed without a word, and given out again.
 */
#include "test_loader.h"

#include "programs/mem/kernel.h"
#include "record/recording.h"
#include "record/stacks.h"

enum { ADDRESS = 0x10000, LARGE = 16384, SMALL = 64 };

static struct mem_kernel_config config;
static struct mem_kernel_stats stats;
static struct stacks *stacks;
static int prog;

static int no_record(void *ctx, const struct stack_record *record)
{
	(void)ctx;
	(void)record;
	return 0;
}

/* False where the program is another one. */
static bool open_kmalloc(void)
{
	const struct rp_program *program = rp_program_named("mem_kmalloc");
	const struct stacks_options options = { .maps = rp_mem_kernel_maps,
						.nmaps = MEM_KERNEL_MAPS,
						.config = &config.common,
						.ring_bytes = 1 << 20 };

	if (record_lacks(program))
		return false;
	memcpy(&config, program->config, sizeof(config));
	capture_log();
	ck_assert_int_eq(record_stacks_open(&options, no_record, NULL, &stacks), 0);
	prog = record_stacks_load(stacks, &program->code, &config);
	ck_assert_msg(prog >= 0, "%s", log_text);
	return true;
}

static void close_kmalloc(void)
{
	close(prog);
	record_stacks_close(stacks);
}

/* The kernel tells of a block so many times. */
static void told(int times, uint64_t bytes)
{
	uint64_t args[6] = { 0, ADDRESS, bytes, bytes };
	struct rp_test_run run = { .ctx_in = args, .ctx_size_in = sizeof(args) };

	for (int i = 0; i < times; i++)
		ck_assert_int_eq(rp_prog_test_run(prog, &run), 0);
	ck_assert_int_eq(record_stacks_stats(stacks, &stats), 0);
}

START_TEST(test_a_large_block_is_told_of_twice)
{
	if (!open_kmalloc())
		skip_test("mem_kmalloc is not for this kernel");
	told(2, LARGE);
	ck_assert_uint_eq(stats.common.fired, 2);
	ck_assert_uint_eq(stats.seen_twice, 1);
	ck_assert_uint_eq(stats.reused, 0);
	close_kmalloc();
}
END_TEST

/* Also by the thread that had it, and as large as it was. */
START_TEST(test_a_large_block_is_given_out_again)
{
	if (!open_kmalloc())
		skip_test("mem_kmalloc is not for this kernel");
	for (uint64_t i = 1; i <= 3; i++) {
		told(2, LARGE);
		ck_assert_uint_eq(stats.seen_twice, i);
		ck_assert_uint_eq(stats.reused, i - 1);
	}
	close_kmalloc();
}
END_TEST

START_TEST(test_a_small_block_is_given_out_again)
{
	if (!open_kmalloc())
		skip_test("mem_kmalloc is not for this kernel");
	told(3, SMALL);
	ck_assert_uint_eq(stats.seen_twice, 0);
	ck_assert_uint_eq(stats.reused, 2);
	close_kmalloc();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mem -k");
	TCase *tc = tcase_create("addresses");

	tcase_add_test(tc, test_a_large_block_is_told_of_twice);
	tcase_add_test(tc, test_a_large_block_is_given_out_again);
	tcase_add_test(tc, test_a_small_block_is_given_out_again);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
