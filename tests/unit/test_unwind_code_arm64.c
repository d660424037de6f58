/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules computed from the instructions of arm64. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/code.h"
#include "unwind/code_arm64.h"

enum { ADDR = 0x1000, WORDS = 64, SIZE = 4 * WORDS };

static struct unwind_rule rules[SIZE];

static int keep(void *ctx, uint64_t addr, uint32_t len, const struct unwind_arm64_state *state)
{
	(void)ctx;
	ck_assert_uint_ge(addr, ADDR);
	ck_assert_uint_le(addr + len, ADDR + SIZE);
	for (uint32_t i = 0; i < len; i++)
		rules[addr - ADDR + i] = unwind_arm64_rule(state);
	return 0;
}

static void follow_from(const uint32_t *words, size_t n, const struct unwind_starts *starts)
{
	uint32_t code[WORDS] = { 0 };
	struct rp_work work = rp_work_for(SIZE, UNWIND_CODE_WORK);

	memcpy(code, words, n * sizeof(*words));
	memset(rules, 0, sizeof(rules));
	ck_assert_int_eq(
		unwind_arm64_follow((const uint8_t *)code, SIZE, ADDR, starts, &work, keep, NULL),
		0);
}

#define FOLLOW(words)                                                                              \
	follow_from(words, sizeof(words) / sizeof(*(words)), &(struct unwind_starts){ 0 })

/* At word @i: CFA = sp or fp + off. */
static void expect(size_t i, enum unwind_kind kind, int cfa_off)
{
	ck_assert_uint_eq(rules[4 * i].kind, kind);
	ck_assert_int_eq(rules[4 * i].cfa_off, cfa_off);
}

static void expect_return_in(size_t byte, int reg)
{
	ck_assert(rules[byte].flags & UNWIND_RA_REG);
	ck_assert_int_eq(rules[byte].ra_off, reg);
}

static void expect_return_at(size_t byte, int off)
{
	ck_assert(!(rules[byte].flags & UNWIND_RA_REG));
	ck_assert_int_eq(rules[byte].ra_off, off);
}

START_TEST(frames_are_followed)
{
	static const uint32_t code[] = {
		0xa9bd7bfd, /* 0: stp x29, x30, [sp, #-48]! */
		0x910003fd, /* 1: mov x29, sp */
		0xf9000bf3, /* 2: str x19, [sp, #16] */
		0xb4000040, /* 3: cbz x0, 5 */
		0xd63f0020, /* 4: blr x1 */
		0xf9400bf3, /* 5: ldr x19, [sp, #16] */
		0xa8c37bfd, /* 6: ldp x29, x30, [sp], #48 */
		0xd65f03c0, /* 7: ret */
	};

	FOLLOW(code);
	expect(0, UNWIND_SP, 0);
	expect_return_in(0, 30);
	ck_assert_uint_eq(rules[0].flags, UNWIND_COMPUTED | UNWIND_RA_REG);
	expect(1, UNWIND_SP, 48);
	expect_return_at(4, -40);
	ck_assert_uint_eq(rules[4].flags, UNWIND_COMPUTED);
	expect(5, UNWIND_SP, 48);
	expect_return_at(20, -40);
	ck_assert_uint_eq(rules[20].flags, UNWIND_COMPUTED | UNWIND_FP_AT_CFA);
	ck_assert_int_eq(rules[20].fp_off, -48);
	expect(7, UNWIND_SP, 0);
	ck_assert_uint_eq(rules[28].flags, UNWIND_COMPUTED | UNWIND_RA_REG);
	ck_assert_uint_eq(rules[32].kind, UNWIND_NO_ROW);
}
END_TEST

START_TEST(leaves_have_no_frame)
{
	static const uint32_t code[] = {
		0x6dbc27e8, /* 0: stp d8, d9, [sp, #-64]! */
		0xf1000421, /* 1: subs x1, x1, #1 */
		0x54ffffe1, /* 2: b.ne 1 */
		0x6cc427e8, /* 3: ldp d8, d9, [sp], #64 */
		0xd65f03c0, /* 4: ret */
	};

	FOLLOW(code);
	expect(0, UNWIND_SP, 0);
	expect(2, UNWIND_SP, 64);
	expect_return_in(8, 30);
	ck_assert_uint_eq(rules[8].flags, UNWIND_COMPUTED | UNWIND_RA_REG);
	expect(4, UNWIND_SP, 0);
}
END_TEST

