/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Command lines: each line of the input is a word, the first says of which command. What is
 * accepted can be recorded with.
 */
#include <math.h>

#include "cli/commands.h"
#include "programs/shared/stack.h"
#include "fuzz.h"

enum { WORDS = 12 };

static void check(const struct options *opt)
{
	const struct record_options *r = &opt->record;

	fuzz_check(opt->format && opt->format->name);
	fuzz_check(isfinite(r->duration) && r->duration >= 0 && isfinite(r->interval));
	fuzz_check(!(r->freq && r->period) && r->freq <= 10000000);
	fuzz_check(r->max_stack.innermost <= STACK_DEEPEST);
	fuzz_check(!r->max_stack.outermost ||
		   r->max_stack.innermost + r->max_stack.outermost <= UNWIND_FRAMES);
	fuzz_check(!(r->pids.n && r->tids.n) && !(r->user_only && r->kernel_only));
	fuzz_check(!r->program || r->program[0]);
	for (uint32_t i = 0; i < r->pids.n; i++)
		fuzz_check(r->pids.id[i] > 0 && r->pids.id[i] <= INT32_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };
	char *words[WORDS + 1] = { NULL }, *mine[WORDS];
	struct options opt = { 0 };
	const struct command *c;
	int n = 0, status;

	while (commands[n])
		n++;
	c = commands[fuzz_below(&in, (uint64_t)n)];
	n = 0;
	opt.command = c->name;
	mine[n] = words[n] = strdup("command");
	for (n = 1; n < WORDS && in.at < in.end; n++)
		mine[n] = words[n] = fuzz_text(&in);
	status = options_parse(&opt, n, words, c);
	fuzz_check(status == -1 || status == EXIT_DONE || status == EXIT_USAGE);
	if (status == -1)
		check(&opt);
	options_free(&opt, c);
	while (n--)
		free(mine[n]);
	return 0;
}
