/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * usdt_probes.h, so many times over: usdt all 3; or a hot probe, which says how long one pass takes
 * in ns: usdt hot 1000000; or pairs of begin and end with a known time between: usdt pairs 20 MS;
 * or usdt wait, until it is told to end, saying "heard" when somebody listens to shop:heard and
 * "unheard" when nobody does any more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "usdt_probes.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static void hot(long i, const char *text)
{
	USDT2(NONE, "shop", "hot", i, text);
}

static void nap(long ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static void pair(long i, long ms)
{
	USDT1(NONE, "shop", "begin", i);
	nap(ms);
	USDT1(NONE, "shop", "end", i);
}

__attribute__((noreturn)) static void wait_for_listeners(void)
{
	for (bool heard = false;; nap(1)) {
		if (usdt_pass_guarded(usdt_five) == heard)
			continue;
		heard = !heard;
		puts(heard ? "heard" : "unheard");
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "all";
	const long n = argc > 2 ? atol(argv[2]) : 1;
	const uint64_t begin = now_ns();

	if (!strcmp(what, "wait"))
		wait_for_listeners();
	for (long i = 0; i < n; i++) {
		if (!strcmp(what, "hot"))
			hot(i, "bread");
		else if (!strcmp(what, "pairs"))
			pair(i, argc > 3 ? atol(argv[3]) : 1);
		else
			usdt_pass_all();
	}
	if (!strcmp(what, "hot"))
		printf("%.1f\n", (double)(now_ns() - begin) / (double)(n ? n : 1));
	return 0;
}