/* While the helper runs the return address is known, if x15 is left alone; x30 is the helper's. */
START_TEST(the_return_address_is_kept_in_a_register)
{
	static const uint32_t code[] = {
		0xaa1e03ef, /* 0: mov x15, x30 */
		0x94000003, /* 1: bl 4 */
		0xd65f01e0, /* 2: ret x15 */
		0xd503201f, /* 3: nop */
		0xd65f03c0, /* 4: ret */
	};

	FOLLOW(code);
	expect(0, UNWIND_SP, 0);
	expect_return_in(0, 30);
	expect(1, UNWIND_SP, 0);
	expect_return_in(4, 30);
	expect_return_in(7, 15);
	expect_return_in(8, 15);
	expect_return_in(16, 30);
}
END_TEST

/* A call leaves x30 another's: its own return address is not known, until it is loaded again. */
START_TEST(calls_have_rows)
{
	static const uint32_t code[] = {
		0xd10083ff, /* 0: sub sp, sp, #32 */
		0xf90007fe, /* 1: str x30, [sp, #8] */
		0x97fffffe, /* 2: bl 0 */
		0xf94007fe, /* 3: ldr x30, [sp, #8] */
		0x910083ff, /* 4: add sp, sp, #32 */
		0xd65f03c0, /* 5: ret */
	};

	FOLLOW(code);
	expect(1, UNWIND_SP, 32);
	expect_return_in(4, 30);
	expect(2, UNWIND_SP, 32);
	expect_return_at(8, -24);
	expect_return_at(11, -24);
	expect_return_at(16, -24);
	expect(5, UNWIND_SP, 0);
	expect_return_in(20, 30);
}
END_TEST

/* Where the stack is aligned, or of a size that is not known, x29 finds the frame. */
START_TEST(the_stack_is_aligned)
{
	static const uint32_t code[] = {
		0xa9be7bfd, /* 0: stp x29, x30, [sp, #-32]! */
		0x910003fd, /* 1: mov x29, sp */
		0xcb2063ff, /* 2: sub sp, sp, x0 */
		0x927be81f, /* 3: and sp, x0, #-32 */
		0x910003bf, /* 4: mov sp, x29 */
		0xa8c27bfd, /* 5: ldp x29, x30, [sp], #32 */
		0xd65f03c0, /* 6: ret */
	};

	FOLLOW(code);
	expect(3, UNWIND_FP, 32);
	expect_return_at(12, -24);
	ck_assert_uint_eq(rules[12].flags, UNWIND_COMPUTED | UNWIND_FP_AT_CFA);
	expect(4, UNWIND_FP, 32);
	expect(5, UNWIND_SP, 32);
	expect(6, UNWIND_SP, 0);
}
END_TEST

/* Compilers touch the pages of a large frame in a loop, which ends where sp is what x12 has. */
START_TEST(pages_are_touched)
{
	static const uint32_t code[] = {
		0xd14083ec, /* 0: sub x12, sp, #32, lsl #12 */
		0xd14043ff, /* 1: sub sp, sp, #16, lsl #12 */
		0xf90003ff, /* 2: str xzr, [sp] */
		0xeb2c63ff, /* 3: cmp sp, x12 */
		0x54ffffa1, /* 4: b.ne 1 */
		0x914083ff, /* 5: add sp, sp, #32, lsl #12 */
		0xd65f03c0, /* 6: ret */
	};

	FOLLOW(code);
	expect(5, UNWIND_SP, 32 << 12);
	expect(6, UNWIND_SP, 0);
}
END_TEST

