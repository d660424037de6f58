/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes of every kind, with what their arguments are: of 0 to 12, of all sizes and signs, in
 * registers, in memory and constant; inlined in several places; with a semaphore; strings.
 */
#ifndef TESTS_USDT_PROBES_H
#define TESTS_USDT_PROBES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "usdt.h"

USDT_SEMAPHORE(shop_heard_semaphore);

/* What the arguments of "shop:argsN" are, widened to 64 bits. */
static const uint64_t usdt_values[12] = {
	(uint64_t)-5,		     /* int8_t */
	0xfe,			     /* uint8_t */
	(uint64_t)-30001,	     /* int16_t */
	0xfffd,			     /* uint16_t */
	(uint64_t)-2000000001,	     /* int32_t */
	0xfffffffc,		     /* uint32_t */
	(uint64_t)-7000000000000001, /* int64_t */
	0xfedcba9876543210,	     /* uint64_t */
	11,			     /* a constant int */
	(uint64_t)-12,		     /* a constant long */
	0x8899aabbccddeeff,	     /* in memory, by an index */
	'x',			     /* char, in memory */
};

/* Kept from the optimiser: each is read when it is needed, and lands in a register. */
struct usdt_sources {
	volatile int8_t a;
	volatile uint8_t b;
	volatile int16_t c;
	volatile uint16_t d;
	volatile int32_t e;
	volatile uint32_t f;
	volatile int64_t g;
	volatile uint64_t h;
	uint64_t table[8];
	char letters[4];
};

static struct usdt_sources usdt_sources = { -5,
					    0xfe,
					    -30001,
					    0xfffd,
					    -2000000001,
					    0xfffffffc,
					    -7000000000000001,
					    0xfedcba9876543210,
					    { 1, 2, 3, 0x8899aabbccddeeff },
					    { 'a', 'x', 'b' } };

/* Which is not known when the program is compiled. */
static volatile uint32_t usdt_index = 3;
static volatile int32_t usdt_twenty = 20, usdt_five = 5;

#define USDT_LOCALS                                                                                \
	const int8_t a = usdt_sources.a;                                                           \
	const uint8_t b = usdt_sources.b;                                                          \
	const int16_t c = usdt_sources.c;                                                          \
	const uint16_t d = usdt_sources.d;                                                         \
	const int32_t e = usdt_sources.e;                                                          \
	const uint32_t f = usdt_sources.f;                                                         \
	const int64_t g = usdt_sources.g;                                                          \
	const uint64_t h = usdt_sources.h;                                                         \
	const uint64_t *const table = usdt_sources.table;                                          \
	const char *const letters = usdt_sources.letters;                                          \
	const uint64_t at = usdt_index

__attribute__((noinline)) static void usdt_pass_few(void)
{
	USDT_LOCALS;

	USDT0(NONE, "shop", "args0");
	USDT1(NONE, "shop", "args1", a);
	USDT2(NONE, "shop", "args2", a, b);
	USDT3(NONE, "shop", "args3", a, b, c);
	USDT4(NONE, "shop", "args4", a, b, c, d);
	USDT5(NONE, "shop", "args5", a, b, c, d, e);
	USDT6(NONE, "shop", "args6", a, b, c, d, e, f);
	(void)g, (void)h, (void)table, (void)letters, (void)at;
}

__attribute__((noinline)) static void usdt_pass_many(void)
{
	USDT_LOCALS;

	USDT7(NONE, "shop", "args7", a, b, c, d, e, f, g);
	USDT8(NONE, "shop", "args8", a, b, c, d, e, f, g, h);
	USDT9(NONE, "shop", "args9", a, b, c, d, e, f, g, h, 11);
	USDT10(NONE, "shop", "args10", a, b, c, d, e, f, g, h, 11, -12L);
	USDT11(NONE, "shop", "args11", a, b, c, d, e, f, g, h, 11, -12L, table[at]);
	USDT12(NONE, "shop", "args12", a, b, c, d, e, f, g, h, 11, -12L, table[at],
	       letters[at - 2]);
}

/* One probe in several places, each with its argument elsewhere. */
static inline __attribute__((always_inline)) void usdt_inlined(uint64_t value, int32_t where)
{
	USDT2(NONE, "shop", "inlined", value, where);
}

__attribute__((noinline)) static void usdt_pass_inlined(uint64_t value, const uint64_t *there)
{
	volatile uint64_t here = 30;

	usdt_inlined(10, 1);
	usdt_inlined(value, 2);
	usdt_inlined(here, 3);
	usdt_inlined(there[usdt_index], 4);
}

__attribute__((noinline)) static bool usdt_pass_guarded(int value)
{
	if (!shop_heard_semaphore)
		return false;
	USDT1(shop_heard_semaphore, "shop", "heard", value);
	return true;
}

__attribute__((noinline)) static void usdt_pass_text(const char *text, uint32_t length)
{
	USDT2(NONE, "shop", "text", text, length);
}

/* A variable with an address of its own, and what no probe can see: a constraint of our own. */
#if defined(__x86_64__)
__attribute__((used)) static int64_t usdt_counter = -77;

__attribute__((noinline)) static void usdt_pass_odd(double number)
{
	__asm__ volatile(
		USDT_NOTE(NONE, "shop", "odd",
			  "-8@usdt_counter(%%rip) 8f@%[number] 8f@%[vector] 8@%%fs:16 -1@%%ah")::
			[number] "m"(number),
		[vector] "x"(number), "a"(0xf600));
}
#endif

static inline void usdt_pass_all(void)
{
	static const uint64_t there[4] = { 0, 0, 0, 40 };

	usdt_pass_few();
	usdt_pass_many();
	usdt_pass_inlined((uint64_t)usdt_twenty, there);
	usdt_pass_guarded(usdt_five);
	usdt_pass_text("bread", 5);
#if defined(__x86_64__)
	usdt_pass_odd(2.5);
#endif
}

#endif
