/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks by rules that were computed from code: what they find is held against that code. */
#include <check.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rawprof/unwind.h>

#include "unwind/cfi.h"
#include "unwind/rows.h"

enum {
	CODE = 0x1000, /* a function for each rule, 0x100 apart */
	LEAF = CODE,
	BY_REGISTER = CODE + 0x100,
	FRAMED = CODE + 0x200,
	OUTERMOST = CODE + 0x300,
	TRAMPOLINE = CODE + 0x400,
	BY_LINK = CODE + 0x500,
	CODE_END = CODE + 0x600,
	STACK = 0x7ffe0000,
	WORDS = 64,
	RCX = 2,      /* as DWARF has it */
	CALLS = 0x20, /* in each function: behind a call */
};

#define AT(word) (STACK + 8 * (uint64_t)(word))

static struct unwind_table *table;
static uint8_t code[CODE_END - CODE];
static uint64_t stack[WORDS];

static int read_both(void *ctx, uint64_t addr, void *buf, size_t size)
{
	(void)ctx;
	if (addr >= CODE && addr <= CODE_END - size)
		memcpy(buf, code + (addr - CODE), size);
	else if (addr >= STACK && addr <= STACK + sizeof(stack) - size)
		memcpy(buf, (char *)stack + (addr - STACK), size);
	else
		return -EFAULT;
	return 0;
}

static void teardown(void)
{
	unwind_table_free(table);
	table = NULL;
}

/* rules[i] is that of the function at CODE + 0x100 * i; each has a call of these bytes. */
static void make(uint16_t machine, const struct unwind_rule *rules, size_t n, const void *call,
		 size_t size)
{
	struct unwind_rows rows;

	memset(stack, 0, sizeof(stack));
	memset(code, 0x90, sizeof(code));
	ck_assert_int_eq(unwind_rows_init(&rows), 0);
	for (size_t i = 0; i < n; i++) {
		ck_assert_int_eq(unwind_rows_add(&rows, CODE + 0x100 * i, &rules[i]), 0);
		memcpy(code + 0x100 * i + CALLS - size, call, size);
	}
	ck_assert_int_eq(unwind_rows_finish(&rows, machine, &table), 0);
	unwind_rows_free(&rows);
}

/* The walk from @regs: @n frames, and how it ends. */
static void walks(const struct unwind_regs *regs, enum unwind_stop end, const uint64_t *pcs,
		  unsigned int n, unsigned int fp_steps)
{
	struct unwind_space_mapping m = { CODE, CODE_END, 0, table, UNWIND_BY_TABLE };
	const struct unwind_space space = { .segments = &m, .count = 1 };
	struct unwind_result result;
	uint64_t got[8];

	ck_assert_uint_eq(unwind_walk(&space, regs, read_both, NULL, got, 8, &result), n);
	for (unsigned int i = 0; i < n; i++)
		ck_assert_uint_eq(got[i], pcs[i]);
	ck_assert_int_eq(result.end, end);
	ck_assert_uint_eq(result.fp_steps, fp_steps);
}

#define WALKS(regs, end, fp_steps, ...)                                                            \
	walks(regs, end, (const uint64_t[]){ __VA_ARGS__ },                                        \
	      sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8, fp_steps)

static void make_x86(void)
{
	const struct unwind_rule rules[] = {
		{ .kind = UNWIND_SP, .cfa_off = 8, .ra_off = -8, .flags = UNWIND_COMPUTED },
		{ .kind = UNWIND_REG,
		  .arg = RCX,
		  .cfa_off = 8,
		  .ra_off = -8,
		  .flags = UNWIND_COMPUTED },
		{ .kind = UNWIND_SP, .cfa_off = 16, .ra_off = -8 },
		{ .kind = UNWIND_STOP },
		unwind_signal_rule(rp_machine(EM_X86_64)),
		{ .kind = UNWIND_UNSUP },
	};
	static const uint8_t call[] = { 0xe8, 1, 2, 3, 4 };

	make(EM_X86_64, rules, sizeof(rules) / sizeof(rules[0]), call, sizeof(call));
}

