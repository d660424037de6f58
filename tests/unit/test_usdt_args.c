/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arguments of USDT probes: from the text in a note to lines of a program, which run here, on
 * registers and memory of our own.
 */
#include <check.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/uprobe.h>

#include "usdt_machine.h"

enum { PLACE = 0x401136, COUNTER = 0x404010 };

static int find_variable(void *ctx, const char *name, uint64_t *vaddr)
{
	(void)ctx;
	if (!strcmp(name, "twice"))
		return -ENOTUNIQ;
	if (strcmp(name, "counter") && strcmp(name, ".LC0"))
		return -ENOENT;
	*vaddr = COUNTER;
	return 0;
}

static struct rp_usdt_args parse(uint16_t machine, const char *text)
{
	const struct rp_usdt_place place = { machine, PLACE, text, find_variable, NULL };
	struct rp_usdt_args args;

	rp_usdt_parse(&place, &args);
	return args;
}

/* ---- what one argument comes to */

struct value {
	uint16_t machine;
	const char *text;
	uint64_t value;
};

/*
 * Register at byte i of pt_regs: usdt_reg(i). Memory: usdt_memory(address), a byte each.
 * x86-64: rax 80 rcx 88 rdx 96 rbx 40 rsp 152 rbp 32 rsi 104 rdi 112 r8 72 r15 0 rip 128.
 */
static uint64_t bytes(uint64_t address, int n)
{
	uint64_t value = 0;

	for (int i = 0; i < n; i++)
		value |= (uint64_t)usdt_memory(address + (uint64_t)i) << 8 * i;
	return value;
}

static uint64_t low(uint64_t value, int bits)
{
	return value & (~0ULL >> (64 - bits));
}

static uint64_t extended(uint64_t value, int bits)
{
	return (uint64_t)((int64_t)(value << (64 - bits)) >> (64 - bits));
}

static void check_value(uint16_t machine, const char *text, uint64_t expected)
{
	const struct rp_usdt_args args = parse(machine, text);
	struct usdt_result r;

	ck_assert_uint_eq(args.n, 1);
	ck_assert_msg(args.arg[0].kind != RP_USDT_UNKNOWN, "%s: %s", text, args.arg[0].why);
	usdt_run(&args, 1, 0, 0, &r);
	ck_assert_msg(r.values[0] == expected && !r.failed, "%s: %#llx, not %#llx (failed %x)",
		      text, (unsigned long long)r.values[0], (unsigned long long)expected,
		      r.failed);
}

START_TEST(registers_of_x86)
{
	const uint64_t rax = usdt_reg(80), r8 = usdt_reg(72), rsp = usdt_reg(152);

	check_value(EM_X86_64, "8@%rax", rax);
	check_value(EM_X86_64, "-8@%rax", rax);
	check_value(EM_X86_64, "4@%eax", low(rax, 32));
	check_value(EM_X86_64, "-4@%eax", extended(rax, 32));
	check_value(EM_X86_64, "2@%ax", low(rax, 16));
	check_value(EM_X86_64, "-2@%ax", extended(rax, 16));
	check_value(EM_X86_64, "1@%al", low(rax, 8));
	check_value(EM_X86_64, "-1@%al", extended(rax, 8));
	check_value(EM_X86_64, "1@%ah", low(rax >> 8, 8));
	check_value(EM_X86_64, "-1@%ah", extended(rax >> 8, 8));
	check_value(EM_X86_64, "8f@%rsp", rsp);
	check_value(EM_X86_64, "4@%r8d", low(r8, 32));
	check_value(EM_X86_64, "-2@%r8w", extended(r8, 16));
	check_value(EM_X86_64, "1@%r8b", low(r8, 8));
	check_value(EM_X86_64, "8@%r15", usdt_reg(0));
	check_value(EM_X86_64, "1@%r15l", low(usdt_reg(0), 8));
	check_value(EM_X86_64, "1@%sil", low(usdt_reg(104), 8));
	check_value(EM_X86_64, "1@%bpl", low(usdt_reg(32), 8));
	/* The size says how much counts, whatever the register is called. */
	check_value(EM_X86_64, "4@%rax", low(rax, 32));
	check_value(EM_X86_64, "-8@%eax", rax);
	check_value(EM_386, "-4@%eax", extended(rax, 32));
}
END_TEST

