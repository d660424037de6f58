/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which waits offcpu takes when it takes some for all, and as how many each of them counts.
 *
 * Waits are many, and to walk a stack takes longer than most of them last. With sample_ns, T, a
 * thread that waits for a time t each time has its stack walked at about t of T waits, and at all
 * that are longer than T; a wait that is drawn counts as many times as it was unlikely to be.
 *
 * Nobody knows t when the thread leaves, which is when its stack is there to be walked. So its last
 * wait has to do: whether this one is drawn, with a chance of 1 in 2^odds, is decided before it is
 * known how long it will be, and whatever it turns out to be, it weighs 2^odds. On average that is
 * what it is worth: a wrong guess makes a sum noisier, never larger or smaller. As a power of two
 * the weight is a whole number, and the sums are, too.
 *
 *	last wait	T and longer	T/2	T/4	T/8	below
 *	odds		0		1	2	3	4
 *	drawn		always		1 of 2	1 of 4	1 of 8	1 of 16
 *	counts as	1		2	4	8	16
 *
 * Fewer than one of 16 would be cheaper, and a long wait behind many short ones worse guessed.
 */
#ifndef PROGRAMS_THREADS_ODDS_H
#define PROGRAMS_THREADS_ODDS_H

#define ODDS_MOST 4

/* R3 = the odds of what follows a wait of R2, which is lost; R4 = T. */
#define ODDS_AFTER                                                                                 \
	SCOPE("ODDS_AFTER"), MOV(R3, 0), ODDS_STEP, ODDS_STEP, ODDS_STEP, ODDS_STEP, LABEL(.done), \
		END
#define ODDS_STEP JGE_REG(R2, R4, .done), LSH(R2, 1), ADD(R3, 1)

/* R0 = 0 if it is drawn, with the odds that are at @thread + @at. R1 to R5 are lost. */
#define ODDS_DRAW(thread, at)                                                                      \
	SCOPE("ODDS_DRAW(" #thread ", " #at ")"), CALL(get_prandom_u32), LDX(W, R1, thread, at),   \
		MOV(R2, 1), LSH_REG(R2, R1), SUB(R2, 1), AND_REG(R0, R2), END

/* dst is what counts so many times with these odds: it is drawn. */
#define ODDS_WEIGH(dst, odds) LSH_REG(dst, odds)

#endif
