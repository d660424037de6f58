/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stages SECONDS [FUNCTION PERCENT]: eight functions below three callers, called at random, each
 * with a fixed share of the calls; one of them works so many percent longer. For as much CPU time,
 * or, with SECONDS 0, for 20,000 calls.
 */
#include <string.h>

#include "work.h"

enum { SCAN, HASH, SORT, DRAW, BLEND, PACK, CHECK, COPY, FUNCTIONS };

static const struct {
	const char *name;
	unsigned int percent; /* of all calls */
} functions[FUNCTIONS] = {
	{ "scan", 20 },	 { "hash", 16 }, { "sort", 14 }, { "draw", 12 },
	{ "blend", 12 }, { "pack", 10 }, { "check", 9 }, { "copy", 7 },
};
static uint64_t percent_of[FUNCTIONS]; /* of the usual work */

/* Some 15 us. */
static inline __attribute__((always_inline)) void work(unsigned int i)
{
	for (uint64_t n = 500 * percent_of[i]; n; n--)
		__asm__ volatile("" ::: "memory");
}

/* clang-format off */
static NOINLINE void scan(void) { work(SCAN); }
static NOINLINE void hash(void) { work(HASH); }
static NOINLINE void sort(void) { work(SORT); }
static NOINLINE void draw(void) { work(DRAW); }
static NOINLINE void blend(void) { work(BLEND); }
static NOINLINE void pack(void) { work(PACK); }
static NOINLINE void check(void) { work(CHECK); }
static NOINLINE void copy(void) { work(COPY); }
/* clang-format on */

static NOINLINE void parse(unsigned int which)
{
	if (which == SCAN)
		scan();
	else if (which == HASH)
		hash();
	else
		check();
}

static NOINLINE void render(unsigned int which)
{
	if (which == DRAW)
		draw();
	else if (which == BLEND)
		blend();
	else
		sort();
}

static NOINLINE void store(unsigned int which)
{
	if (which == PACK)
		pack();
	else
		copy();
}

/* At random, for a program that goes in rounds keeps step with some sampling rate. */
static unsigned int choose(uint64_t *state)
{
	unsigned int left = (unsigned int)((next_random(state) >> 32) % 100), i = 0;

	for (; left >= functions[i].percent; i++)
		left -= functions[i].percent;
	return i;
}

int main(int argc, char **argv)
{
	const double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	const uint64_t end = thread_cpu_ns() + (uint64_t)(seconds * 1e9);
	uint64_t state = thread_cpu_ns() | 1;

	for (int i = 0; i < FUNCTIONS; i++) {
		percent_of[i] = 100;
		if (argc > 3 && !strcmp(argv[2], functions[i].name))
			percent_of[i] += strtoull(argv[3], NULL, 10);
	}
	for (int n = 0; seconds > 0 ? n % 16 || thread_cpu_ns() < end : n < 20000; n++) {
		const unsigned int which = choose(&state);

		if (which == SCAN || which == HASH || which == CHECK)
			parse(which);
		else if (which == PACK || which == COPY)
			store(which);
		else
			render(which);
	}
	return 0;
}
