/* SPDX-License-Identifier: BSD-2-Clause */
/* Arithmetic: every operation, in the kernel, against what C and RFC 9669 section 4.1 say. */
#include "isa.h"

struct alu_case {
	struct asm_insn insn;
	uint64_t dst, src, want;
};

static void run_alu(const struct asm_insn *insn, int fd, uint64_t dst, uint64_t src, uint64_t want)
{
	struct isa_cell cell;

	isa_fill(&cell);
	if (BPF_SRC(insn->insn.code) == BPF_X && BPF_OP(insn->insn.code) != BPF_END)
		cell.in[insn->insn.src_reg] = src;
	cell.in[insn->insn.dst_reg] = dst;
	isa_run(fd, &cell);
	isa_check_regs(&cell, insn->insn.dst_reg, want, insn->text);
}

static void run_table(const struct alu_case *cases, size_t n)
{
	isa_setup();
	for (size_t i = 0; i < n; i++) {
		int fd;

		if (isa_skip(&cases[i].insn, 1))
			continue;
		fd = isa_load(&cases[i].insn, 1, false, NULL, 0);
		run_alu(&cases[i].insn, fd, cases[i].dst, cases[i].src, cases[i].want);
		coverage_saw(cases[i].insn.text);
		close(fd);
	}
}
#define RUN_TABLE(cases) run_table(cases, sizeof(cases) / sizeof((cases)[0]))

/* ---- every operation over all pairs of these numbers, against C */

static const uint64_t numbers[] = {
	0,
	1,
	2,
	3,
	31,
	32,
	63,
	64,
	127,
	0x7fffffff,
	0x80000000,
	0xffffffff,
	0x100000000,
	0x123456789abcdef0,
	INT64_MAX,
	(uint64_t)INT64_MIN,
	(uint64_t)INT64_MIN + 1,
	(uint64_t)INT32_MIN,
	(uint64_t)-7,
	(uint64_t)-2,
	(uint64_t)-1,
};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

/* C leaves these undefined, the RFC does not. */
static int64_t sdiv64(int64_t a, int64_t b)
{
	return b == 0 ? 0 : b == -1 ? (int64_t) - (uint64_t)a : a / b;
}
static int64_t smod64(int64_t a, int64_t b)
{
	return b == 0 ? a : b == -1 ? 0 : a % b;
}
static int32_t sdiv32(int32_t a, int32_t b)
{
	return b == 0 ? 0 : b == -1 ? (int32_t) - (uint32_t)a : a / b;
}
static int32_t smod32(int32_t a, int32_t b)
{
	return b == 0 ? a : b == -1 ? 0 : a % b;
}
static uint32_t arsh32(uint32_t a, uint32_t b)
{
	return (uint32_t)((int32_t)a >> (b & 31));
}

/* X(operation, what it makes of the 64-bit numbers a and b) */
#define OPS64(X)                                                                                   \
	X(MOV, b)                                                                                  \
	X(ADD, a + b)                                                                              \
	X(SUB, a - b)                                                                              \
	X(MUL, a *b)                                                                               \
	X(DIV, b ? a / b : 0)                                                                      \
	X(MOD, b ? a % b : a)                                                                      \
	X(SDIV, (uint64_t)sdiv64((int64_t)a, (int64_t)b))                                          \
	X(SMOD, (uint64_t)smod64((int64_t)a, (int64_t)b))                                          \
	X(AND, a &b)                                                                               \
	X(OR, a | b)                                                                               \
	X(XOR, a ^ b)                                                                              \
	X(LSH, a << (b & 63))                                                                      \
	X(RSH, a >> (b & 63))                                                                      \
	X(ARSH, (uint64_t)((int64_t)a >> (b & 63)))
