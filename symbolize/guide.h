/* SPDX-License-Identifier: BSD-2-Clause */
/* A head start for searches in many spans. */
#ifndef SYMBOLIZE_GUIDE_H
#define SYMBOLIZE_GUIDE_H

#include "spans.h"

/*
 * The addresses from the first span's start to the last one's are cut into pieces of 1 << shift
 * bytes, about two spans to a piece; below[i] is how many spans start below piece i. So the last
 * span that starts at or below an address of piece i is among [below[i] - 1, below[i + 1]): a
 * search over all would miss the cache at nearly every step.
 */
struct sym_guide {
	uint64_t base;
	uint32_t *below; /* pieces + 1; NULL: none was made, all are searched */
	uint32_t pieces;
	unsigned int shift;
};

/* For flattened @spans. Without memory there is none, and finding takes longer. */
void sym_guide_make(struct sym_guide *g, const struct sym_span *spans, size_t n);
void sym_guide_free(struct sym_guide *g);

/* As sym_spans_find(), in the spans that @g was made for. */
const struct sym_span *sym_guide_find(const struct sym_guide *g, const struct sym_span *spans,
				      size_t n, uint64_t addr);

#endif
