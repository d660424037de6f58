/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls, functions, callbacks and 64-bit constants, in the kernel. */
#include "isa.h"

/* ---- constants */

START_TEST(constants_of_64_bits)
{
	static const struct {
		struct asm_insn insn;
		uint64_t want;
	} cases[] = {
		{ LD_IMM64(R0, 0), 0 },
		{ LD_IMM64(R5, 1), 1 },
		{ LD_IMM64(R8, -1), 0xffffffffffffffff },
		{ LD_IMM64(R1, 0x7fffffff), 0x7fffffff },
		{ LD_IMM64(R1, 0x80000000), 0x80000000 },
		{ LD_IMM64(R1, 0xffffffff), 0xffffffff },
		{ LD_IMM64(R1, INT32_MIN), 0xffffffff80000000 },
		{ LD_IMM64(R1, 0x100000000), 0x100000000 },
		{ LD_IMM64(R1, INT64_MIN), 0x8000000000000000 },
		{ LD_IMM64(R1, 0x123456789abcdef0), 0x123456789abcdef0 },
		{ LD_IMM64(R1, 0xfedcba9876543210), 0xfedcba9876543210 },
	};

	isa_setup();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct isa_cell cell;
		int fd = isa_load(&cases[i].insn, 1, false, NULL, 0);

		isa_fill(&cell);
		isa_run(fd, &cell);
		isa_check_regs(&cell, cases[i].insn.insn.dst_reg, cases[i].want,
			       cases[i].insn.text);
		coverage_saw(cases[i].insn.text);
		close(fd);
	}
}
END_TEST

/* Runs lines that may call; R0 and R6-R8 come back. */
static struct isa_cell run_calls(const struct asm_insn *lines, size_t n,
				 const struct asm_insn *functions, size_t nfunctions)
{
	struct isa_cell cell;
	int fd = isa_load(lines, n, true, functions, nfunctions);

	isa_fill(&cell);
	isa_run(fd, &cell);
	for (size_t i = 0; i < n; i++)
		coverage_saw(lines[i].text);
	for (size_t i = 0; i < nfunctions; i++)
		coverage_saw(functions[i].text);
	close(fd);
	return cell;
}
#define RUN(lines) run_calls(lines, sizeof(lines) / sizeof((lines)[0]), NULL, 0)
#define RUN_WITH(lines, functions)                                                                 \
	run_calls(lines, sizeof(lines) / sizeof((lines)[0]), functions,                            \
		  sizeof(functions) / sizeof((functions)[0]))

START_TEST(map_values_have_addresses)
{
	static const struct asm_insn lines[] = {
		LD_MAP_VALUE(R1, cell, offsetof(struct isa_cell, mem) + 8),
		LD_MAP_VALUE(R2, cell, 0),
		LDX(DW, R6, R1, 0), /* mem[8..] */
		LDX(DW, R7, R2, 8), /* in[1] */
		MOV_REG(R8, R1),
		SUB_REG(R8, R2),
		LDX(B, R0, R1, 55), /* the last byte */
	};
	struct isa_cell cell;
	uint64_t want;

	isa_setup();
	cell = RUN(lines);
	memcpy(&want, cell.mem + 8, sizeof(want));
	ck_assert_uint_eq(cell.out[6], want);
	ck_assert_uint_eq(cell.out[7], cell.in[1]);
	ck_assert_uint_eq(cell.out[8], MEM + 8);
	ck_assert_uint_eq(cell.out[0], cell.mem[63]);
}
END_TEST

/* ---- helpers by name */

START_TEST(helpers_by_name)
{
	static const struct asm_insn lookup[] = {
		ST(W, R10, -4, 0),     LD_MAP(R1, cell), MOV_REG(R2, R10),    ADD(R2, -4),
		CALL(map_lookup_elem), JEQ(R0, 0, none), LDX(DW, R0, R0, 16), /* in[2] */
		LABEL(none),
	};
	static const struct asm_insn absent[] = {
		ST(W, R10, -4, 1), /* the array has element 0 only */
		LD_MAP(R1, cell),  MOV_REG(R2, R10), ADD(R2, -4), CALL(map_lookup_elem),
		JNE(R0, 0, some),  MOV(R0, 1234),    JA(out),	  LABEL(some),
		MOV(R0, 0),	   LABEL(out),
	};
	static const struct asm_insn time[] = {
		CALL(ktime_get_ns),	    MOV_REG(R6, R0), CALL(ktime_get_ns), MOV_REG(R7, R0),
		CALL(get_smp_processor_id),
	};
	struct isa_cell cell;

	isa_setup();
	cell = RUN(lookup);
	ck_assert_uint_eq(cell.out[0], cell.in[2]);
	for (int r = 6; r <= 8; r++)
		ck_assert_uint_eq(cell.out[r], cell.in[r]);
	ck_assert_uint_eq(RUN(absent).out[0], 1234);

	cell = RUN(time);
	ck_assert_uint_gt(cell.out[6], 0);
	ck_assert_uint_ge(cell.out[7], cell.out[6]);
	ck_assert_uint_lt(cell.out[7] - cell.out[6], 1000000000);
	ck_assert_int_lt((int)cell.out[0], (int)rp_cpus_possible());
}
END_TEST

/* ---- functions of the program itself */