/* and of the 32-bit numbers, the result being extended with zeros */
#define OPS32(X)                                                                                   \
	X(MOV32, b)                                                                                \
	X(ADD32, a + b)                                                                            \
	X(SUB32, a - b)                                                                            \
	X(MUL32, a *b)                                                                             \
	X(DIV32, b ? a / b : 0)                                                                    \
	X(MOD32, b ? a % b : a)                                                                    \
	X(SDIV32, (uint32_t)sdiv32((int32_t)a, (int32_t)b))                                        \
	X(SMOD32, (uint32_t)smod32((int32_t)a, (int32_t)b))                                        \
	X(AND32, a &b)                                                                             \
	X(OR32, a | b)                                                                             \
	X(XOR32, a ^ b)                                                                            \
	X(LSH32, a << (b & 31))                                                                    \
	X(RSH32, a >> (b & 31))                                                                    \
	X(ARSH32, arsh32(a, b))

#define WANT64(op, expr)                                                                           \
	static uint64_t want_##op(uint64_t a, uint64_t b)                                          \
	{                                                                                          \
		(void)a;                                                                           \
		return expr;                                                                       \
	}
#define WANT32(op, expr)                                                                           \
	static uint64_t want_##op(uint64_t a64, uint64_t b64)                                      \
	{                                                                                          \
		uint32_t a = (uint32_t)a64, b = (uint32_t)b64;                                     \
		(void)a;                                                                           \
		return (uint32_t)(expr);                                                           \
	}
OPS64(WANT64)
OPS32(WANT32)

struct grid_case {
	struct asm_insn insn;
	uint64_t (*want)(uint64_t a, uint64_t b);
	uint64_t imm; /* in the forms without _REG */
};

static void run_grid(const struct grid_case *c)
{
	bool reg = BPF_SRC(c->insn.insn.code) == BPF_X;
	int fd;

	if (isa_skip(&c->insn, 1))
		return;
	fd = isa_load(&c->insn, 1, false, NULL, 0);
	for (size_t a = 0; a < NUMBERS; a++)
		for (size_t b = 0; b < (reg ? NUMBERS : 1); b++) {
			uint64_t src = reg ? numbers[b] : c->imm;

			run_alu(&c->insn, fd, numbers[a], src, c->want(numbers[a], src));
		}
	coverage_saw(c->insn.text);
	close(fd);
}

/* Two register pairs each: x86 keeps R3 in rdx and R4 in rcx, which division and shifts want. */
START_TEST(registers_over_all_pairs_of_numbers)
{
#define GRID(op, expr) { op##_REG(R1, R2), want_##op, 0 }, { op##_REG(R3, R0), want_##op, 0 },
	static const struct grid_case cases[] = { OPS64(GRID) OPS32(GRID) };

	isa_setup();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		run_grid(&cases[i]);
}
END_TEST

START_TEST(immediates_over_all_numbers)
{
#define IMM(op, n) { op(R6, n), want_##op, (uint64_t)(int64_t)(n) },
#define IMMS(op) IMM(op, 1) IMM(op, 7) IMM(op, -1) IMM(op, -8) IMM(op, INT32_MAX) IMM(op, INT32_MIN)
#define ANY_IMM(op) IMM(op, 0) IMMS(op)
#define SHIFTS(op) IMM(op, 0) IMM(op, 1) IMM(op, 31)
	/* clang-format off */
	static const struct grid_case cases[] = {
		ANY_IMM(MOV) ANY_IMM(ADD) ANY_IMM(SUB) ANY_IMM(MUL) ANY_IMM(AND) ANY_IMM(OR) ANY_IMM(XOR)
		IMMS(DIV) IMMS(MOD) IMMS(SDIV) IMMS(SMOD)
		SHIFTS(LSH) SHIFTS(RSH) SHIFTS(ARSH)
		IMM(LSH, 32) IMM(RSH, 32) IMM(ARSH, 32) IMM(LSH, 63) IMM(RSH, 63) IMM(ARSH, 63)
		ANY_IMM(MOV32) ANY_IMM(ADD32) ANY_IMM(SUB32) ANY_IMM(MUL32) ANY_IMM(AND32) ANY_IMM(OR32)
		ANY_IMM(XOR32) IMMS(DIV32) IMMS(MOD32) IMMS(SDIV32) IMMS(SMOD32)
		IMM(MOV32, 0xffffffff) IMM(AND32, 0x80000000) IMM(DIV32, 0xfffffff0)
		SHIFTS(LSH32) SHIFTS(RSH32) SHIFTS(ARSH32)
	};
	/* clang-format on */

	isa_setup();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		run_grid(&cases[i]);
}
END_TEST