START_TEST(constants)
{
	check_value(EM_X86_64, "4@$5", 5);
	check_value(EM_X86_64, "-4@$-5", (uint64_t)-5);
	check_value(EM_X86_64, "4@$-1", 0xffffffff);
	check_value(EM_X86_64, "1@$-1", 0xff);
	check_value(EM_X86_64, "-1@$255", (uint64_t)-1);
	check_value(EM_X86_64, "8@$-1", ~0ULL);
	check_value(EM_X86_64, "8@$0x7fffffffff", 0x7fffffffff);
	check_value(EM_X86_64, "8@$18446744073709551615", ~0ULL);
	check_value(EM_X86_64, "-8@$48+16", 64);
	check_value(EM_X86_64, "8@$counter", usdt_reg(128) - PLACE + COUNTER);
	check_value(EM_X86_64, "4@$counter+4", low(usdt_reg(128) - PLACE + COUNTER + 4, 32));
	check_value(EM_AARCH64, "4@5", 5);
	check_value(EM_AARCH64, "-4@-5", (uint64_t)-5);
	check_value(EM_AARCH64, "-4@#7", 7);
	check_value(EM_AARCH64, "8@xzr", 0);
	check_value(EM_AARCH64, "4@wzr", 0);
}
END_TEST

START_TEST(memory_of_x86)
{
	const uint64_t rbp = usdt_reg(32), rdi = usdt_reg(112), rsi = usdt_reg(104),
		       rdx = usdt_reg(96), moved = usdt_reg(128) - PLACE;

	check_value(EM_X86_64, "8@-16(%rbp)", bytes(rbp - 16, 8));
	check_value(EM_X86_64, "4@(%rdi)", bytes(rdi, 4));
	check_value(EM_X86_64, "-4@8(%rdi)", extended(bytes(rdi + 8, 4), 32));
	check_value(EM_X86_64, "2@0x10(%rdi)", bytes(rdi + 16, 2));
	check_value(EM_X86_64, "-2@2(%rdi)", extended(bytes(rdi + 2, 2), 16));
	check_value(EM_X86_64, "-1@3(%rdi)", extended(bytes(rdi + 3, 1), 8));
	check_value(EM_X86_64, "8@(%rdi,%rsi,4)", bytes(rdi + 4 * rsi, 8));
	check_value(EM_X86_64, "1@0(%rdi,%rsi)", bytes(rdi + rsi, 1));
	check_value(EM_X86_64, "8@-24(,%rdx,8)", bytes(8 * rdx - 24, 8));
	check_value(EM_X86_64, "8@8-16+4(%rdi)", bytes(rdi - 4, 8));
	check_value(EM_X86_64, "8@0x7fffffffffff(%rdi)", bytes(rdi + 0x7fffffffffff, 8));
	check_value(EM_X86_64, "8@counter(%rip)", bytes(moved + COUNTER, 8));
	check_value(EM_X86_64, "-4@counter+12(%rip)", extended(bytes(moved + COUNTER + 12, 4), 32));
	check_value(EM_X86_64, "4@8+counter(%rip)", bytes(moved + COUNTER + 8, 4));
	check_value(EM_X86_64, "8f@.LC0(%rip)", bytes(moved + COUNTER, 8));
	check_value(EM_X86_64, "8@counter(,%rax,8)", bytes(moved + COUNTER + 8 * usdt_reg(80), 8));
	check_value(EM_X86_64, "4@counter", bytes(moved + COUNTER, 4));
	/* Addresses of 32 bits wrap. */
	check_value(EM_X86_64, "4@-4(%edi)", bytes(low(rdi - 4, 32), 4));
	check_value(EM_386, "4@-4(%edi)", bytes(low(rdi - 4, 32), 4));
	check_value(EM_386, "-4@(%edi,%esi,4)", extended(bytes(low(rdi + 4 * rsi, 32), 4), 32));
}
END_TEST

