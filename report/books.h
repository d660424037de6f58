/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * books.h: what every result has beside its figures, be it a profile, histograms or a grid: what was
 * recorded, whether every event is accounted for, and what the recording cost.
 */
#ifndef REPORT_BOOKS_H
#define REPORT_BOOKS_H

#include <rawprof/report.h>

#include "buf.h"

struct books {
	struct report_info info;     /* texts are owned */
	struct report_ledger ledger; /* lines and their names are owned */
	struct report_cost cost;
	bool has_ledger, has_cost;
};

/* 0 or -ENOMEM, and then the books are as before. */
int report_ledger_set_info(struct books *books, const struct report_info *info);
int report_ledger_set_ledger(struct books *books, const struct report_ledger *ledger);
void report_ledger_set_cost(struct books *books, const struct report_cost *cost);
void report_ledger_free(struct books *books);

void report_add_ledger(struct buf *b, const struct report_ledger *ledger,
		       const char *events); /* lines */

/* For a person: an empty line, the note, the ledger, the cost, as far as they are there. */
void report_ledger_print(struct out *out, const struct books *books, const char *events);

/* "rawprof cpu: whole machine"; printable. */
void report_add_title(struct buf *b, const struct report_info *info);
/* "1,980 samples of cpu-clock at 99 Hz in 10.0 s on 2 CPUs", as far as known; printable. */
void report_add_circumstances(struct buf *b, const struct report_info *info, uint64_t count,
			      const char *events);

#endif
