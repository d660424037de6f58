/* SPDX-License-Identifier: BSD-2-Clause */
/* A rule of advice as a row: its name, from where on it speaks, what it says, how it finds that. */
#ifndef REPORT_ADVICE_ADVICE_H
#define REPORT_ADVICE_ADVICE_H

#include <rawprof/grid.h>
#include <rawprof/hist.h>

#include "report/write.h"

#define ADVICE_WORDS 5

/* What is looked at: one of the three. */
struct advice_view {
	const struct report *r;
	const struct report_hists *hists;
	const struct report_grid *grid;

	/* of a profile */
	const struct report_options *options;
	report_package *package;
	bool asked_debuginfod;
	const char *unit;	/* of the weight */
	const char *type;	/* "samples", "alloc_space" */
	const char *command;	/* "cpu"; "" */
	uint64_t whole;		/* the weight of all */
	uint64_t *self, *nodes; /* of each function, of each node of the trie */
};

struct advice_rule {
	const char *name;
	const char *commands; /* of a profile: "cpu wall"; NULL: all */
	double threshold;     /* percent, unless it says otherwise */
	const char *text;     /* "1" to "5" behind a '%' are the words */
	/* Fills the words. False: there is nothing to say. */
	bool (*find)(const struct advice_view *v, double threshold, struct buf words[ADVICE_WORDS]);
};

extern const struct advice_rule report_advice_rules[]; /* ends with a NULL name */

/* profile.c, figures.c: what the rules call. */
#define ADVICE_FINDER(name)                                                                        \
	bool report_advice_##name(const struct advice_view *v, double threshold,                   \
				  struct buf words[ADVICE_WORDS])
ADVICE_FINDER(hot);
ADVICE_FINDER(temporary);
ADVICE_FINDER(preempted);
ADVICE_FINDER(unnamed);
ADVICE_FINDER(node);
ADVICE_FINDER(cut);
ADVICE_FINDER(throttled);
ADVICE_FINDER(tail);
ADVICE_FINDER(lock);

#endif