START_TEST(arm64)
{
	const uint64_t x0 = usdt_reg(0), x1 = usdt_reg(8), x2 = usdt_reg(16), sp = usdt_reg(248);

	check_value(EM_AARCH64, "8@x0", x0);
	check_value(EM_AARCH64, "-4@w0", extended(x0, 32));
	check_value(EM_AARCH64, "1@w1", low(x1, 8));
	check_value(EM_AARCH64, "8@x30", usdt_reg(240));
	check_value(EM_AARCH64, "8@lr", usdt_reg(240));
	check_value(EM_AARCH64, "8@sp", sp);
	check_value(EM_AARCH64, "8@[sp]", bytes(sp, 8));
	check_value(EM_AARCH64, "8@[sp, 16]", bytes(sp + 16, 8));
	check_value(EM_AARCH64, "-4@[sp,12]", extended(bytes(sp + 12, 4), 32));
	check_value(EM_AARCH64, "2@[x1, -8]", bytes(x1 - 8, 2));
	check_value(EM_AARCH64, "-1@[x1, #5]", extended(bytes(x1 + 5, 1), 8));
	check_value(EM_AARCH64, "8@[x1, x2]", bytes(x1 + x2, 8));
	check_value(EM_AARCH64, "8@[x1, x2, lsl 3]", bytes(x1 + 8 * x2, 8));
	check_value(EM_AARCH64, "8@[x1, x2, lsl #3]", bytes(x1 + 8 * x2, 8));
	check_value(EM_AARCH64, "4@[x1, w2, sxtw 2]", bytes(x1 + 4 * extended(x2, 32), 4));
	check_value(EM_AARCH64, "4@[x1, w2, uxtw 2]", bytes(x1 + 4 * low(x2, 32), 4));
	check_value(EM_AARCH64, "1@[x1, w2, sxtw]", bytes(x1 + extended(x2, 32), 1));
	check_value(EM_AARCH64, "8@[x1, xzr]", bytes(x1, 8));
}
END_TEST

/* ---- what is not understood is not guessed */

