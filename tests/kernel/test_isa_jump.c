/* SPDX-License-Identifier: BSD-2-Clause */
/* Jumps: every condition, taken and not, near and far, in the kernel; RFC 9669 section 4.3. */
#include "isa.h"

struct jump_case {
	struct asm_insn insn; /* to the label yes */
	bool (*want)(uint64_t dst, uint64_t src);
	uint64_t imm; /* in the forms without _REG */
};

/* R8 says whether the jump was taken. */
static int load_jump(const struct asm_insn *jump)
{
	struct asm_insn lines[] = {
		INSN(0, 0, 0, 0, 0), MOV(R8, 0), JA(end), LABEL(yes), MOV(R8, 1), LABEL(end),
	};

	lines[0] = *jump;
	return isa_load(lines, sizeof(lines) / sizeof(lines[0]), false, NULL, 0);
}

static void run_jump(const struct asm_insn *jump, int fd, uint64_t dst, uint64_t src, bool taken)
{
	struct isa_cell cell;

	isa_fill(&cell);
	if (BPF_SRC(jump->insn.code) == BPF_X)
		cell.in[jump->insn.src_reg] = src;
	cell.in[jump->insn.dst_reg] = dst;
	isa_run(fd, &cell);
	ck_assert_msg(cell.out[8] == taken, "%s, dst = %#llx, src = %#llx: %staken", jump->text,
		      (unsigned long long)dst, (unsigned long long)src, taken ? "not " : "");
	isa_check_regs(&cell, 8, taken, jump->text);
}

static const uint64_t numbers[] = {
	0,
	1,
	2,
	5,
	6,
	0x7fffffff,
	0x80000000,
	0xffffffff,
	0x100000000,
	0x100000005,
	0x8000000080000000,
	INT64_MAX,
	(uint64_t)INT64_MIN,
	(uint64_t)INT32_MIN,
	(uint64_t)-6,
	(uint64_t)-5,
	(uint64_t)-1,
};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

/* X(condition, what it is in C): a and b unsigned, sa and sb signed */
#define CONDITIONS(X)                                                                              \
	X(JEQ, a == b)                                                                             \
	X(JNE, a != b)                                                                             \
	X(JGT, a > b)                                                                              \
	X(JGE, a >= b)                                                                             \
	X(JLT, a < b)                                                                              \
	X(JLE, a <= b)                                                                             \
	X(JSGT, sa > sb)                                                                           \
	X(JSGE, sa >= sb)                                                                          \
	X(JSLT, sa < sb)                                                                           \
	X(JSLE, sa <= sb)                                                                          \
	X(JSET, (a & b) != 0)

#define WANT(op, condition)                                                                        \
	static bool want_##op(uint64_t a, uint64_t b)                                              \
	{                                                                                          \
		int64_t sa = (int64_t)a, sb = (int64_t)b;                                          \
		(void)sa;                                                                          \
		(void)sb;                                                                          \
		return condition;                                                                  \
	}                                                                                          \
	static bool want_##op##32(uint64_t a64, uint64_t b64)                                      \
	{                                                                                          \
		uint32_t a = (uint32_t)a64, b = (uint32_t)b64;                                     \
		int32_t sa = (int32_t)a, sb = (int32_t)b;                                          \
		(void)sa;                                                                          \
		(void)sb;                                                                          \
		return condition;                                                                  \
	}
CONDITIONS(WANT)

static void run_grid(const struct jump_case *c)
{
	bool reg = BPF_SRC(c->insn.insn.code) == BPF_X;
	int fd = load_jump(&c->insn);

	for (size_t a = 0; a < NUMBERS; a++)
		for (size_t b = 0; b < (reg ? NUMBERS : 1); b++) {
			uint64_t src = reg ? numbers[b] : c->imm;

			run_jump(&c->insn, fd, numbers[a], src, c->want(numbers[a], src));
		}
	coverage_saw(c->insn.text);
	close(fd);
}

