/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads and stores of every size, in the kernel, and what lies beside them; RFC 9669 section 5. */
#include "isa.h"

/* The number of so many bytes at `at`, in the machine's byte order, extended with zeros. */
static uint64_t number_at(const unsigned char *at, int bytes)
{
	uint64_t v = 0;

	for (int i = 0; i < bytes; i++)
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		v |= (uint64_t)at[i] << (8 * i);
#else
		v = v << 8 | at[i];
#endif
	return v;
}

static uint64_t sign_extended(uint64_t v, int bytes)
{
	return (uint64_t)((int64_t)(v << (64 - 8 * bytes)) >> (64 - 8 * bytes));
}

/* ---- loads from the map's value: byte i of mem is `first + i` */

struct load_case {
	struct asm_insn insn;
	int off, bytes;
	bool is_signed;
};

static void run_load(const struct load_case *c, unsigned char first)
{
	struct isa_cell cell;
	uint64_t want;
	int fd = isa_load(&c->insn, 1, false, NULL, 0);

	isa_fill(&cell);
	for (size_t i = 0; i < sizeof(cell.mem); i++)
		cell.mem[i] = (unsigned char)(first + i);
	want = number_at(cell.mem + c->off, c->bytes);
	isa_run(fd, &cell);
	isa_check_regs(&cell, c->insn.insn.dst_reg,
		       c->is_signed ? sign_extended(want, c->bytes) : want, c->insn.text);
	coverage_saw(c->insn.text);
	close(fd);
}

START_TEST(loads)
{
	static const struct load_case cases[] = {
		{ LDX(B, R0, R9, MEM), 0, 1, false },
		{ LDX(B, R7, R9, MEM + 63), 63, 1, false },
		{ LDX(H, R0, R9, MEM + 2), 2, 2, false },
		{ LDX(H, R8, R9, MEM + 62), 62, 2, false },
		{ LDX(W, R0, R9, MEM + 4), 4, 4, false },
		{ LDX(W, R6, R9, MEM + 60), 60, 4, false },
		{ LDX(DW, R0, R9, MEM + 8), 8, 8, false },
		{ LDX(DW, R5, R9, MEM + 56), 56, 8, false },
		{ LDXS(B, R0, R9, MEM + 1), 1, 1, true },
		{ LDXS(B, R8, R9, MEM + 63), 63, 1, true },
		{ LDXS(H, R0, R9, MEM + 2), 2, 2, true },
		{ LDXS(H, R7, R9, MEM + 62), 62, 2, true },
		{ LDXS(W, R0, R9, MEM + 4), 4, 4, true },
		{ LDXS(W, R4, R9, MEM + 60), 60, 4, true },
	};
	/* The highest bit of what is read: clear, set, and something of both. */
	static const unsigned char first[] = { 0x00, 0x81, 0x40, 0xc0 };

	isa_setup();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t f = 0; f < sizeof(first); f++)
			if (!isa_skip(&cases[i].insn, 1))
				run_load(&cases[i], first[f]);
}
END_TEST

/* ---- stores into the map's value; the register, or the immediate, is `value` */

struct store_case {
	struct asm_insn insn;
	int off, bytes;
	uint64_t value;
};

static void run_store(const struct store_case *c)
{
	struct isa_cell cell, before;
	int fd = isa_load(&c->insn, 1, false, NULL, 0);

	isa_fill(&cell);
	if (BPF_CLASS(c->insn.insn.code) == BPF_STX)
		cell.in[c->insn.insn.src_reg] = c->value;
	before = cell;
	isa_run(fd, &cell);
	isa_check_regs(&cell, -1, 0, c->insn.text);
	ck_assert_msg(
		number_at(cell.mem + c->off, c->bytes) ==
			(c->bytes == 8 ? c->value : c->value & ((1ULL << (8 * c->bytes)) - 1)),
		"%s stores %#llx", c->insn.text,
		(unsigned long long)number_at(cell.mem + c->off, c->bytes));
	for (int i = 0; i < (int)sizeof(cell.mem); i++)
		ck_assert_msg((i >= c->off && i < c->off + c->bytes) ||
				      cell.mem[i] == before.mem[i],
			      "%s changes byte %d", c->insn.text, i);
	coverage_saw(c->insn.text);
	close(fd);
}