static const struct {
	uint16_t machine;
	const char *text, *why;
} refused[] = {
	{ EM_X86_64, "%eax", "no size" },
	{ EM_X86_64, "@%eax", "no size" },
	{ EM_X86_64, "4", "no size" },
	{ EM_X86_64, "4%eax", "no size" },
	{ EM_X86_64, "3@%eax", "none of 1, 2, 4 and 8" },
	{ EM_X86_64, "16@%rax", "none of 1, 2, 4 and 8" },
	{ EM_X86_64, "99999999999999999999@%rax", "no size" },
	{ EM_X86_64, "2f@%ax", "that small" },
	{ EM_X86_64, "4@", "not understood" },
	{ EM_X86_64, "4@%", "not understood" },
	{ EM_X86_64, "4@%eaxx", "not understood" },
	{ EM_X86_64, "4@%eax,", "not understood" },
	{ EM_X86_64, "4@%r16", "not understood" },
	{ EM_X86_64, "4@%r7", "not understood" },
	{ EM_X86_64, "4@%r8x", "not understood" },
	{ EM_X86_64, "4@%r123", "not understood" },
	{ EM_X86_64, "8@%rip", "not understood" },
	{ EM_X86_64, "2@%ah", "not understood" },
	{ EM_X86_64, "4@$", "not understood" },
	{ EM_X86_64, "4@$5x", "not understood" },
	{ EM_X86_64, "4@$5+", "not understood" },
	{ EM_X86_64, "4@$99999999999999999999", "not understood" },
	{ EM_X86_64, "8@-16(%rbp", "not understood" },
	{ EM_X86_64, "8@-16(%rbp)x", "not understood" },
	{ EM_X86_64, "8@-16()", "not understood" },
	{ EM_X86_64, "8@(%bp)", "not understood" },
	{ EM_X86_64, "8@(%rax,%rbx,3)", "not understood" },
	{ EM_X86_64, "8@(%rax,%rbx,16)", "not understood" },
	{ EM_X86_64, "8@(%rax,%ebx)", "not understood" },
	{ EM_X86_64, "8@(%rax,%rip)", "not understood" },
	{ EM_X86_64, "8@16(%rip)", "not understood" },
	{ EM_X86_64, "8@16", "not understood" },
	{ EM_X86_64, "8@16 16(%rax)", "not understood" },
	{ EM_X86_64, "8@-counter(%rip)", "not understood" },
	{ EM_X86_64, "8@counter+counter(%rip)", "not understood" },
	{ EM_X86_64, "8@*16(%rax)", "not understood" },
	{ EM_X86_64, "8@%fs:-8", "in a segment" },
	{ EM_X86_64, "8@%xmm0", "vector register" },
	{ EM_X86_64, "8f@%xmm15", "vector register" },
	{ EM_X86_64, "8f@%st(1)", "floating-point register" },
	{ EM_X86_64, "8@counter@GOTPCREL(%rip)", "table of the dynamic linker" },
	{ EM_X86_64, "8@missing(%rip)", "no symbol" },
	{ EM_X86_64, "8@twice(%rip)", "several variables" },
	{ EM_386, "8@%eax", "two registers" },
	{ EM_RISCV, "8@a0", "machine's registers" },
	{ EM_AARCH64, "8@x31", "not understood" },
	{ EM_AARCH64, "8@-x0", "not understood" },
	{ EM_AARCH64, "8@y0", "not understood" },
	{ EM_AARCH64, "8@x00", "not understood" },
	{ EM_AARCH64, "8@d0", "vector register" },
	{ EM_AARCH64, "4@s31", "vector register" },
	{ EM_AARCH64, "8@[x0", "not understood" },
	{ EM_AARCH64, "8@[x0, 8]!", "not understood" },
	{ EM_AARCH64, "8@[x0], 8", "not understood" },
	{ EM_AARCH64, "8@[w0]", "not understood" },
	{ EM_AARCH64, "8@[x0, w1]", "not understood" },
	{ EM_AARCH64, "8@[x0, x1, sxtw 3]", "not understood" },
	{ EM_AARCH64, "8@[x0, w1, lsl 3]", "not understood" },
	{ EM_AARCH64, "8@[x0, x1, lsl]", "not understood" },
	{ EM_AARCH64, "8@[x0, x1, lsl 9]", "not understood" },
	{ EM_AARCH64, "8@[x0, #:lo12:counter]", "not understood" },
};

START_TEST(what_is_not_understood_is_said)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		const struct rp_usdt_args args = parse(refused[i].machine, refused[i].text);
		struct usdt_result r;

		ck_assert_msg(args.arg[0].kind == RP_USDT_UNKNOWN, "%s", refused[i].text);
		ck_assert_msg(args.arg[0].why && strstr(args.arg[0].why, refused[i].why), "%s: %s",
			      refused[i].text, args.arg[0].why);
		usdt_run(&args, 1, 0, 0, &r);
		ck_assert_uint_eq(r.values[0], 0);
		ck_assert_uint_eq(r.failed & 1, 1);
	}
}
END_TEST

/* ---- several */

START_TEST(twelve_of_them_and_no_more)
{
	struct rp_usdt_args args =
		parse(EM_X86_64, "  1@$1 1@$2 1@$3  1@$4 1@$5 1@$6 1@$7 1@$8 1@$9 1@$10 1@$11 "
				 "8@-8(%rsp) ");
	struct usdt_result r;

	ck_assert_uint_eq(args.n, 12);
	ck_assert_uint_eq(args.arg[11].kind, RP_USDT_MEMORY);
	ck_assert_uint_eq(args.arg[2].length, 4);
	ck_assert(!memcmp(args.arg[2].text, "1@$3", 4));
	usdt_run(&args, 1, 0, 0, &r);
	for (uint32_t i = 0; i < 11; i++)
		ck_assert_uint_eq(r.values[i], i + 1);
	args = parse(EM_X86_64, "1@$1 1@$2 1@$3 1@$4 1@$5 1@$6 1@$7 1@$8 1@$9 1@$1 1@$1 1@$1 1@$1");
	ck_assert_uint_eq(args.n, 13);
	args = parse(EM_X86_64, "");
	ck_assert_uint_eq(args.n, 0);
	args = parse(EM_AARCH64, "8@[sp, 16] 4@[x1, w2, sxtw 2] -4@w3");
	ck_assert_uint_eq(args.n, 3);
	ck_assert_uint_eq(args.arg[2].kind, RP_USDT_REGISTER);
}
END_TEST

