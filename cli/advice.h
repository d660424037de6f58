/* SPDX-License-Identifier: BSD-2-Clause */
/* What a result suggests, found while it is written and said at the end, on standard error. */
#ifndef CLI_ADVICE_H
#define CLI_ADVICE_H

#include "options.h"

/* Each adds to what is said, unless the options want nothing of it. */
void advice_of_report(const struct options *opt, const struct report *r,
		      const struct report_options *show, struct report_advice *advice);
void advice_of_hists(const struct options *opt, const struct report_hists *set,
		     struct report_advice *advice);
void advice_of_grid(const struct options *opt, const struct report_grid *g,
		    struct report_advice *advice);

/* Prints and forgets it. */
void advice_print(struct report_advice *advice);

#endif