/* ---- the cases that people get wrong, spelled out: instruction, dst, src, result */

START_TEST(corner_cases_spelled_out)
{
	static const struct alu_case cases[] = {
		{ MOV(R0, -1), 0, 0, 0xffffffffffffffff },
		{ MOV32(R0, -1), 0, 0, 0x00000000ffffffff },
		{ MOV32_REG(R0, R0), 0xffffffff00000005, 0xffffffff00000005, 5 },
		{ AND(R0, -16), 0x123456789abcdeff, 0, 0x123456789abcdef0 },
		{ OR(R0, INT32_MIN), 1, 0, 0xffffffff80000001 },
		{ ADD32(R0, 1), 0xffffffff, 0, 0 },
		{ SUB32(R0, 1), 0xabcd00000000, 0, 0xffffffff },
		{ MUL_REG(R2, R3), 0x100000001, 0x100000001, 0x200000001 },
		{ MUL32_REG(R2, R3), 0x100010001, 0x10001, 0x20001 },
		{ DIV_REG(R1, R2), 0xfffffffffffffff9, 2, 0x7ffffffffffffffc },
		{ SDIV_REG(R1, R2), 0xfffffffffffffff9, 2, 0xfffffffffffffffd },
		{ MOD_REG(R1, R2), 0xfffffffffffffff9, 2, 1 },
		{ SMOD_REG(R1, R2), 0xfffffffffffffff9, 2, 0xffffffffffffffff },
		{ SMOD_REG(R1, R2), 7, 0xfffffffffffffffd, 1 },
		{ DIV_REG(R1, R2), 5, 0, 0 },
		{ SDIV_REG(R1, R2), 5, 0, 0 },
		{ MOD_REG(R1, R2), 0x500000005, 0, 0x500000005 },
		{ SMOD_REG(R1, R2), 0x500000005, 0, 0x500000005 },
		{ DIV32_REG(R1, R2), 5, 0xf00000000, 0 },
		{ SDIV32_REG(R1, R2), 5, 0xf00000000, 0 },
		{ MOD32_REG(R1, R2), 0x500000005, 0xf00000000, 5 },
		{ SMOD32_REG(R1, R2), 0x5fffffffb, 0xf00000000, 0xfffffffb },
		{ SDIV_REG(R1, R2), 0x8000000000000000, 0xffffffffffffffff, 0x8000000000000000 },
		{ SMOD_REG(R1, R2), 0x8000000000000000, 0xffffffffffffffff, 0 },
		{ SDIV32_REG(R1, R2), 0x80000000, 0xffffffff, 0x80000000 },
		{ SMOD32_REG(R1, R2), 0x80000000, 0xffffffff, 0 },
		{ SDIV(R1, -1), 0x8000000000000000, 0, 0x8000000000000000 },
		{ SMOD(R1, -1), 0x8000000000000000, 0, 0 },
		{ SDIV32(R1, -1), 0x80000000, 0, 0x80000000 },
		{ SMOD32(R1, -1), 0x80000000, 0, 0 },
		{ LSH_REG(R1, R4), 1, 64, 1 },
		{ LSH_REG(R4, R1), 1, 65, 2 },
		{ RSH_REG(R1, R4), 0x8000000000000000, 127, 1 },
		{ ARSH_REG(R1, R4), 0x8000000000000000, 127, 0xffffffffffffffff },
		{ LSH32_REG(R1, R4), 1, 32, 1 },
		{ RSH32_REG(R4, R1), 0xf80000000, 63, 1 },
		{ ARSH32_REG(R1, R4), 0x80000000, 33, 0xc0000000 },
		{ ARSH32(R1, 31), 0x80000000, 0, 0xffffffff },
		{ ARSH32(R1, 0), 0xf80000000, 0, 0x80000000 },
		{ LSH_REG(R4, R4), 4, 4, 64 },
		{ SUB_REG(R5, R5), 9, 9, 0 },
		{ DIV_REG(R3, R3), 9, 9, 1 },
		{ MOD_REG(R3, R3), 9, 9, 0 },
	};

	RUN_TABLE(cases);
}
END_TEST

