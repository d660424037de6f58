/* SPDX-License-Identifier: BSD-2-Clause */
/* Overlapping ranges of addresses made into disjoint ones, once, so that lookup is a search. */
#ifndef SYMBOLIZE_SPANS_H
#define SYMBOLIZE_SPANS_H

#include <stddef.h>
#include <stdint.h>

struct sym_span {
	uint64_t start;
	uint32_t len; /* start + len does not wrap around */
	uint32_t id;
};

/*
 * @in, sorted by start, becomes @out, sorted and disjoint: where several spans cover an address,
 * the one with the greatest id has it. *out is the caller's to free, NULL if nothing is left.
 * -ENOMEM.
 */
int sym_spans_flatten(const struct sym_span *in, size_t n, struct sym_span **out, size_t *out_n);

/* The span of flattened @spans that has @addr, or NULL. */
const struct sym_span *sym_spans_find(const struct sym_span *spans, size_t n, uint64_t addr);

#endif