START_TEST(functions_get_five_arguments_and_nest)
{
	static const struct asm_insn lines[] = {
		MOV(R1, 1),    MOV(R2, 20),    MOV(R3, 300),
		MOV(R4, 4000), MOV(R5, 50000), CALL_FUNC(sum), /* R6-R8 have to survive */
	};
	static const struct asm_insn functions[] = {
		FUNC(sum),
		MOV_REG(R6, R1),
		MOV(R7, 0),
		STX(DW, R10, -8, R5), /* a frame of its own */
		ADD_REG(R2, R3),
		ADD_REG(R2, R4),
		MOV_REG(R1, R2),
		CALL_FUNC(twice),
		LDX(DW, R1, R10, -8),
		ADD_REG(R0, R1),
		ADD_REG(R0, R6),
		JNE(R7, 0, out),
		LABEL(out),
		EXIT(),
		FUNC(twice),
		STX(DW, R10, -8, R1), /* not the caller's */
		LDX(DW, R0, R10, -8),
		ADD_REG(R0, R1),
		MOV(R6, 99),
		JA(out), /* a label of this function */
		LABEL(out),
		EXIT(),
	};
	struct isa_cell cell;

	isa_setup();
	cell = RUN_WITH(lines, functions);
	ck_assert_uint_eq(cell.out[0], 2 * (20 + 300 + 4000) + 50000 + 1);
	for (int r = 6; r <= 8; r++)
		ck_assert_uint_eq(cell.out[r], cell.in[r]);
}
END_TEST

START_TEST(exit_leaves_a_function_early)
{
	static const struct asm_insn lines[] = {
		LD_IMM64(R1, 0x7fffffffffffffff), CALL_FUNC(is_negative), MOV_REG(R6, R0),
		LD_IMM64(R1, INT64_MIN),	  CALL_FUNC(is_negative),
	};
	static const struct asm_insn functions[] = {
		FUNC(is_negative), MOV(R0, 1), JSGE(R1, 0, no), EXIT(),
		LABEL(no),	   MOV(R0, 0), EXIT(),
	};
	struct isa_cell cell;

	isa_setup();
	cell = RUN_WITH(lines, functions);
	ck_assert_uint_eq(cell.out[6], 0);
	ck_assert_uint_eq(cell.out[0], 1);
}
END_TEST

/* bpf_loop(n, callback, context, 0) calls back with (index, context), ends early on 1. */
START_TEST(callbacks)
{
	static const struct asm_insn lines[] = {
		ST(DW, R10, -8, 0), MOV(R1, 100),	  LD_FUNC(R2, add_index),
		MOV_REG(R3, R10),   ADD(R3, -8),	  MOV(R4, 0),
		CALL(loop),	    LDX(DW, R6, R10, -8),
	};
	static const struct asm_insn functions[] = {
		FUNC(add_index),    LDX(DW, R3, R2, 0), ADD_REG(R3, R1),
		STX(DW, R2, 0, R3), MOV(R0, 0),		JNE(R1, 9, next),
		MOV(R0, 1),	    LABEL(next),	EXIT(),
	};
	struct isa_cell cell;

	isa_setup();
	if (!rp_has(RP_HAS_BPF_LOOP)) {
		printf("skip: %s: no bpf_loop (Linux 5.17)\n", lines[2].text);
		coverage_saw(lines[2].text);
		return;
	}
	cell = RUN_WITH(lines, functions);
	ck_assert_uint_eq(cell.out[0], 10);
	ck_assert_uint_eq(cell.out[6], 45);
	ck_assert_uint_eq(cell.out[7], cell.in[7]);
}
END_TEST

/* Of all kinds of programs, and without arguments: the simplest that there are (Linux 6.2). */
START_TEST(functions_of_the_kernel)
{
	static const struct asm_insn lines[] = {
		MOV(R6, 5), CALL_KFUNC(bpf_rcu_read_lock),   ADD(R6, 2),
		MOV(R1, 1), CALL_KFUNC(bpf_rcu_read_unlock), MOV(R0, 9),
	};
	const struct rp_btf *btf;
	struct isa_cell cell;

	isa_setup();
	if (rp_btf_kernel(&btf) || rp_btf_find(btf, "bpf_rcu_read_lock", BTF_KIND_FUNC) < 0) {
		printf("skip: %s: the kernel has none (Linux 6.2)\n", lines[1].text);
		coverage_saw(lines[1].text);
		return;
	}
	cell = RUN(lines);
	ck_assert_uint_eq(cell.out[0], 9);
	ck_assert_uint_eq(cell.out[6], 7);
	ck_assert_uint_eq(cell.out[7], cell.in[7]);
}
END_TEST

/* Two stores encoded by hand beside one by name, so that INSN is what it says. */
START_TEST(raw_instructions)
{
	static const struct asm_insn lines[] = {
		INSN(0xb7, 6, 0, 0, -2),    /* MOV(R6, -2) */
		INSN(0x7b, R10, R6, -8, 0), /* STX(DW, R10, -8, R6) */
		INSN(BPF_LDX | BPF_MEM | BPF_W, R0, R10, -8, 0),
	};
	struct isa_cell cell;

	isa_setup();
	cell = RUN(lines);
	ck_assert_uint_eq(cell.out[0], 0xfffffffe);
	ck_assert_uint_eq(cell.out[6], 0xfffffffffffffffe);
}
END_TEST

START_TEST(nothing_is_left_out)
{
	isa_check_features();
	coverage_check("call");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa: calls and constants");
	TCase *tc = tcase_create("call");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, constants_of_64_bits);
	tcase_add_test(tc, map_values_have_addresses);
	tcase_add_test(tc, helpers_by_name);
	tcase_add_test(tc, functions_get_five_arguments_and_nest);
	tcase_add_test(tc, exit_leaves_a_function_early);
	tcase_add_test(tc, callbacks);
	tcase_add_test(tc, functions_of_the_kernel);
	tcase_add_test(tc, raw_instructions);
	tcase_add_test(tc, nothing_is_left_out);
	suite_add_tcase(suite, tc);
	srunner_set_fork_status(runner,
				CK_NOFORK); /* what was covered is counted in this process */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