/* Each of these contradicts itself: nothing is said. */
static const uint32_t wrong[][4] = {
	{ 0xd10083ff, 0xd65f03c0 },		/* sub sp, sp, #32; ret */
	{ 0xaa0003fe, 0xd65f03c0 },		/* mov x30, x0; ret */
	{ 0xd280001d, 0xd65f03c0 },		/* mov x29, #0; ret */
	{ 0x910083ff, 0xd10083ff, 0xd65f03c0 }, /* add sp, sp, #32: that is the caller's */
	{ 0xa9be7bfd, 0xf9000be0, 0xa8c17bfd, 0xd65f03c0 }, /* half of it is taken back */
};

/* An interpreter's code for one of its instructions: a table points to it, it goes on by that. */
START_TEST(what_a_table_points_to_is_no_function)
{
	static const uint32_t code[] = {
		0x38401423, /* 0: ldrb w3, [x1], #1 */
		0xf8637843, /* 1: ldr x3, [x2, x3, lsl #3] */
		0xd61f0060, /* 2: br x3 */
	};
	uint8_t bits[SIZE / 8] = { 1 };
	const struct unwind_starts starts = { .base = ADDR, .n = SIZE, .bit = bits };

	follow_from(code, sizeof(code) / sizeof(code[0]), &starts);
	for (size_t i = 0; i < sizeof(code); i++)
		ck_assert_uint_eq(rules[i].kind, UNWIND_NO_ROW);
}
END_TEST

START_TEST(returns_are_authenticated)
{
	static const uint32_t code[] = {
		0xd503233f, /* 0: paciasp */
		0xa9be7bfd, /* 1: stp x29, x30, [sp, #-32]! */
		0xa8c27bfd, /* 2: ldp x29, x30, [sp], #32 */
		0xd65f0bff, /* 3: retaa */
	};

	FOLLOW(code);
	expect(2, UNWIND_SP, 32);
	expect(3, UNWIND_SP, 0);
}
END_TEST

START_TEST(contradictions_are_seen)
{
	uint32_t code[WORDS] = { 0xd503201f }; /* behind padding */

	memcpy(code + 1, wrong[_i], sizeof(wrong[_i]));
	FOLLOW(code);
	for (size_t i = 0; i < SIZE; i++)
		ck_assert_uint_eq(rules[i].kind, UNWIND_NO_ROW);
}
END_TEST

/* The call does not come back: what lies behind it is another function, which begins anew. */
START_TEST(calls_may_not_return)
{
	static const uint32_t code[] = {
		0xa9be7bfd, /* 0: stp x29, x30, [sp, #-32]! */
		0xb4000060, /* 1: cbz x0, 4 */
		0xa8c27bfd, /* 2: ldp x29, x30, [sp], #32 */
		0xd65f03c0, /* 3: ret */
		0xd63f0020, /* 4: blr x1 */
		0xd10043ff, /* 5: sub sp, sp, #16 */
		0xf90007fe, /* 6: str x30, [sp, #8] */
		0xd63f0020, /* 7: blr x1 */
		0xf94007fe, /* 8: ldr x30, [sp, #8] */
		0x910043ff, /* 9: add sp, sp, #16 */
		0xd65f03c0, /* 10: ret */
	};

	FOLLOW(code);
	expect(4, UNWIND_SP, 32);
	expect_return_at(16, -24);
	expect(5, UNWIND_SP, 0);
	expect(6, UNWIND_SP, 16);
	expect(7, UNWIND_SP, 16);
	expect_return_at(28, -8);
	expect(10, UNWIND_SP, 0);
}
END_TEST

/* Behind a call nops may align a loop of the same function: it returns rightly. */
START_TEST(nops_may_follow_a_call)
{
	static const uint32_t code[] = {
		0xa9be7bfd, /* 0: stp x29, x30, [sp, #-32]! */
		0xd63f0020, /* 1: blr x1 */
		0xd503201f, /* 2: nop */
		0xd503201f, /* 3: nop */
		0xf1000421, /* 4: subs x1, x1, #1 */
		0x54ffffe1, /* 5: b.ne 4 */
		0xa8c27bfd, /* 6: ldp x29, x30, [sp], #32 */
		0xd65f03c0, /* 7: ret */
	};

	FOLLOW(code);
	expect(2, UNWIND_SP, 32);
	expect(4, UNWIND_SP, 32);
	expect_return_at(16, -24);
}
END_TEST

