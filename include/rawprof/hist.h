/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Histograms by label (disk=sda, op=read), and every shape they leave in.
 *
 *	report_hists_new()	says what is counted, in which unit, by which labels,
 *	report_hists_get()	gives the histogram of one tuple of labels,
 *	report_hist_add()	counts values in it, or
 *	report_hist_merge()	takes over what a BPF program counted,
 *	report_hists_set_*()	say what was recorded and close the ledger, as for a profile,
 *	report_hists_write_*()	write all of them; struct report_format knows which by name.
 *
 * The buckets are log-linear: each power of two is cut into 1 << bits equal parts, so a bucket is
 * at most 1 / (1 << bits) of its values wide. They are the buckets of LOG_LINEAR() in macros.h, bit
 * for bit. Counts are 64 bits wide; count, sum, least and greatest value are kept beside them.
 *
 * The rules of report.h hold: 0 or a negative errno, -ENOMEM always may be one, texts are copied,
 * any byte is allowed in them, equal contents give byte-identical output.
 */
#ifndef RAWPROF_HIST_H
#define RAWPROF_HIST_H

#include <rawprof/report.h>

/* What a figure counts, here and in grids (grid.h). */
enum report_unit {
	REPORT_UNIT_COUNT, /* 1,234,567 */
	REPORT_UNIT_NS,	   /* 1.23 ms */
	REPORT_UNIT_US,	   /* the same, counted in microseconds */
	REPORT_UNIT_BYTES, /* 4.50 MiB */
	REPORT_UNIT_PERCENT,
	REPORT_UNIT_ID, /* 1234567: a pid, a sector */
	REPORT_UNIT_TEXT,
};

#define REPORT_HIST_MAX_BITS 6
/* What a maker should take: no percentile is further than 1/32 of itself from the true one. */
#define REPORT_HIST_BITS 5

/* ---- buckets: they are numbered from 0 */

/* How many there are, as ASM_LOGLIN_BUCKETS(bits): the last one ends at 2^64 - 1. */
unsigned int report_hist_slots(unsigned int bits);
/* In which one a value is. */
unsigned int report_hist_slot(uint64_t value, unsigned int bits);
/* The least and the greatest value in it. slot < report_hist_slots(bits). */
uint64_t report_hist_first(unsigned int slot, unsigned int bits);
uint64_t report_hist_last(unsigned int slot, unsigned int bits);

/* ---- one histogram; it belongs to its set */

struct report_hist;

/* n times the same value. Counts and sums saturate at UINT64_MAX. */
void report_hist_add(struct report_hist *h, uint64_t value, uint64_t n);

/*
 * Adds n to a bucket, and to the count, but not to the sum: for counts that come bucket by bucket.
 * -EINVAL: no such bucket. The sum and, if known, the extremes come by report_hist_add_sum();
 * without them the sum is 0 and the extremes are those of the outermost buckets.
 */
int report_hist_add_slot(struct report_hist *h, unsigned int slot, uint64_t n);
/* least > greatest: the extremes are not known. */
void report_hist_add_sum(struct report_hist *h, uint64_t sum, uint64_t least, uint64_t greatest);

/*
 * Adds what a program counted with HIST_ADD() in macros.h: the value of one CPU, or of all. nslots
 * may be less than report_hist_slots(): the last slot given then holds what is beyond, too.
 * -EINVAL: nslots is 0 or too large.
 */
struct report_hist_counts {
	uint64_t sum;
	uint64_t not_least; /* ~(least value); 0: nothing counted */
	uint64_t greatest;
	const uint64_t *slots;
	unsigned int nslots;
};
int report_hist_merge(struct report_hist *h, const struct report_hist_counts *counts);

/*
 * A value that p percent of all are not above (nearest rank), in a bucket by interpolation, never
 * outside of [least, greatest]. 0 if the histogram is empty. p: 0 to 100.
 */
uint64_t report_hist_percentile(const struct report_hist *h, double p);

struct report_hist_summary {
	uint64_t count, sum, least, greatest; /* all 0 if empty */
	uint64_t p50, p90, p99, p999;
	double mean;
};
void report_hist_summary(const struct report_hist *h, struct report_hist_summary *out);

/* ---- a set of them */

#define REPORT_HISTS_MAX_KEYS 4

struct report_hists_spec {
	const char *title;  /* "latency of block requests" */
	const char *metric; /* Prometheus: "io_latency"; becomes rawprof_io_latency_seconds */
	const char *events; /* what is counted: "requests" */
	enum report_unit unit;
	unsigned int bits;	 /* REPORT_HIST_BITS */
	const char *const *keys; /* of the labels: "disk", "op"; [A-Za-z_][A-Za-z0-9_]* */
	size_t nkeys;		 /* 0: a single histogram; at most REPORT_HISTS_MAX_KEYS */
};

/* -EINVAL: bits or nkeys out of range, a key or the metric is no identifier, "le" or occurs twice,
 * a text is NULL, or the unit is none of COUNT, NS, US, BYTES. */
int report_hists_new(const struct report_hists_spec *spec, struct report_hists **out);
void report_hists_free(struct report_hists *set); /* NULL is fine */

/* The histogram of a tuple, a value for each key, made if it is new. It lives until the set is
 * emptied. NULL among the values is "". A set has at most 16,384, and 256 MB of them: what is new
 * then is counted together, each of its labels "[others]". */
int report_hists_get(struct report_hists *set, const char *const *values, struct report_hist **out);
/* The same, but the half of the set is left to others: for what found no room before. */
int report_hists_get_spare(struct report_hists *set, const char *const *values,
			   struct report_hist **out);
/* Values that were counted under "[others]" so far. */
uint64_t report_hists_folded(const struct report_hists *set);
size_t report_hists_count(const struct report_hists *set);

/* Empties every histogram, for the next interval; empty ones are not written. */
void report_hists_clear(struct report_hists *set);

/* As for a profile. The duration makes the rates. */
int report_hists_set_info(struct report_hists *set, const struct report_info *info);
int report_hists_set_ledger(struct report_hists *set, const struct report_ledger *ledger);
void report_hists_set_cost(struct report_hists *set, const struct report_cost *cost);

/*
 * The writers; as those of a profile they write one whole document and flush. Of the options count
 * width, utf8, color and part. Histograms come in the order of their labels.
 *
 * table: for each histogram its figures and a row with a bar for each power of two between the
 * first and the last that has something: in eighths of a block where the terminal can, else of '@'.
 *
 * json: one line, one document; its shape is in report/hist/json.c.
 *
 * prometheus: text exposition format 0.0.4, in base units (seconds, bytes). The edges are those of
 * powers of two, always the same ones, so that series neither come nor go; le is the greatest value
 * in the bucket.
 */
report_hists_writer report_hists_write_table;
report_hists_writer report_hists_write_json;
report_hists_writer report_hists_write_prometheus;

#endif
