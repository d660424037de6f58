/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deep [SECONDS]: two threads go through 20,000 different stacks of 25 frames for that long.
 *
 * Stack n (0 to 19,999) spells the five decimal digits of n five times over: for 12345 it is
 * f1;f2;f3;f4;f5;f1;…;f5;leaf. So a stack tells by itself whether it is whole and unmixed, and the
 * stacks of a profile can be counted: all 20,000 may occur, and nothing else may end in "leaf".
 *
 * Each visit burns 250 us of CPU time in leaf(), longer than the 200 us between two samples at
 * 4,999 Hz. Even stacks are the first thread's, odd ones the second's, in an order that a different
 * stride shuffles in each round. Prints the number of visits.
 */
#include <pthread.h>
#include <stdio.h>

#include "work.h"

enum { STACKS = 20000, HALF = STACKS / 2, DIGITS = 5, REPEATS = 5, VISIT_NS = 250000 };

typedef void frame_fn(const int *digits, int depth);

NOINLINE static void leaf(void)
{
	burn_until(thread_cpu_ns() + VISIT_NS);
	__asm__ volatile("");
}

static frame_fn *const frames[10];

/* Ten functions that do the same and must not be folded into one. */
#define FRAME(n)                                                                                   \
	NOINLINE static void f##n(const int *digits, int depth)                                    \
	{                                                                                          \
		__asm__ volatile("" ::"i"(n));                                                     \
		if (depth == DIGITS * REPEATS)                                                     \
			leaf();                                                                    \
		else                                                                               \
			frames[digits[depth % DIGITS]](digits, depth + 1);                         \
		__asm__ volatile("");                                                              \
	}
FRAME(0)
FRAME(1)
FRAME(2)
FRAME(3)
FRAME(4)
FRAME(5)
FRAME(6)
FRAME(7)
FRAME(8)
FRAME(9)
static frame_fn *const frames[10] = { f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 };

static double wall_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

struct walk {
	pthread_t thread;
	int parity;
	double end;
	long visits;
};

NOINLINE static void visit(int n)
{
	int digits[DIGITS];

	for (int i = DIGITS - 1, rest = n; i >= 0; i--, rest /= 10)
		digits[i] = rest % 10;
	frames[digits[0]](digits, 1);
	__asm__ volatile("");
}

static void *walk(void *arg)
{
	struct walk *w = arg;

	for (int round = 0;; round++) {
		/* Any stride that shares no factor with HALF = 2^4 * 5^4 goes through all. */
		int stride = 3333 + 20 * round;

		while (stride % 2 == 0 || stride % 5 == 0)
			stride++;
		for (int i = 0, n = 0; i < HALF; i++, n = (n + stride) % HALF) {
			if (wall_seconds() >= w->end)
				return NULL;
			visit(2 * n + w->parity);
			w->visits++;
		}
	}
}

int main(int argc, char **argv)
{
	double end = wall_seconds() + seconds_arg(argc, argv, 1, 10);
	struct walk walks[2] = { { .parity = 0, .end = end }, { .parity = 1, .end = end } };

	for (int i = 0; i < 2; i++) {
		if (pthread_create(&walks[i].thread, NULL, walk, &walks[i]))
			return 1;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(walks[i].thread, NULL);
	printf("%ld\n", walks[0].visits + walks[1].visits);
	return 0;
}