/* R0 says which place it is, however many there are; one beyond them is the last. */
START_TEST(each_place_has_its_lines)
{
	struct rp_usdt_args args[70];
	char text[70][16];

	for (uint32_t i = 0; i < 70; i++) {
		snprintf(text[i], sizeof(text[i]), "4@$%u", 1000 + i);
		args[i] = parse(EM_X86_64, text[i]);
	}
	for (uint32_t n = 1; n <= 70; n += n < 8 ? 1 : 31) {
		for (uint32_t i = 0; i < n; i++) {
			struct usdt_result r;

			usdt_run(args, n, i, 0, &r);
			ck_assert_uint_eq(r.values[0], 1000 + i);
		}
	}
}
END_TEST

/* A place that has fewer arguments than another: those are 0, and failed. */
START_TEST(a_missing_argument_has_failed)
{
	const struct rp_usdt_args args[] = { parse(EM_X86_64, "4@$1 4@$2"),
					     parse(EM_X86_64, "4@$3") };
	struct usdt_result r;

	usdt_run(args, 2, 0, 0, &r);
	ck_assert_uint_eq(r.failed, 0);
	ck_assert_uint_eq(r.values[1], 2);
	usdt_run(args, 2, 1, 0, &r);
	ck_assert_uint_eq(r.failed, 2);
	ck_assert_uint_eq(r.values[0], 3);
	ck_assert_uint_eq(r.values[1], 0);
}
END_TEST

START_TEST(what_cannot_be_read_has_failed)
{
	const struct rp_usdt_args args =
		parse(EM_X86_64, "8@-1(%rip_no) 8@(%rdi) -4@$7 8@counter(%rip)");
	struct usdt_result r;

	usdt_no_memory = true;
	usdt_run(&args, 1, 0, 4 | 8, &r);
	usdt_no_memory = false;
	ck_assert_uint_eq(r.failed, 1 | 2 | 8 | 4 << 16 | 8 << 16);
	ck_assert_uint_eq(r.values[1], 0);
	ck_assert_uint_eq(r.values[2], 7);
	ck_assert_str_eq(r.texts[0], "");
}
END_TEST

START_TEST(strings_lie_one_after_the_other)
{
	const struct rp_usdt_args args = parse(EM_X86_64, "8@%rax 8@%rdi 4@$3 8@%rsi");
	struct usdt_result r;
	char expected[USDT_TEXT];

	usdt_run(&args, 1, 0, 2 | 8, &r);
	ck_assert_uint_eq(r.failed, 0);
	usdt_text(usdt_reg(112), expected);
	ck_assert_str_eq(r.texts[0], expected);
	usdt_text(usdt_reg(104), expected);
	ck_assert_str_eq(r.texts[1], expected);
}
END_TEST

/* Where the values have been read before: they stay, and what failed is added to. */
START_TEST(strings_alone)
{
	const struct rp_usdt_args args = parse(EM_X86_64, "8@%rax 8@%rdi 4@$3");
	struct rp_usdt_reader reader = { .places = &args,
					 .n = 1,
					 .nargs = 3,
					 .ctx = R6,
					 .to = R7,
					 .values = offsetof(struct usdt_result, values),
					 .failed = offsetof(struct usdt_result, failed),
					 .texts = offsetof(struct usdt_result, texts),
					 .strings = 2,
					 .text_size = USDT_TEXT,
					 .texts_only = true };
	struct usdt_result r = { .values = { 7, 0x1234, 9 }, .failed = 5 };
	char expected[USDT_TEXT];

	usdt_run_reader(&reader, 0, &r);
	ck_assert_uint_eq(r.values[0], 7);
	ck_assert_uint_eq(r.values[1], 0x1234);
	ck_assert_uint_eq(r.failed, 5);
	usdt_text(0x1234, expected);
	ck_assert_str_eq(r.texts[0], expected);
	usdt_no_memory = true;
	usdt_run_reader(&reader, 0, &r);
	usdt_no_memory = false;
	ck_assert_uint_eq(r.failed, 5 | 2 << 16);
	ck_assert_str_eq(r.texts[0], "");
}
END_TEST