START_TEST(what_follows_a_call_is_believed)
{
	struct unwind_regs regs = { .pc = LEAF + 4, .sp = AT(0), .fp = AT(4) };

	make_x86();
	stack[0] = OUTERMOST + CALLS;
	stack[5] = OUTERMOST + 1; /* which the frame pointer would find */
	WALKS(&regs, UNWIND_COMPLETE, 0, LEAF + 4, OUTERMOST + CALLS);

	/* One byte behind, it follows none. */
	stack[0]++;
	WALKS(&regs, UNWIND_COMPLETE, 1, LEAF + 4, OUTERMOST + 1);
	stack[0] = 0;
	WALKS(&regs, UNWIND_COMPLETE, 1, LEAF + 4, OUTERMOST + 1);

	/* Calls by a register or memory, of all lengths. */
	for (unsigned int len = 2; len <= 7; len++) {
		uint8_t *end = code + (OUTERMOST - CODE) + 0x80;
		const bool is_one = len != 5; /* no form of it has five bytes */

		memset(end - 8, 0x90, 8);
		end[-(int)len] = 0xff;
		end[1 - (int)len] = 0x14;
		stack[0] = OUTERMOST + 0x80;
		WALKS(&regs, UNWIND_COMPLETE, !is_one, LEAF + 4,
		      is_one ? OUTERMOST + 0x80 : OUTERMOST + 1);
	}
}
END_TEST

/* Code without rows, which was jumped to: at one of the places there is the return address. */
START_TEST(what_was_jumped_to_is_left_as_who_jumped)
{
	const struct unwind_rule rules[] = {
		{ .kind = UNWIND_NO_ROW, .flags = UNWIND_COMPUTED },
		{ .kind = UNWIND_UNSUP },
		{ .kind = UNWIND_FP, .cfa_off = 16, .ra_off = -8 },
		{ .kind = UNWIND_STOP },
	};
	const uint8_t call[] = { 0xe8, 1, 2, 3, 4 };
	struct unwind_regs regs = { .pc = LEAF + 4, .sp = AT(0), .fp = AT(40) };

	make(EM_X86_64, rules, sizeof(rules) / sizeof(rules[0]), call, sizeof(call));
	table->jumped_to = (struct unwind_rule){ .kind = UNWIND_SP,
						 .cfa_off = 16 * 8,
						 .fp_off = -6 * 8,
						 .arg = 8,
						 .ra_off = 4,
						 .flags = UNWIND_FP_AT_CFA };
	stack[41] = OUTERMOST + 1; /* which the frame pointer would find */
	stack[31] = OUTERMOST + CALLS;

	stack[15] = FRAMED + CALLS;
	stack[10] = AT(30);
	WALKS(&regs, UNWIND_COMPLETE, 0, LEAF + 4, FRAMED + CALLS, OUTERMOST + CALLS);

	/* It had pushed one word, or two, and called. */
	regs.sp = AT(1);
	memmove(stack + 12, stack + 10, sizeof(stack[0]) * 6);
	stack[10] = 0;
	WALKS(&regs, UNWIND_COMPLETE, 0, LEAF + 4, FRAMED + CALLS, OUTERMOST + CALLS);
	regs.sp = AT(0);
	WALKS(&regs, UNWIND_COMPLETE, 0, LEAF + 4, FRAMED + CALLS, OUTERMOST + CALLS);

	/* Neither; and so much more that it is not looked for there. */
	stack[17]++;
	WALKS(&regs, UNWIND_COMPLETE, 1, LEAF + 4, OUTERMOST + 1);
	stack[17] = 0;
	stack[21] = OUTERMOST + CALLS;
	WALKS(&regs, UNWIND_COMPLETE, 1, LEAF + 4, OUTERMOST + 1);
}
END_TEST