START_TEST(negation)
{
	static const struct alu_case cases[] = {
		{ NEG(R2), 0, 0, 0 },
		{ NEG(R2), 1, 0, 0xffffffffffffffff },
		{ NEG(R2), 0xffffffffffffffff, 0, 1 },
		{ NEG(R2), 0x8000000000000000, 0, 0x8000000000000000 },
		{ NEG(R8), 0x100000000, 0, 0xffffffff00000000 },
		{ NEG32(R2), 0xabcdef0000000000, 0, 0 },
		{ NEG32(R2), 0xabcdef0000000001, 0, 0xffffffff },
		{ NEG32(R2), 0xffffffff, 0, 1 },
		{ NEG32(R8), 0xf80000000, 0, 0x80000000 },
	};

	RUN_TABLE(cases);
}
END_TEST

START_TEST(sign_extension)
{
	static const struct alu_case cases[] = {
		{ MOVSX(R1, R2, 8), 0x1122, 0x7f, 0x7f },
		{ MOVSX(R1, R2, 8), 0x1122, 0x80, 0xffffffffffffff80 },
		{ MOVSX(R1, R2, 8), 0x1122, 0xaabbccdd00000001, 1 },
		{ MOVSX(R1, R2, 16), 0x1122, 0x7fff, 0x7fff },
		{ MOVSX(R1, R2, 16), 0x1122, 0xff8000, 0xffffffffffff8000 },
		{ MOVSX(R1, R2, 32), 0x1122, 0x7fffffff, 0x7fffffff },
		{ MOVSX(R1, R2, 32), 0x1122, 0x0380000000, 0xffffffff80000000 },
		{ MOVSX(R7, R7, 8), 0xff, 0xff, 0xffffffffffffffff },
		{ MOVSX32(R1, R2, 8), 0x1122, 0x7f, 0x7f },
		{ MOVSX32(R1, R2, 8), 0x1122, 0xffffffffffffff80, 0xffffff80 },
		{ MOVSX32(R1, R2, 16), 0x1122, 0x7fff, 0x7fff },
		{ MOVSX32(R7, R0, 16), 0xffffffffffffffff, 0x8000, 0xffff8000 },
	};

	RUN_TABLE(cases);
}
END_TEST

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE(big, little) little
#else
#define NATIVE(big, little) big
#endif

START_TEST(byte_order)
{
#define A 0x1122334455667788
	static const struct alu_case cases[] = {
		{ TO_BE(R3, 16), A, 0, NATIVE(0x7788, 0x8877) },
		{ TO_BE(R3, 32), A, 0, NATIVE(0x55667788, 0x88776655) },
		{ TO_BE(R3, 64), A, 0, NATIVE(A, 0x8877665544332211) },
		{ TO_LE(R3, 16), A, 0, NATIVE(0x8877, 0x7788) },
		{ TO_LE(R3, 32), A, 0, NATIVE(0x88776655, 0x55667788) },
		{ TO_LE(R3, 64), A, 0, NATIVE(0x8877665544332211, A) },
		{ BSWAP(R3, 16), A, 0, 0x8877 },
		{ BSWAP(R3, 32), A, 0, 0x88776655 },
		{ BSWAP(R3, 64), A, 0, 0x8877665544332211 },
		{ BSWAP(R8, 16), 0xffffffffffff0001, 0, 0x0100 },
	};

	RUN_TABLE(cases);
}
END_TEST

START_TEST(nothing_is_left_out)
{
	isa_check_features();
	coverage_check("alu");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa: arithmetic");
	TCase *tc = tcase_create("alu");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, registers_over_all_pairs_of_numbers);
	tcase_add_test(tc, immediates_over_all_numbers);
	tcase_add_test(tc, corner_cases_spelled_out);
	tcase_add_test(tc, negation);
	tcase_add_test(tc, sign_extension);
	tcase_add_test(tc, byte_order);
	tcase_add_test(tc, nothing_is_left_out);
	suite_add_tcase(suite, tc);
	srunner_set_fork_status(runner,
				CK_NOFORK); /* what was covered is counted in this process */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
