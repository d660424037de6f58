/* SPDX-License-Identifier: BSD-2-Clause */
/* One histogram: its buckets, what is in them, percentiles. */
#include <errno.h>

#include "hists.h"
#include "report/report.h"

unsigned int report_hist_slots(unsigned int bits)
{
	return (64 - bits + 1) << bits;
}

/*
 * A value below 2^(bits + 1) is its own slot. Above, the topmost bits + 1 bits of a value tell the
 * slot within its power of two, and how many bits are below them which power.
 */
unsigned int report_hist_slot(uint64_t value, unsigned int bits)
{
	unsigned int log2 = value ? 63 - (unsigned int)__builtin_clzll(value) : 0;
	unsigned int shift = log2 > bits ? log2 - bits : 0;

	return (shift << bits) + (unsigned int)(value >> shift);
}

static unsigned int shift_of(unsigned int slot, unsigned int bits)
{
	return slot >> bits ? (slot >> bits) - 1 : 0;
}

uint64_t report_hist_first(unsigned int slot, unsigned int bits)
{
	unsigned int shift = shift_of(slot, bits);

	return (uint64_t)(slot - (shift << bits)) << shift;
}

uint64_t report_hist_last(unsigned int slot, unsigned int bits)
{
	return report_hist_first(slot, bits) + ((1ULL << shift_of(slot, bits)) - 1);
}

static uint64_t times_saturating(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static void add_count(struct report_hist *h, unsigned int slot, uint64_t n)
{
	h->slots[slot] = add_saturating(h->slots[slot], n);
	h->count = add_saturating(h->count, n);
}

void report_hist_add_sum(struct report_hist *h, uint64_t sum, uint64_t least, uint64_t greatest)
{
	h->sum = add_saturating(h->sum, sum);
	if (least > greatest)
		return;
	if (least < h->least)
		h->least = least;
	if (greatest > h->greatest)
		h->greatest = greatest;
}

void report_hist_add(struct report_hist *h, uint64_t value, uint64_t n)
{
	if (!n)
		return;
	add_count(h, report_hist_slot(value, h->bits), n);
	report_hist_add_sum(h, times_saturating(value, n), value, value);
}

int report_hist_add_slot(struct report_hist *h, unsigned int slot, uint64_t n)
{
	if (slot >= report_hist_slots(h->bits))
		return -EINVAL;
	add_count(h, slot, n);
	return 0;
}

int report_hist_merge(struct report_hist *h, const struct report_hist_counts *counts)
{
	unsigned int n = counts->nslots;

	if (!n || n > report_hist_slots(h->bits))
		return -EINVAL;
	for (unsigned int i = 0; i < n; i++)
		add_count(h, i, counts->slots[i]);
	report_hist_add_sum(h, counts->sum, ~counts->not_least, counts->greatest);
	if (counts->slots[n - 1] && counts->greatest > report_hist_last(n - 1, h->bits) &&
	    n - 1 < h->open)
		h->open = n - 1;
	return 0;
}

/* The lowest and the highest slot that holds something; count is not 0. */
static void outermost(const struct report_hist *h, unsigned int *low, unsigned int *high)
{
	*low = 0;
	*high = report_hist_slots(h->bits) - 1;
	while (!h->slots[*low])
		++*low;
	while (!h->slots[*high])
		--*high;
}

/* The extremes as far as they are known: the true ones if they were given, else ends of slots. */
static void extremes(const struct report_hist *h, uint64_t *least, uint64_t *greatest)
{
	unsigned int low, high;

	outermost(h, &low, &high);
	*least = report_hist_first(low, h->bits);
	*greatest = hist_last(h, high);
	if (h->least > h->greatest)
		return;
	if (h->least >= *least && h->least <= hist_last(h, low))
		*least = h->least;
	if (h->greatest >= report_hist_first(high, h->bits) && h->greatest <= *greatest)
		*greatest = h->greatest;
}

/* Of n values that lie evenly in [first, last], the i-th, from 1. */
static uint64_t interpolate(uint64_t first, uint64_t last, uint64_t i, uint64_t n)
{
	double width = (double)(last - first) + 1;
	double at = width * (((double)i - 0.5) / (double)n);

	return at >= (double)(last - first) ? last : first + (uint64_t)at;
}

uint64_t report_hist_percentile(const struct report_hist *h, double p)
{
	uint64_t least, greatest, rank, below = 0;
	/* 99.9 % of 1000 is 999, although 0.999 is no double. */
	double exact = p / 100 * (double)h->count * (1 - 1e-12);
	unsigned int slot = 0;

	if (!h->count)
		return 0;
	extremes(h, &least, &greatest);
	if (!(exact > 1))
		return least;
	if (exact > (double)h->count - 1)
		return greatest;
	rank = (uint64_t)exact;
	rank += (double)rank < exact;
	while (h->slots[slot] < rank - below)
		below += h->slots[slot++];

	uint64_t first = report_hist_first(slot, h->bits), last = hist_last(h, slot);

	return interpolate(first < least ? least : first, last > greatest ? greatest : last,
			   rank - below, h->slots[slot]);
}

void report_hist_summary(const struct report_hist *h, struct report_hist_summary *out)
{
	struct report_hist_summary s = { .count = h->count, .sum = h->sum };

	if (h->count) {
		extremes(h, &s.least, &s.greatest);
		s.p50 = report_hist_percentile(h, 50);
		s.p90 = report_hist_percentile(h, 90);
		s.p99 = report_hist_percentile(h, 99);
		s.p999 = report_hist_percentile(h, 99.9);
		s.mean = (double)h->sum / (double)h->count;
	}
	*out = s;
}