START_TEST(equal_arguments_are_seen)
{
	struct rp_usdt_args a = parse(EM_X86_64, "4@%eax 8@-8(%rbp)"),
			    b = parse(EM_X86_64, "4@%eax  8@-8(%rbp)"),
			    c = parse(EM_X86_64, "-4@%eax 8@-8(%rbp)"),
			    d = parse(EM_X86_64, "4@%eax 8@-16(%rbp)"),
			    e = parse(EM_X86_64, "4@%eax");

	ck_assert(rp_usdt_same(&a, &b));
	ck_assert(!rp_usdt_same(&a, &c));
	ck_assert(!rp_usdt_same(&a, &d));
	ck_assert(!rp_usdt_same(&a, &e));
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
	const struct rp_usdt_args args = parse(EM_X86_64, "4@%eax");
	struct rp_usdt_reader r = { .places = &args,
				    .n = 1,
				    .nargs = 1,
				    .ctx = R6,
				    .to = R10,
				    .values = -16,
				    .failed = -24 };
	struct rp_usdt_code *code = NULL;

	r.ctx = R1;
	ck_assert_int_eq(rp_usdt_compile(&r, &code), -EINVAL);
	r.ctx = R10;
	ck_assert_int_eq(rp_usdt_compile(&r, &code), -EINVAL);
	r.ctx = R6;
	r.to = R6;
	ck_assert_int_eq(rp_usdt_compile(&r, &code), -EINVAL);
	r.to = R10;
	r.nargs = 13;
	ck_assert_int_eq(rp_usdt_compile(&r, &code), -EINVAL);
	r.nargs = 1;
	r.strings = 1;
	ck_assert_int_eq(rp_usdt_compile(&r, &code), -EINVAL);
	r.strings = 0;
	r.n = 0;
	ck_assert_int_eq(rp_usdt_compile(&r, &code), -EINVAL);
	ck_assert_ptr_null(code);
}
END_TEST

/* More places than a jump reaches over. */
START_TEST(too_many_places_are_refused)
{
	enum { MANY = 4000 };
	struct rp_usdt_args *args = calloc(MANY, sizeof(*args));
	struct rp_usdt_reader r = { .places = args,
				    .n = MANY,
				    .nargs = 1,
				    .ctx = R6,
				    .to = R10,
				    .values = -16,
				    .failed = -24 };
	struct rp_usdt_code *code = NULL;

	ck_assert_ptr_nonnull(args);
	for (size_t i = 0; i < MANY; i++)
		args[i] = parse(EM_X86_64, "8@(%rdi,%rsi,4)");
	ck_assert_int_eq(rp_usdt_compile(&r, &code), -E2BIG);
	ck_assert_ptr_null(code);
	free(args);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("arguments of USDT probes");
	TCase *tc = tcase_create("text to lines");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, registers_of_x86);
	tcase_add_test(tc, constants);
	tcase_add_test(tc, memory_of_x86);
	tcase_add_test(tc, arm64);
	tcase_add_test(tc, what_is_not_understood_is_said);
	tcase_add_test(tc, twelve_of_them_and_no_more);
	tcase_add_test(tc, each_place_has_its_lines);
	tcase_add_test(tc, a_missing_argument_has_failed);
	tcase_add_test(tc, what_cannot_be_read_has_failed);
	tcase_add_test(tc, strings_lie_one_after_the_other);
	tcase_add_test(tc, strings_alone);
	tcase_add_test(tc, equal_arguments_are_seen);
	tcase_add_test(tc, what_makes_no_sense_is_refused);
	tcase_add_test(tc, too_many_places_are_refused);
	suite_add_tcase(s, tc);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
