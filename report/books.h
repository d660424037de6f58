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
int books_set_info(struct books *books, const struct report_info *info);
int books_set_ledger(struct books *books, const struct report_ledger *ledger);
void books_set_cost(struct books *books, const struct report_cost *cost);
void books_free(struct books *books);

void add_ledger(struct buf *b, const struct report_ledger *ledger, const char *events); /* lines */

/* For a person: an empty line, the note, the ledger, the cost, as far as they are there. */
void books_print(struct out *out, const struct books *books, const char *events);

/* "rawprof cpu: whole machine"; printable. */
void add_title(struct buf *b, const struct report_info *info);
/* "1,980 samples of cpu-clock at 99 Hz in 10.0 s on 2 CPUs", as far as known; printable. */
void add_circumstances(struct buf *b, const struct report_info *info, uint64_t count,
		       const char *events);

#endif