START_TEST(registers_over_all_pairs_of_numbers)
{
#define GRID(op, condition)                                                                        \
	{ op##_REG(R1, R2, yes), want_##op, 0 }, { op##32_REG(R7, R0, yes), want_##op##32, 0 },
	static const struct jump_case cases[] = { CONDITIONS(GRID) };

	isa_setup();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		run_grid(&cases[i]);
}
END_TEST

START_TEST(immediates_over_all_numbers)
{
#define IMM(op, n) { op(R3, n, yes), want_##op, (uint64_t)(int64_t)(n) },
#define IMMS(op, condition)                                                                        \
	IMM(op, 0)                                                                                 \
	IMM(op, 1)                                                                                 \
	IMM(op, 5)                                                                                 \
	IMM(op, -1)                                                                                \
	IMM(op, -5)                                                                                \
	IMM(op, INT32_MAX)                                                                         \
	IMM(op, INT32_MIN)                                                                         \
	IMM(op##32, 0)                                                                             \
	IMM(op##32, 1)                                                                             \
	IMM(op##32, 5)                                                                             \
	IMM(op##32, -1)                                                                            \
	IMM(op##32, -5)                                                                            \
	IMM(op##32, INT32_MAX)                                                                     \
	IMM(op##32, 0x80000000)                                                                    \
	IMM(op##32, 0xffffffff)
	static const struct jump_case cases[] = { CONDITIONS(IMMS) };

	isa_setup();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		run_grid(&cases[i]);
}
END_TEST

/* ---- the cases that people get wrong, spelled out */

START_TEST(corner_cases_spelled_out)
{
	static const struct {
		struct asm_insn insn;
		uint64_t dst, src;
		bool taken;
	} cases[] = {
		{ JGT(R1, -1, yes), 0xffffffffffffffff, 0, false },
		{ JGT(R1, 0, yes), 0xffffffffffffffff, 0, true },
		{ JSGT(R1, 0, yes), 0xffffffffffffffff, 0, false },
		{ JSLT(R1, 0, yes), 0x8000000000000000, 0, true },
		{ JSLT(R1, 0, yes), 0x80000000, 0, false },
		{ JSLT32(R1, 0, yes), 0x80000000, 0, true },
		{ JEQ(R1, -1, yes), 0xffffffff, 0, false },
		{ JEQ32(R1, -1, yes), 0xffffffff, 0, true },
		{ JEQ32(R1, 5, yes), 0xf00000005, 0, true },
		{ JNE_REG(R1, R2, yes), 0x100000005, 5, true },
		{ JNE32_REG(R1, R2, yes), 0x100000005, 5, false },
		{ JSET(R1, INT32_MIN, yes), 0x100000000, 0, true },
		{ JSET32(R1, INT32_MIN, yes), 0x100000000, 0, false },
		{ JSET(R1, 6, yes), 9, 0, false },
		{ JLT_REG(R1, R2, yes), 1, 0x8000000000000000, true },
		{ JSLT_REG(R1, R2, yes), 1, 0x8000000000000000, false },
		{ JLE_REG(R1, R1, yes), 9, 9, true },
		{ JLT_REG(R1, R1, yes), 9, 9, false },
	};

	isa_setup();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int fd = load_jump(&cases[i].insn);

		run_jump(&cases[i].insn, fd, cases[i].dst, cases[i].src, cases[i].taken);
		close(fd);
	}
}
END_TEST

/* ---- jumps without a condition */

/* Runs lines once with R1 as given; R8 is 0 before and returned. */
static uint64_t run_r8(const struct asm_insn *lines, size_t n, uint64_t r1)
{
	struct isa_cell cell;
	int fd = isa_load(lines, n, false, NULL, 0);

	isa_fill(&cell);
	cell.in[1] = r1;
	cell.in[8] = 0;
	isa_run(fd, &cell);
	for (size_t i = 0; i < n; i++)
		coverage_saw(lines[i].text);
	close(fd);
	return cell.out[8];
}

START_TEST(forward_and_backward)
{
	static const struct asm_insn ja[] = {
		JA(down), LABEL(up), OR(R8, 2), JA(out), LABEL(down), OR(R8, 1), JA(up), LABEL(out),
	};
	static const struct asm_insn gotol[] = {
		GOTOL(down), LABEL(up), OR(R8, 2), GOTOL(out),
		LABEL(down), OR(R8, 1), GOTOL(up), LABEL(out),
	};

	isa_setup();
	ck_assert_uint_eq(run_r8(ja, sizeof(ja) / sizeof(ja[0]), 0), 3);
	if (!isa_skip(gotol, sizeof(gotol) / sizeof(gotol[0])))
		ck_assert_uint_eq(run_r8(gotol, sizeof(gotol) / sizeof(gotol[0]), 0), 3);
}
END_TEST

/* With no condition but its own: the kernel would end it, and until then it goes on. */
START_TEST(a_loop_of_may_goto)
{
	static const struct asm_insn lines[] = {
		LABEL(next), MAY_GOTO(out), ADD(R8, 1), JLT_REG(R8, R1, next), LABEL(out),
	};
	static const struct asm_insn endless[] = {
		LABEL(next), MAY_GOTO(out), ADD(R8, 1), JA(next), LABEL(out),
	};

	isa_setup();
	if (isa_skip(lines, sizeof(lines) / sizeof(lines[0])))
		return;
	ck_assert_uint_eq(run_r8(lines, sizeof(lines) / sizeof(lines[0]), 1000000), 1000000);
	ck_assert_uint_gt(run_r8(endless, sizeof(endless) / sizeof(endless[0]), 0), 1000000);
}
END_TEST

#define FAR_AWAY 33000

/*
 * Farther than 16 bits, both ways: R1 decides whether the first stretch is walked or jumped over;
 * the second is always walked, and left by a jump back over it.
 */
START_TEST(ja_becomes_gotol_when_it_is_far)
{
	static const struct asm_insn head[] = { JEQ(R1, 0, walk), JA(over), LABEL(walk) };
	static const struct asm_insn middle[] = {
		LABEL(over), JA(second), LABEL(back), LSH(R8, 1), JA(out), LABEL(second),
	};
	static const struct asm_insn tail[] = { JA(back), LABEL(out) };
	static const struct asm_insn step[] = { ADD(R8, 1) };
	struct asm_insn *lines = calloc(2 * FAR_AWAY + 16, sizeof(*lines));
	size_t n = 0;

	isa_setup();
	ck_assert_ptr_nonnull(lines);
#define APPEND(part) memcpy(lines + n, part, sizeof(part)), n += sizeof(part) / sizeof((part)[0])
	APPEND(head);
	for (int i = 0; i < FAR_AWAY; i++)
		APPEND(step);
	APPEND(middle);
	for (int i = 0; i < FAR_AWAY; i++)
		APPEND(step);
	APPEND(tail);

	if (!isa_knows(ISA_V4)) {
		printf("left out: JA over %d instructions: no ISA v4\n", FAR_AWAY);
	} else {
		ck_assert_uint_eq(run_r8(lines, n, 1), FAR_AWAY * 2);
		ck_assert_uint_eq(run_r8(lines, n, 0), FAR_AWAY * 4);
	}
	free(lines);
}
END_TEST

/* ---- labels of the same name in scopes within each other */

START_TEST(the_innermost_label_wins)
{
	static const struct asm_insn lines[] = {
		SCOPE("outer"),	 SCOPE("inner"), JEQ(R1, 0, .x), /* to the inner one */
		JEQ(R1, 1, out), OR(R8, 1),	 LABEL(.x),	 OR(R8, 2),  END,
		JEQ(R1, 2, .x), /* to the outer one */
		OR(R8, 4),	 LABEL(.x),	 OR(R8, 8),	 LABEL(out), END,
		OR(R8, 16),
	};
	size_t n = sizeof(lines) / sizeof(lines[0]);

	isa_setup();
	ck_assert_uint_eq(run_r8(lines, n, 0), 2 + 4 + 8 + 16);
	ck_assert_uint_eq(run_r8(lines, n, 1), 16);
	ck_assert_uint_eq(run_r8(lines, n, 2), 1 + 2 + 8 + 16);
	ck_assert_uint_eq(run_r8(lines, n, 3), 1 + 2 + 4 + 8 + 16);
	coverage_saw("SCOPE"); /* whose own text is the composed macro's */
}
END_TEST

static const struct asm_insn shared_lines[] = { JEQ(R1, 0, skip), OR(R8, 2), LABEL(skip) };
static const struct asm_part shared = { ASM_LINES(shared_lines) };

START_TEST(included_lines_run_in_place)
{
	static const struct asm_insn lines[] = { OR(R8, 1), INCLUDE(&shared), OR(R8, 4) };

	isa_setup();
	ck_assert_uint_eq(run_r8(lines, 3, 0), 1 + 4);
	ck_assert_uint_eq(run_r8(lines, 3, 1), 1 + 2 + 4);
}
END_TEST

START_TEST(nothing_is_left_out)
{
	isa_check_features();
	coverage_check("jump");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa: jumps");
	TCase *tc = tcase_create("jump");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, registers_over_all_pairs_of_numbers);
	tcase_add_test(tc, immediates_over_all_numbers);
	tcase_add_test(tc, corner_cases_spelled_out);
	tcase_add_test(tc, forward_and_backward);
	tcase_add_test(tc, a_loop_of_may_goto);
	tcase_add_test(tc, ja_becomes_gotol_when_it_is_far);
	tcase_add_test(tc, the_innermost_label_wins);
	tcase_add_test(tc, included_lines_run_in_place);
	tcase_add_test(tc, nothing_is_left_out);
	suite_add_tcase(suite, tc);
	srunner_set_fork_status(runner,
				CK_NOFORK); /* what was covered is counted in this process */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
