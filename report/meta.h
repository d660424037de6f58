/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every result has beside its figures, be it a profile, histograms or a grid: what was
 * recorded, whether every event is accounted for, and what the recording cost.
 */
#ifndef REPORT_META_H
#define REPORT_META_H

#include <rawprof/report.h>

#include "buf.h"

struct report_meta {
	struct report_info info;     /* texts are owned */
	struct report_ledger ledger; /* lines and their names are owned */
	struct report_cost cost;
	bool has_ledger, has_cost;
};

/* Text number i of it, in the order that saved files have; NULL: there are no more. */
const char **report_info_text(struct report_info *info, size_t i);
/* 0 or -ENOMEM, and then the meta are as before. */
int report_meta_set_info(struct report_meta *meta, const struct report_info *info);
int report_meta_set_ledger(struct report_meta *meta, const struct report_ledger *ledger);
void report_meta_set_cost(struct report_meta *meta, const struct report_cost *cost);
void report_meta_free(struct report_meta *meta);

void report_add_ledger(struct buf *b, const struct report_ledger *ledger,
		       const char *events); /* lines */

/* For a person: an empty line, the note, the ledger, the cost, as far as they are there. */
void report_meta_print(struct out *out, const struct report_meta *meta, const char *events);

/* "rawprof cpu: whole machine"; printable. */
void report_add_title(struct buf *b, const struct report_info *info);
/* "1,980 samples of cpu-clock at 99 Hz in 10.0 s on 2 CPUs", as far as known; printable. */
void report_add_circumstances(struct buf *b, const struct report_info *info, uint64_t count,
			      const char *events);

#endif
