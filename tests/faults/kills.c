/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kills.c: SIGKILL at random moments of all commands. Two seconds later nothing may be left in the
 * kernel, and what was looked at has to go on as if nothing had been.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "left.h"
#include "main.h"

/* By the first most runs have ended; one kill in eight may come as late as the second. */
enum { SHORT_USEC = 350000, LONG_USEC = 2000000, SECONDS_TO_GO = 2 };

struct kill {
	unsigned int row, usec;
	struct outcome out;
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 16;
}

static void one(struct worker *w, unsigned int i, void *ctx)
{
	struct kill *k = &((struct kill *)ctx)[i];
	struct run run = { .row = &rows[k->row], .mode = RUN_KILL, .kill_usec = k->usec };

	worker_run(w, &run, &k->out, "");
}

int kills_main(void)
{
	struct kill *kills = shared_memory(options.kills * sizeof(*kills));
	uint64_t random = options.seed * 0x9e3779b97f4a7c15ULL | 1;
	unsigned int failed = 0, killed = 0;
	char left[400];

	left_begin();
	for (unsigned int i = 0; i < options.kills; i++) {
		do
			kills[i].row = (unsigned int)(next_random(&random) % nrows);
		while (!row_chosen(kills[i].row));
		kills[i].usec =
			(unsigned int)(next_random(&random) % (i % 8 ? SHORT_USEC : LONG_USEC));
	}
	in_parallel(options.kills, one, kills);
	sleep(SECONDS_TO_GO);
	for (unsigned int i = 0; i < options.kills; i++) {
		killed += WIFSIGNALED(kills[i].out.status);
		if (kills[i].out.verdict == RIGHT)
			continue;
		failed++;
		printf("FAIL after %u us of rawprof %s: %s\n", kills[i].usec,
		       rows[kills[i].row].args, kills[i].out.why);
	}
	if (left_since(left, sizeof(left))) {
		failed++;
		printf("FAIL left in the kernel: %s\n", left);
	}
	printf("%u runs, %u of them killed before their end, seed %u\n", options.kills, killed,
	       options.seed);
	printf("%u passed, %u failed, 0 skipped\n", options.kills + 1 - failed, failed);
	return failed > 0;
}