/* Or they end the function, and what follows is a small one that goes on by a pointer. */
START_TEST(nops_may_end_a_function)
{
	static const uint32_t code[] = {
		0xa9be7bfd, /* 0: stp x29, x30, [sp, #-32]! */
		0xb4000060, /* 1: cbz x0, 4 */
		0xa8c27bfd, /* 2: ldp x29, x30, [sp], #32 */
		0xd65f03c0, /* 3: ret */
		0xd63f0020, /* 4: blr x1 */
		0xd503201f, /* 5: nop */
		0xd503201f, /* 6: nop */
		0xd503201f, /* 7: nop */
		0xaa0103e0, /* 8: mov x0, x1 */
		0xf9400002, /* 9: ldr x2, [x0] */
		0xd61f0040, /* 10: br x2 */
	};

	FOLLOW(code);
	expect(4, UNWIND_SP, 32);
	for (size_t i = 8; i <= 10; i++)
		ck_assert_uint_ne(rules[4 * i].cfa_off, 32);
}
END_TEST

/* Its return address is in x1 too, and stays there while the helper runs. */
START_TEST(the_return_address_is_copied)
{
	static const uint32_t code[] = {
		0xaa1e03e1, /* 0: mov x1, x30 */
		0x94000003, /* 1: bl 4 */
		0xaa0103fe, /* 2: mov x30, x1 */
		0x14000002, /* 3: b 5 */
		0xd65f03c0, /* 4: ret */
		0xd65f03c0, /* 5: ret */
	};

	FOLLOW(code);
	expect_return_in(8, 1);
	expect_return_in(12, 30);
}
END_TEST

/* A case of a switch is reached over a table alone, and has the frame that the jump had. */
START_TEST(cases_have_the_frame_of_their_switch)
{
	static const uint32_t code[] = {
		0xa9be7bfd, /* 0: stp x29, x30, [sp, #-32]! */
		0xb4000040, /* 1: cbz x0, 3 */
		0xd61f0020, /* 2: br x1 */
		0xa8c27bfd, /* 3: ldp x29, x30, [sp], #32 */
		0xd65f03c0, /* 4: ret */
		0x91000400, /* 5: add x0, x0, #1 */
		0x17fffffd, /* 6: b 3 */
	};

	FOLLOW(code);
	expect(5, UNWIND_SP, 32);
	expect(6, UNWIND_SP, 32);
	expect_return_at(24, -24);
}
END_TEST

/* The last bytes of a range, and of all addresses; and one that begins within a word. */
START_TEST(ends_are_seen)
{
	static const uint32_t code[] = { 0xd503201f, 0xd503201f, 0xd503201f, 0x94000001 };
	const uint64_t addrs[] = { ADDR, -(uint64_t)sizeof(code), ADDR + 1, ADDR + 3 };
	const struct unwind_starts none = { 0 };

	for (size_t i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++)
		for (size_t size = 0; size <= sizeof(code); size++) {
			struct rp_work work = rp_work_for(size, UNWIND_CODE_WORK);
			uint8_t *exact = malloc(size + !size);

			memcpy(exact, code, size);
			ck_assert_int_eq(unwind_arm64_follow(exact, size, addrs[i], &none, &work,
							     keep, NULL),
					 0);
			free(exact);
		}
}
END_TEST

