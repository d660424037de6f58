/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * USDT probes without a package: the notes that sys/sdt.h of SystemTap would leave, by a few lines
 * of assembler. For programs of one file; integers and pointers only.
 *
 *	USDT0(NONE, "shop", "opened");
 *	USDT2(NONE, "shop", "sold", item, price);
 *
 * With a semaphore, which says whether anybody listens:
 *
 *	USDT_SEMAPHORE(shop_sold_semaphore);
 *	if (shop_sold_semaphore)
 *		USDT1(shop_sold_semaphore, "shop", "sold", item);
 */
#ifndef TESTS_USDT_H
#define TESTS_USDT_H

/* To be told how far prelink has moved the file, there is a section of one byte. */
__asm__(".pushsection .stapsdt.base, \"a\"\n"
	"usdt_base_of_file: .byte 0\n"
	".popsection\n");

#define USDT_SEMAPHORE(name)                                                                       \
	__attribute__((section(".probes"))) volatile unsigned short name = 0;                      \
	__asm__(".set usdt_semaphore_" #name ", " #name "\n")
__asm__(".set usdt_semaphore_NONE, 0\n");

/* %n writes minus what it is given: of a signed type -4, else 4. */
#define USDT_BYTES(x) ((__typeof__(x))-1 < (__typeof__(x))1 ? (long)sizeof(x) : -(long)sizeof(x))
#define USDT_IN(i, x) [b##i] "n"(USDT_BYTES(x)), [v##i] "nor"(x)
#define USDT_OUT(i) "%n[b" #i "]@%[v" #i "] "

/* The owner's name and the description are padded to 4 bytes each. */
#define USDT_NOTE(semaphore, provider, name, args)                                                 \
	"1: nop\n"                                                                                 \
	".pushsection .note.stapsdt, \"\", \"note\"\n"                                             \
	".balign 4\n"                                                                              \
	".long 8, 3f - 2f, 3\n"                                                                    \
	".asciz \"stapsdt\"\n"                                                                     \
	"2: .quad 1b, usdt_base_of_file, usdt_semaphore_" #semaphore "\n"                          \
	".asciz \"" provider "\", \"" name "\", \"" args "\"\n"                                    \
	"3: .balign 4\n"                                                                           \
	".popsection\n"
#define USDT(semaphore, provider, name, args, ...)                                                 \
	__asm__ volatile(USDT_NOTE(semaphore, provider, name, args)::__VA_ARGS__)

#define USDT0(s, p, n) USDT(s, p, n, "")
#define USDT1(s, p, n, a) USDT(s, p, n, USDT_OUT(1), USDT_IN(1, a))
#define USDT2(s, p, n, a, b) USDT(s, p, n, USDT_OUT(1) USDT_OUT(2), USDT_IN(1, a), USDT_IN(2, b))
#define USDT3(s, p, n, a, b, c)                                                                    \
	USDT(s, p, n, USDT_OUT(1) USDT_OUT(2) USDT_OUT(3), USDT_IN(1, a), USDT_IN(2, b),           \
	     USDT_IN(3, c))
#define USDT_OUT4 USDT_OUT(1) USDT_OUT(2) USDT_OUT(3) USDT_OUT(4)
#define USDT_IN4(a, b, c, d) USDT_IN(1, a), USDT_IN(2, b), USDT_IN(3, c), USDT_IN(4, d)
#define USDT4(s, p, n, a, b, c, d) USDT(s, p, n, USDT_OUT4, USDT_IN4(a, b, c, d))
#define USDT5(s, p, n, a, b, c, d, e)                                                              \
	USDT(s, p, n, USDT_OUT4 USDT_OUT(5), USDT_IN4(a, b, c, d), USDT_IN(5, e))
#define USDT6(s, p, n, a, b, c, d, e, f)                                                           \
	USDT(s, p, n, USDT_OUT4 USDT_OUT(5) USDT_OUT(6), USDT_IN4(a, b, c, d), USDT_IN(5, e),      \
	     USDT_IN(6, f))
#define USDT_OUT7 USDT_OUT4 USDT_OUT(5) USDT_OUT(6) USDT_OUT(7)
#define USDT_IN7(a, b, c, d, e, f, g)                                                              \
	USDT_IN4(a, b, c, d), USDT_IN(5, e), USDT_IN(6, f), USDT_IN(7, g)
#define USDT7(s, p, n, a, b, c, d, e, f, g) USDT(s, p, n, USDT_OUT7, USDT_IN7(a, b, c, d, e, f, g))
#define USDT8(s, p, n, a, b, c, d, e, f, g, h)                                                     \
	USDT(s, p, n, USDT_OUT7 USDT_OUT(8), USDT_IN7(a, b, c, d, e, f, g), USDT_IN(8, h))
#define USDT9(s, p, n, a, b, c, d, e, f, g, h, i)                                                  \
	USDT(s, p, n, USDT_OUT7 USDT_OUT(8) USDT_OUT(9), USDT_IN7(a, b, c, d, e, f, g),            \
	     USDT_IN(8, h), USDT_IN(9, i))
#define USDT10(s, p, n, a, b, c, d, e, f, g, h, i, j)                                              \
	USDT(s, p, n, USDT_OUT7 USDT_OUT(8) USDT_OUT(9) USDT_OUT(10),                              \
	     USDT_IN7(a, b, c, d, e, f, g), USDT_IN(8, h), USDT_IN(9, i), USDT_IN(10, j))
#define USDT11(s, p, n, a, b, c, d, e, f, g, h, i, j, k)                                           \
	USDT(s, p, n, USDT_OUT7 USDT_OUT(8) USDT_OUT(9) USDT_OUT(10) USDT_OUT(11),                 \
	     USDT_IN7(a, b, c, d, e, f, g), USDT_IN(8, h), USDT_IN(9, i), USDT_IN(10, j),          \
	     USDT_IN(11, k))
#define USDT12(s, p, n, a, b, c, d, e, f, g, h, i, j, k, l)                                        \
	USDT(s, p, n, USDT_OUT7 USDT_OUT(8) USDT_OUT(9) USDT_OUT(10) USDT_OUT(11) USDT_OUT(12),    \
	     USDT_IN7(a, b, c, d, e, f, g), USDT_IN(8, h), USDT_IN(9, i), USDT_IN(10, j),          \
	     USDT_IN(11, k), USDT_IN(12, l))

#endif