START_TEST(a_register_is_known_while_what_was_called_runs)
{
	struct unwind_regs regs = { .pc = LEAF + 4, .sp = AT(0), .reg[RCX] = AT(6) };

	make_x86();
	stack[0] = BY_REGISTER + CALLS;
	stack[6] = OUTERMOST + CALLS;
	WALKS(&regs, UNWIND_COMPLETE, 0, LEAF + 4, BY_REGISTER + CALLS, OUTERMOST + CALLS);

	/* Not while that has called another, */
	stack[0] = FRAMED + CALLS;
	stack[2] = BY_REGISTER + CALLS;
	WALKS(&regs, UNWIND_NOT_LEAF, 0, LEAF + 4, FRAMED + CALLS, BY_REGISTER + CALLS);

	/* nor where a signal came between. */
	regs.pc = TRAMPOLINE;
	stack[168 / 8] = BY_REGISTER + CALLS;
	stack[160 / 8] = AT(40);
	WALKS(&regs, UNWIND_NOT_LEAF, 0, TRAMPOLINE, UNWIND_PC_EXACT | (BY_REGISTER + CALLS));
}
END_TEST

static void make_arm64(uint32_t call)
{
	const struct unwind_rule rules[] = {
		{ .kind = UNWIND_SP, .ra_off = 30, .flags = UNWIND_COMPUTED | UNWIND_RA_REG },
		{ .kind = UNWIND_SP, .ra_off = 15, .flags = UNWIND_COMPUTED | UNWIND_RA_REG },
		{ .kind = UNWIND_SP, .cfa_off = 16, .ra_off = -8 },
		{ .kind = UNWIND_STOP },
		unwind_signal_rule(rp_machine(EM_AARCH64)),
		/* What is no rule for a function that has called another. */
		{ .kind = UNWIND_SP,
		  .cfa_off = 32,
		  .ra_off = 30,
		  .flags = UNWIND_COMPUTED | UNWIND_RA_REG },
	};

	make(EM_AARCH64, rules, sizeof(rules) / sizeof(rules[0]), &call, sizeof(call));
}

START_TEST(arm64_calls)
{
	static const uint32_t calls[] = { 0x94000010, 0x97fffff0, 0xd63f0020, 0xd73f0820 },
			      others[] = { 0x14000010, 0xd61f0020, 0xd65f03c0, 0xd503201f };
	struct unwind_regs regs = { .pc = LEAF + 4, .sp = AT(0), .fp = AT(4) };

	regs.reg[30] = OUTERMOST + CALLS;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		make_arm64(calls[i]);
		WALKS(&regs, UNWIND_COMPLETE, 0, LEAF + 4, OUTERMOST + CALLS);
		unwind_table_free(table);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (i)
			unwind_table_free(table);
		make_arm64(others[i]);
		stack[5] = OUTERMOST + 8;
		WALKS(&regs, UNWIND_COMPLETE, 1, LEAF + 4, OUTERMOST + 8);
	}
}
END_TEST

START_TEST(arm64_keeps_its_return_address_in_a_register)
{
	struct unwind_regs regs = { .pc = LEAF + 4, .sp = AT(0) };

	make_arm64(0x94000010);
	regs.reg[30] = BY_REGISTER + CALLS;
	regs.reg[15] = OUTERMOST + CALLS;
	WALKS(&regs, UNWIND_COMPLETE, 0, LEAF + 4, BY_REGISTER + CALLS, OUTERMOST + CALLS);

	/* x30 is that of what was called. */
	regs.reg[30] = BY_LINK + CALLS;
	WALKS(&regs, UNWIND_NOT_LEAF, 0, LEAF + 4, BY_LINK + CALLS);

	/* Further up nobody knows. */
	regs.reg[30] = FRAMED + CALLS;
	stack[1] = BY_REGISTER + CALLS;
	WALKS(&regs, UNWIND_NOT_LEAF, 0, LEAF + 4, FRAMED + CALLS, BY_REGISTER + CALLS);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("walks by computed rules");
	TCase *t = tcase_create("walk");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_add_test(t, what_follows_a_call_is_believed);
	tcase_add_test(t, what_was_jumped_to_is_left_as_who_jumped);
	tcase_add_test(t, a_register_is_known_while_what_was_called_runs);
	tcase_add_test(t, arm64_calls);
	tcase_add_test(t, arm64_keeps_its_return_address_in_a_register);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
