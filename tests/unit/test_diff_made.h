/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of diff share: one run a side, what a result says, and chance to make runs by. */
#ifndef TEST_DIFF_MADE_H
#define TEST_DIFF_MADE_H

#include <math.h>

#include "report/diff/diff.h"
#include "test_report.h"

/* Of one run each. */
static inline int new_diff(const struct report *a, const struct report *b,
			   const struct report_diff_options *options, struct report_diff **out)
{
	const struct report_runs x = { &a, 1 }, y = { &b, 1 };

	return report_diff_new(&x, &y, options, out);
}

/* The names with a verdict, by the alphabet. */
static inline char *said(const struct report_diff *d)
{
	static char text[1024];

	*text = '\0';
	for (uint32_t place = 0; place < d->names.count; place++)
		for (uint32_t i = 0; i < d->names.count; i++)
			if (d->rank[i] == place && d->rows[i].verdict != DIFF_SAME)
				sprintf(text + strlen(text), "%s%s", *text ? " " : "",
					diff_text(d, i));
	return text;
}

/* The same numbers in each test. */
static inline double uniform(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) / 9007199254740992.0;
}

static inline double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

#endif
