/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What lines may cost of files that are read here: so much time and work for a file, and time for
 * all. Who asks has at most half of what other askers have left, of each: whoever makes up stacks
 * that lie all over a file of root's takes its lines from nobody else. Root is denied nothing.
 */
#ifndef SYMBOLIZE_LINES_BUDGET_H
#define SYMBOLIZE_LINES_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/budget.h"
#include "base/hash.h"

/* Of one file. All zeroes to begin with. */
struct sym_lines_budget {
	struct rp_work work;
	uint64_t ns; /* of CPU time, so far */
	struct hash_map askers;
};

/* From now on: 0: root, or who pays nothing, which it is to begin with. */
void sym_lines_asked_by(uint32_t uid);
/* Who asks has time for one more file. */
bool sym_lines_may_open(void);
/* There is time and work for the file. */
bool sym_lines_may_go_on(const struct sym_lines_budget *b);
/* And who asks may have of it. */
bool sym_lines_may_ask(const struct sym_lines_budget *b);

struct sym_lines_mark {
	uint64_t ns, work;
};
struct sym_lines_mark sym_lines_mark(const struct sym_lines_budget *b);
/* Since then so much was spent on the file. */
void sym_lines_charge(struct sym_lines_budget *b, struct sym_lines_mark since);
/* In a process of its own: what was spent before is another's. */
void sym_lines_begin_anew(void);

#endif