START_TEST(stores)
{
	static const struct store_case cases[] = {
		{ STX(B, R9, MEM + 3, R0), 3, 1, 0xffffffffffffff5a },
		{ STX(B, R9, MEM + 63, R6), 63, 1, 0x00 },
		{ STX(H, R9, MEM + 6, R1), 6, 2, 0x1122334455667788 },
		{ STX(H, R9, MEM + 62, R2), 62, 2, 0xffff },
		{ STX(W, R9, MEM + 12, R3), 12, 4, 0x1122334455667788 },
		{ STX(W, R9, MEM + 60, R4), 60, 4, 0x80000000 },
		{ STX(DW, R9, MEM + 16, R5), 16, 8, 0x1122334455667788 },
		{ STX(DW, R9, MEM + 56, R8), 56, 8, 0xffffffffffffffff },
		{ ST(B, R9, MEM + 3, 0), 3, 1, 0 },
		{ ST(B, R9, MEM + 3, 255), 3, 1, 255 },
		{ ST(B, R9, MEM + 63, -128), 63, 1, 0x80 },
		{ ST(H, R9, MEM + 6, 0x1234), 6, 2, 0x1234 },
		{ ST(H, R9, MEM + 62, 65535), 62, 2, 0xffff },
		{ ST(H, R9, MEM, -32768), 0, 2, 0x8000 },
		{ ST(W, R9, MEM + 12, 0x12345678), 12, 4, 0x12345678 },
		{ ST(W, R9, MEM + 60, 0xffffffff), 60, 4, 0xffffffff },
		{ ST(W, R9, MEM, INT32_MIN), 0, 4, 0x80000000 },
		{ ST(DW, R9, MEM + 16, 1), 16, 8, 1 },
		{ ST(DW, R9, MEM + 16, -1), 16, 8, 0xffffffffffffffff },
		{ ST(DW, R9, MEM + 56, INT32_MIN), 56, 8, 0xffffffff80000000 },
		{ ST(DW, R9, MEM + 56, INT32_MAX), 56, 8, 0x7fffffff },
	};

	isa_setup();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		run_store(&cases[i]);
}
END_TEST

/* ---- through the stack: what is stored is what is loaded, up to both ends of the frame */

struct stack_case {
	struct asm_insn lines[3];
	uint64_t r1, want; /* stored, loaded into R0 */
};

START_TEST(stack_frame)
{
	static const struct stack_case cases[] = {
		{ { STX(DW, R10, -8, R1), LDX(DW, R0, R10, -8) }, ~5ULL, ~5ULL },
		{ { STX(DW, R10, -512, R1), LDX(DW, R0, R10, -512) },
		  0x1122334455667788,
		  0x1122334455667788 },
		{ { ST(DW, R10, -16, 0), STX(W, R10, -16, R1), LDX(W, R0, R10, -16) },
		  0x1ffffffff,
		  0xffffffff },
		{ { ST(DW, R10, -16, 0), STX(H, R10, -10, R1), LDX(H, R0, R10, -10) },
		  0x12345,
		  0x2345 },
		{ { ST(DW, R10, -8, -1), STX(B, R10, -1, R1), LDX(B, R0, R10, -1) }, 0x1234, 0x34 },
		{ { ST(DW, R10, -8, -1), STX(B, R10, -1, R1), LDX(B, R0, R10, -2) }, 0x1234, 0xff },
		{ { ST(W, R10, -4, -2), LDX(W, R0, R10, -4) }, 0, 0xfffffffe },
		{ { STX(DW, R10, -8, R1), MOV_REG(R0, R10), LDX(DW, R0, R0, -8) }, 42, 42 },
	};

	isa_setup();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t n = 0;
		struct isa_cell cell;
		int fd;

		while (n < 3 && cases[i].lines[n].text)
			n++;
		fd = isa_load(cases[i].lines, n, false, NULL, 0);
		isa_fill(&cell);
		cell.in[1] = cases[i].r1;
		isa_run(fd, &cell);
		isa_check_regs(&cell, 0, cases[i].want, cases[i].lines[0].text);
		close(fd);
	}
}
END_TEST

START_TEST(nothing_is_left_out)
{
	isa_check_features();
	coverage_check("memory");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa: memory");
	TCase *tc = tcase_create("memory");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, loads);
	tcase_add_test(tc, stores);
	tcase_add_test(tc, stack_frame);
	tcase_add_test(tc, nothing_is_left_out);
	suite_add_tcase(suite, tc);
	srunner_set_fork_status(runner,
				CK_NOFORK); /* what was covered is counted in this process */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
