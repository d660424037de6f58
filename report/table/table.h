/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tables share, above all the two halves of a profile's: functions, stacks. */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "report/write.h"

struct table {
	struct out out;
	const struct report *r;
	struct report_options options;
	const char *unit;	 /* of the weights */
	const char *dots;	 /* for what was left out of a name */
	unsigned int width, bar; /* columns; bar 0: no bars */
	uint64_t whole;		 /* 100 % */
	uint64_t stackless;	 /* weight of samples without frames */
	uint64_t *self, *total;	 /* of each function */
	uint32_t *rows, nrows;	 /* functions that have weight, in the order to show */
	struct order order;
	struct buf scratch;
};

#define TABLE_RESET "\033[0m"
#define TABLE_BOLD "\033[1m"
#define TABLE_DIM "\033[2m"

static inline const char *color_code(const struct report_options *options, const char *code)
{
	return options->color ? code : "";
}

static inline const char *table_color(const struct table *t, const char *code)
{
	return color_code(&t->options, code);
}

/*
 * What stands above every table: what was recorded, how much of it, and what is shown (NULL: not
 * said). Of one in a series a single line, with the time at which it ended.
 */
void report_table_head(struct out *out, const struct report_options *options,
		       const struct report_meta *meta, const char *what, uint64_t count,
		       const char *events);
/* What stands in it if there is nothing to show. */
void report_table_nothing(struct out *out, const char *events);

const char *report_table_kind_color(const struct table *t, uint32_t kind);

/* Appends the name of a function as a person knows it. */
void report_table_add_function(struct buf *b, const struct report *r, uint32_t function);

/* " 12.3%  1,234", the weight so many columns wide, or as much space for nothing. */
void report_table_put_share(struct table *t, uint64_t weight, unsigned int weights);

/* labels.c: the weight of each value of options->color_by_label. 0 or -ENOMEM. */
int report_table_put_labels(struct table *t);

/* stacks.c: the heaviest stacks. 0 or -ENOMEM. */
int report_table_put_stacks(struct table *t);

#endif