/* What instructions may change, by the manual. */
static const struct {
	const char *what;
	uint32_t word, changes;
} changed[] = {
	{ "add x1, x2, #3", 0x91000c41, 1 << 1 },
	{ "add sp, sp, #16", 0x910043ff, 1U << 31 },
	{ "cmp x1, #3", 0xf1000c3f, 0 },
	{ "and sp, x9, #-16", 0x927ced3f, 1U << 31 },
	{ "tst x1, #1", 0xf240003f, 0 },
	{ "movz x30, #0", 0xd280001e, 1 << 30 },
	{ "adrp x3, 0", 0x90000003, 1 << 3 },
	{ "sub sp, sp, x3", 0xcb2363ff, 1U << 31 },
	{ "add xzr, x1, x2", 0x8b02003f, 0 },
	{ "ccmp x1, x2, #13, eq", 0xfa42002d, 0 },
	{ "madd x29, x1, x2, x3", 0x9b020c3d, 1 << 29 },
	{ "ldr x30, [x1]", 0xf940003e, 1 << 30 },
	{ "str x30, [x1]", 0xf900003e, 0 },
	{ "str x30, [sp, #-16]!", 0xf81f0ffe, 1U << 31 },
	{ "ldr q30, [x1], #16", 0x3cc1043e, 1 << 1 },
	{ "ldr x1, [x2, x3]", 0xf8636841, 1 << 1 },
	{ "str x1, [x2, x3]", 0xf8236841, 0 },
	{ "ldp x29, x30, [sp], #16", 0xa8c17bfd, 3 << 29 | 1U << 31 },
	{ "stp x29, x30, [sp, #16]", 0xa9017bfd, 0 },
	{ "ldp q29, q30, [x1]", 0xad40783d, 0 },
	{ "ldr x5, literal", 0x58000005, 1 << 5 },
	{ "ldadd x1, x2, [x3]", 0xf8210062, 1 << 2 },
	{ "ldxr x2, [x3]", 0xc85f7c62, 1U << 2 },
	{ "st1 {v0.16b}, [x1], #16", 0x4c9f7020, 1 << 1 },
	{ "ld1 {v0.16b}, [x1]", 0x4c407020, 0 },
	{ "umov w29, v30.s[0]", 0x0e043fdd, 1 << 29 },
	{ "fmov x30, d29", 0x9e6603be, 1 << 30 },
	{ "fmov d30, x29", 0x9e6703be, 0 },
	{ "scvtf d30, x29", 0x9e6203be, 0 },
	{ "fadd d30, d29, d28", 0x1e7c2bbe, 0 },
	{ "bl 4", 0x94000001, 1 << 30 },
	{ "blr x1", 0xd63f0020, 1 << 30 },
	{ "ret", 0xd65f03c0, 0 },
	{ "mrs x30, tpidr_el0", 0xd53bd05e, 1 << 30 },
	{ "msr tpidr_el0, x30", 0xd51bd05e, 0 },
	{ "nop", 0xd503201f, 0 },
	{ "addvl sp, sp, #-1", 0x043f57ff, 1U << 31 },
	{ "cntd x29", 0x04e0e3fd, 1 << 29 },
};

START_TEST(changes_are_known)
{
	uint32_t got = rp_arm64_changes(changed[_i].word);

	/* Of exclusive ones more is said than they do. */
	if ((changed[_i].word & 0x3f000000) == 0x08000000)
		got &= changed[_i].changes;
	ck_assert_msg(got == changed[_i].changes, "%s: %#x", changed[_i].what, got);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rules from the code of arm64");
	TCase *t = tcase_create("code");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_add_test(t, frames_are_followed);
	tcase_add_test(t, leaves_have_no_frame);
	tcase_add_test(t, the_return_address_is_kept_in_a_register);
	tcase_add_test(t, calls_have_rows);
	tcase_add_test(t, the_stack_is_aligned);
	tcase_add_test(t, pages_are_touched);
	tcase_add_loop_test(t, contradictions_are_seen, 0, sizeof(wrong) / sizeof(wrong[0]));
	tcase_add_test(t, calls_may_not_return);
	tcase_add_test(t, nops_may_follow_a_call);
	tcase_add_test(t, nops_may_end_a_function);
	tcase_add_test(t, the_return_address_is_copied);
	tcase_add_test(t, cases_have_the_frame_of_their_switch);
	tcase_add_test(t, what_a_table_points_to_is_no_function);
	tcase_add_test(t, returns_are_authenticated);
	tcase_add_test(t, ends_are_seen);
	tcase_add_loop_test(t, changes_are_known, 0, sizeof(changed) / sizeof(changed[0]));
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
