/* SPDX-License-Identifier: BSD-2-Clause */
/* One of the two that `rawprof diff` compares: a profile, or those of several runs. */
#ifndef CLI_DIFF_SIDE_H
#define CLI_DIFF_SIDE_H

#include <stdbool.h>

#include <rawprof/report.h>

#include "base/grow.h"

struct diff_side {
	const char *name; /* as it was given */
	char **paths;
	struct report_file *files;
	struct report **parts;	    /* of each what --filter leaves; NULL without */
	const struct report **runs; /* of the files, n of them, and behind these the parts */
	uint32_t n, capacity;
	bool chosen;	     /* the name is a directory or a pattern */
	unsigned int weight; /* which value type is compared */
};

/*
 * The profiles that a name stands for, opened: a file; a directory, for each plain file in it; or a
 * pattern, for each that fits, in the order of their names. 0, or a negative errno and it is
 * said what is wrong; to be freed either way.
 */
int diff_side_open(struct diff_side *side, const char *name);
void diff_side_free(struct diff_side *side);

/* The type of this name, or the one that the maker of the first profile shows (NULL). Likewise. */
int diff_side_choose_weight(struct diff_side *side, const char *type);

/* Leaves of each what fits; *unfit: that is no condition, or nothing of any fits it. Likewise. */
int diff_side_filter(struct diff_side *side, const char *condition, bool *unfit);

/* All of them, or what was left. */
struct report_runs diff_side_runs(const struct diff_side *side, bool filtered);

#endif
