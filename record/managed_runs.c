/* SPDX-License-Identifier: BSD-2-Clause */
/* The runs of managed frames that a record has. */
#include "programs/shared/managed.h"
#include "programs/shared/stack.h"

#include "managed_runs.h"

/* Takes the next run off *at; those at the end may lack their place: it is behind all others. */
static bool take_run(const uint64_t **at, const uint64_t *end, size_t nnative,
		     struct managed_run *run)
{
	*run = (struct managed_run){ .words = *at, .place = nnative, .language = MANAGED_PYTHON };
	while (*at < end && !(**at & MANAGED_PLACE)) {
		*at += end - *at > 1 ? 2 : 1;
		run->n = (size_t)(*at - run->words) / 2;
	}
	if (*at < end) {
		const uint64_t place = **at & (MANAGED_PLACE - 1);

		run->place = place & MANAGED_NUMBER_MASK;
		run->language = (enum managed_language)(place >> MANAGED_LANGUAGE_SHIFT);
		++*at;
	}
	return *at > run->words;
}

void record_find_runs(const struct stack_record *r, struct managed_runs *runs)
{
	const uint64_t *at = r->frames + (r->kernel_bytes + r->user_bytes) / 8;
	const uint64_t *end = at + r->managed_bytes / 8;
	struct managed_run run;

	*runs = (struct managed_runs){ .nnative = r->user_bytes / 8 };
	while (take_run(&at, end, runs->nnative, &run)) {
		if ((unsigned int)run.language >= MANAGED_LANGUAGES)
			continue;
		if (!runs->of[run.language].at)
			runs->of[run.language].at = run.words;
		runs->of[run.language].end = at;
	}
}

bool record_next_run(struct managed_runs *runs, struct managed_run *out)
{
	size_t best = MANAGED_LANGUAGES;
	const uint64_t *after = NULL;

	for (size_t i = 0; i < MANAGED_LANGUAGES; i++) {
		const uint64_t *at = runs->of[i].at;
		struct managed_run run;

		if (!at || !take_run(&at, runs->of[i].end, runs->nnative, &run) ||
		    (best < MANAGED_LANGUAGES && run.place >= out->place))
			continue;
		*out = run;
		best = i;
		after = at;
	}
	if (best < MANAGED_LANGUAGES)
		runs->of[best].at = after;
	return best < MANAGED_LANGUAGES;
}
