/* SPDX-License-Identifier: BSD-2-Clause */
/* Searches that begin near their end. */
#include <stdlib.h>

#include "guide.h"

enum { SPANS_IN_PIECE = 2 };

void sym_guide_make(struct sym_guide *g, const struct sym_span *spans, size_t n)
{
	uint64_t width = n ? spans[n - 1].start - spans[0].start : 0;
	unsigned int shift = 0;
	size_t piece = 0;

	*g = (struct sym_guide){ 0 };
	if (!n || n > UINT32_MAX)
		return;
	while (width >> shift > n / SPANS_IN_PIECE)
		shift++;
	g->pieces = (width >> shift) + 1;
	g->below = malloc((g->pieces + 1ULL) * sizeof(*g->below));
	if (!g->below)
		return;
	g->base = spans[0].start;
	g->shift = shift;
	for (size_t i = 0; i < n; i++) {
		while (piece <= (spans[i].start - g->base) >> shift)
			g->below[piece++] = i;
	}
	g->below[g->pieces] = n;
}

void sym_guide_free(struct sym_guide *g)
{
	free(g->below);
	*g = (struct sym_guide){ 0 };
}

const struct sym_span *sym_guide_find(const struct sym_guide *g, const struct sym_span *spans,
				      size_t n, uint64_t addr)
{
	uint64_t piece = (addr - g->base) >> g->shift;
	uint32_t first;

	if (!g->below)
		return sym_spans_find(spans, n, addr);
	if (addr < g->base)
		return NULL;
	if (piece >= g->pieces)
		piece = g->pieces - 1;
	first = g->below[piece] ? g->below[piece] - 1 : 0;
	return sym_spans_find(spans + first, g->below[piece + 1] - first, addr);
}
