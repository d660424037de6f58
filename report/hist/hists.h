/* SPDX-License-Identifier: BSD-2-Clause */
/* How histograms lie in memory; for their writers. */
#ifndef REPORT_HISTS_H
#define REPORT_HISTS_H

#include <rawprof/hist.h>

#include "report/meta.h"
#include "report/intern.h"

/*
 * count is the sum of the slots. least and greatest are of the values that were told one by one or
 * together with their sum; where they are in the outermost slots that hold something, they are the
 * true ones. Nothing given: least > greatest. What is in slot `open` may be beyond its end.
 */
struct report_hist {
	unsigned int bits, open;
	uint64_t count, sum, least, greatest;
	uint64_t slots[];
};

/* Values of the labels, as strings of the set; those from nkeys on are 0. */
struct tuple {
	uint32_t value[REPORT_HISTS_MAX_KEYS];
};
SET_ELEMENT(struct tuple, REPORT_HISTS_MAX_KEYS * 4);

#define HISTS_MOST 16384
struct report_hists {
	struct report_meta meta;
	struct report_hists_spec spec; /* texts are owned */
	char *keys[REPORT_HISTS_MAX_KEYS];
	struct strings strings;
	struct hash_map tuples;
	struct report_hist **hists; /* of each tuple; NULL: it has none yet */
	uint32_t cap;
	uint32_t most;	 /* tuples; what has no room is one more, "[others]" */
	uint64_t folded; /* values in that one, of parts before */
};

/* The greatest value that may be in a slot of this histogram. */
static inline uint64_t hist_last(const struct report_hist *h, unsigned int slot)
{
	return slot == h->open ? UINT64_MAX : report_hist_last(slot, h->bits);
}

/* Whether a sum was given; without one there is no mean. */
static inline bool hist_has_sum(const struct report_hist *h)
{
	return h->sum || h->slots[0] == h->count;
}

/* Histograms that hold something, by the texts of their labels, numbers in them as numbers. To be
 * freed; NULL if memory ran out. */
uint32_t *report_hists_sorted(const struct report_hists *set, uint32_t *n);

static inline const char *hists_label(const struct report_hists *set, uint32_t tuple, size_t key)
{
	const struct tuple *t = (const struct tuple *)set->tuples.items + tuple;

	return strings_get(&set->strings, t->value[key]);
}

/* Counts of all of them. */
uint64_t report_hists_total(const struct report_hists *set);

#endif
